/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Which users without root may have a command running, and which must wait. Commands that keep
 * running and commands that end have separate places; readers never take an operator's place; and a
 * reader's second command leaves two places for others. Pure.
 */
#ifndef BWL_AGENT_COMMAND_PLACES_H
#define BWL_AGENT_COMMAND_PLACES_H

#include <stdbool.h>
#include <sys/types.h>

#define COMMANDS_AT_ONCE 8 /* for commands that end */
#define COMMANDS_READERS 4 /* of these: for readers */
#define COMMANDS_STREAMS 4 /* in addition: for commands that keep running, one per user */
#define COMMANDS_PLACES (COMMANDS_AT_ONCE + COMMANDS_STREAMS)

struct command_place {
	bool taken, reads, goes_on; /* a command that keeps running is a reader's */
	uid_t uid;
};

/* The place for a command; -1: its user, or readers, or all have theirs taken. */
int command_place(const struct command_place p[static COMMANDS_PLACES], bool reads, bool goes_on,
		  uid_t uid);

#endif
