/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * How tools talk to bwlimitd: one datagram of JSON there, one back. Whoever gets no answer does by itself
 * what closes. {"tamper": REASON, "peer": NAME} is answered by {"action": …, "text": …} or {"error": …}.
 * {"lease": NANOSECONDS}, 0 for as long as the policy allows, renews the lease: {"ends_in_s": …, "floor": why
 * grants stay at their floors, if they do}, or {"error": …, "hint": …}.
 */
#ifndef BWL_AGENT_API_H
#define BWL_AGENT_API_H

#include <sys/socket.h>
#include <sys/un.h>
#include "err.h"

#define BWL_RUN_DIR "/run/bwlimit"
#define BWL_AGENT_DATAGRAM 1024

/* The socket of the bwlimitd of a pin directory, as bwl_pin_dir() has it. */
int bwl_agent_address(const char *pin_dir, struct sockaddr_un *ret, struct bwl_err *e);

#endif
