/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * How tools talk to bwlimitd: a stream socket at a path, which no network namespace hides. A
 *connection is one request and one answer, each a line of JSON with a newline behind it. Whoever
 *gets no answer does by himself what closes; what opens something is not done for who has gone
 *before it.
 *
 * {"verb": "tamper", "why": TEXT, "peer": NAME}, peer left out for nobody's: answered by
 *	{"action": …, "by": "bwlimitd", "all": bool, "peer_names": [NAME…]}: what was done, and to
 *whom.
 * {"verb": "lease", "for_ns": N}, 0 for as long as the policy allows, renews the lease:
 *	{"by": "bwlimitd", "ends_in_s": …, "floor_why": why grants stay at their floors, or null}.
 * What was not done is {"error": …, "todo": …}, todo if there is one.
 */
#ifndef BWL_AGENT_API_H
#define BWL_AGENT_API_H

#include <sys/socket.h>
#include <sys/un.h>
#include <bwl/err.h>

#define BWL_RUN_DIR "/run/bwlimit"
#define BWL_AGENT_LINE 4096 /* bytes of a request or an answer, with its newline */

/* The socket of the bwlimitd of a pin directory, as bwl_pin_dir() has it. */
int bwl_agent_address(const char *pin_dir, struct sockaddr_un *ret, struct bwl_err *e);

#endif
