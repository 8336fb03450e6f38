/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * How tools talk to bwlimitd: stream sockets at paths, which no network namespace hides, each with
 * a door for each right (bwl/door.h). Each message is a line of JSON. After it nothing more can be
 * sent, except for readers of events.
 *
 * Orders: a connection is one request and one answer. A tool that gets no answer does what closes
 * by itself; what opens something is not done for a client that has hung up.
 *
 * {"verb": "tamper", "why": TEXT, "peer": NAME}, without peer if no peer is concerned: answered by
 *	{"action": …, "by": "bwlimitd", "all": bool, "peer_names": [NAME…]}: what was done, and to
 *	whom.
 * {"verb": "lease", "for_ns": N} renews the lease, 0: for as long as the policy allows:
 *	{"by": "bwlimitd", "ends_in_s": …, "floor_why": why grants stay at their floors, or null}.
 * A failure is {"error": …, "todo": …}, todo if there is one; and, if they are known, "code" (an
 * errno), "file", "line" and "column".
 *
 * {"verb": "policy", "name": TEXT, "size": N, "confirm_ns": N, "fresh_volume": bool, "trust_clock":
 * bool} applies a policy as by hand. The document of N bytes comes with it as a file descriptor
 * (SCM_RIGHTS, with the first bytes of the line): a memfd with BWL_AGENT_SEALS, so that the checked
 * bytes are those put in force. name: the beginning of errors in it. Two lines answer: at once
 * {"taken": true}, and when it is done {"by": "bwlimitd", "report": {…}, "warnings": [TEXT…]}.
 *
 * Commands: a connection is a bwlimit-ctl command of a user who is not root,
 * {"argv": [WORD…]}, with the file that it reads, if any, as a sealed memfd. Answered by
 * {"exit": N, "out": A, "err": B}, then A bytes of its standard output and B of its standard error.
 * Members of bwlimit may run commands that change something, those of bwlimit-read commands that
 * only show (ctl/ordered.c); bwlimit-sync may run those of the latter that it serves controllers
 * with. With "stream": true the command keeps running: {"stream": true}, then its output, until the
 * client hangs up; only `top` does. {"argv": ["--json", "status"]} is bwlimit-load's.
 *
 * Documents, for root or the user bwlimit-sync: a connection is one request and one answer.
 * {"verb": "document", "type": KIND, "name": NAME, "size": N}, with a signed document of N bytes as
 * above; the name is only for log lines. {"taken": true} if it takes time, then
 * {"by": "bwlimitd"}: it is remembered, and in force if it should be. Otherwise {"error": …,
 * "todo": …, "id": …}. {"verb": "status"}: {"by": "bwlimitd", "status": {…}} (docs/fleet.md).
 * {"verb": "enrol", "sha256": HEX, "size": N}, only for root, with a document as above,
 * {"root": TEXT, "enrolment": TEXT}; without an enrolment it is the next root.
 *
 * Events: a connection is one filter (bwl/events.h), {} for all, answered by {"by": "bwlimitd"}, or
 * by {"error": …, "todo": …} and the end. Documents of kind event follow, and of kind event-lost
 * after lost events, as `watch --json` prints them, until the subscriber shuts down its side
 * (SHUT_WR): bwlimitd then reports events lost so far, and hangs up. Any other data from a
 * subscriber ends the connection at once.
 */
#ifndef BWL_AGENT_API_H
#define BWL_AGENT_API_H

#include <fcntl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <bwl/err.h>

#define BWL_RUN_DIR "/run/bwlimit"
/* Makes it if it is not there, as bwlimitd does: traversable, but not listable. 0 or -errno. */
int bwl_run_dir_make(void);
#define BWL_AGENT_LINE 4096   /* bytes of a request or an answer, with its newline */
#define BWL_AGENT_STATUS 8192 /* of the answer to `status`: base64 where it is signed */
#define BWL_AGENT_SEALS (F_SEAL_WRITE | F_SEAL_SHRINK | F_SEAL_GROW)
/* Has a document them, so that what was checked is what is used? */
bool bwl_agent_is_sealed(int doc);

#define BWL_AGENT_ORDERS ".sock"
#define BWL_AGENT_EVENTS ".events"
#define BWL_AGENT_COMMANDS ".commands"
#define BWL_AGENT_DOCUMENTS ".documents"
/* Not sockets, but files (bwl/for_readers.h): the newest result of `bwlimit-load verify`, */
#define BWL_VERIFIED ".verify"
/* and the end of the audit log, and its newest checkpoint, written by bwlimitd (agent/recent.h). */
#define BWL_LOGGED ".log"
#define BWL_SIGNED ".audit"
/*
 * The address of bwlimitd's socket for a pin directory, as bwl_pin_dir() returns it; ending: which
 * socket.
 */
int bwl_agent_address(const char *pin_dir, const char *ending, struct sockaddr_un *ret,
		      struct bwl_err *e);

#endif
