/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * How tools talk to bwlimitd: stream sockets at paths, which no network namespace hides. What is
 * said is a line of JSON with a newline behind it.
 *
 * Orders: a connection is one request and one answer. Whoever gets no answer does by himself what
 * closes; what opens something is not done for who has gone before it.
 *
 * {"verb": "tamper", "why": TEXT, "peer": NAME}, peer left out for nobody's: answered by
 *	{"action": …, "by": "bwlimitd", "all": bool, "peer_names": [NAME…]}: what was done, and to
 *	whom.
 * {"verb": "lease", "for_ns": N}, 0 for as long as the policy allows, renews the lease:
 *	{"by": "bwlimitd", "ends_in_s": …, "floor_why": why grants stay at their floors, or null}.
 * What was not done is {"error": …, "todo": …}, todo if there is one; also "code" (an errno),
 * "file", "line" and "column" where they are known.
 *
 * {"verb": "policy", "name": TEXT, "size": N, "confirm_ns": N, "fresh_volume": bool, "trust_clock":
 * bool} applies a policy as a hand does. The document of N bytes comes with it as a file descriptor
 * (SCM_RIGHTS, with the first bytes of the line): a memfd with BWL_AGENT_SEALS, so that what was
 * checked is what is put in force. name: what errors in it begin with. Two lines answer: at once
 * {"taken": true}, and when it is done {"by": "bwlimitd", "report": {…}, "warnings": [TEXT…]}.
 *
 * Commands: a connection is a command of bwlimit-ctl by somebody who is not root,
 * {"argv": [WORD…]}, with the file that it reads as a sealed memfd, if it does. Answered by
 * {"exit": N, "out": A, "err": B}, then A bytes of its standard output and B of its standard error.
 * Members of bwlimit may what changes something, those of bwlimit-read what only shows
 * (ctl/ordered.c); of these bwlimit-sync has those that it serves controllers with. With "stream":
 * true the command goes on: {"stream": true}, then what it says, until who asked hangs up. `top` is
 * the only one. {"argv": ["--json", "status"]} is bwlimit-load's.
 *
 * Documents, by whoever is root or the user bwlimit-sync: a connection is one request and one
 *answer.
 * {"verb": "document", "type": KIND, "name": NAME, "size": N}, with a signed document of N bytes as
 * above; what it is called here is for lines alone. {"taken": true} where it takes time, then
 *{"by": "bwlimitd"}: it is remembered, and in force where it is to be. Else {"error": …, "todo": …,
 *"id": …}. {"verb": "status"}: {"by": "bwlimitd", "status": {…}} (docs/fleet.md). {"verb": "enrol",
 * "sha256": HEX, "size": N}, root alone, with {"root": TEXT, "enrolment": TEXT} as above; without
 * an enrolment it is the next root.
 *
 * Events: a connection is one filter (bwl/events.h), {} for all, answered by {"by": "bwlimitd"} or
 * by {"error": …, "todo": …} and the end. Then come documents of kind event, and of kind event-lost
 * where some were lost, as `watch --json` prints them, until the subscriber says that it has
 * nothing more to say (SHUT_WR): what was lost until then is told, and it hangs up. Anything else
 * that a subscriber says ends it at once.
 */
#ifndef BWL_AGENT_API_H
#define BWL_AGENT_API_H

#include <fcntl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <bwl/err.h>

#define BWL_RUN_DIR "/run/bwlimit"
#define BWL_AGENT_LINE 4096   /* bytes of a request or an answer, with its newline */
#define BWL_AGENT_STATUS 8192 /* of the answer to `status`: base64 where it is signed */
#define BWL_AGENT_SEALS (F_SEAL_WRITE | F_SEAL_SHRINK | F_SEAL_GROW)
/* Has a document them, so that what was checked is what is used? */
bool bwl_agent_is_sealed(int doc);

#define BWL_AGENT_ORDERS ".sock"
#define BWL_AGENT_EVENTS ".events"
#define BWL_AGENT_COMMANDS ".commands"
#define BWL_AGENT_DOCUMENTS ".documents"
/* No sockets, but files (bwl/for_readers.h): the newest result of `bwlimit-load verify`, */
#define BWL_VERIFIED ".verify"
/* and the end of the audit log, and its newest checkpoint, by bwlimitd (agent/recent.h). */
#define BWL_LOGGED ".log"
#define BWL_SIGNED ".audit"
/* The socket of the bwlimitd of a pin directory, as bwl_pin_dir() has it; ending: which of them. */
int bwl_agent_address(const char *pin_dir, const char *ending, struct sockaddr_un *ret,
		      struct bwl_err *e);

#endif
