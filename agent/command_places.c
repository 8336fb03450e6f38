// SPDX-License-Identifier: GPL-2.0-or-later
/* See command_places.h. */
#include "command_places.h"

#define OF_ONE_READER 2
#define SECOND_BELOW 2 /* a reader gets a second place only while fewer readers than this run */

int command_place(const struct command_place p[static COMMANDS_PLACES], bool reads, bool goes_on,
		  uid_t uid)
{
	unsigned all = 0, readers = 0, his = 0;
	int free_one = -1;

	for (int i = 0; i < COMMANDS_PLACES; i++) {
		if (!p[i].taken) {
			free_one = i;
			continue;
		}
		if (p[i].goes_on != goes_on)
			continue;
		all++;
		readers += p[i].reads;
		his += p[i].reads && p[i].uid == uid;
	}
	if (goes_on)
		return all < COMMANDS_STREAMS && !his ? free_one : -1;
	if (reads && (his >= OF_ONE_READER || readers >= (his ? SECOND_BELOW : COMMANDS_READERS)))
		return -1;
	return all < COMMANDS_AT_ONCE ? free_one : -1;
}
