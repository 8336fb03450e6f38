/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Who of those who are not root has a command run, and who waits. What goes on and what ends have
 * places of their own; who only reads never takes an operator's place; and a reader's second
 * command leaves two places for others. Pure.
 */
#ifndef BWL_AGENT_COMMAND_PLACES_H
#define BWL_AGENT_COMMAND_PLACES_H

#include <stdbool.h>
#include <sys/types.h>

#define COMMANDS_AT_ONCE 8 /* that end */
#define COMMANDS_READERS 4 /* of them: of those who only read */
#define COMMANDS_STREAMS 4 /* beside them: that go on, one of each user */
#define COMMANDS_PLACES (COMMANDS_AT_ONCE + COMMANDS_STREAMS)

struct command_place {
	bool taken, reads, goes_on; /* what goes on reads */
	uid_t uid;
};

/* Which place a command gets; -1: its user, or those who read, or all have theirs. */
int command_place(const struct command_place p[static COMMANDS_PLACES], bool reads, bool goes_on,
		  uid_t uid);

#endif
