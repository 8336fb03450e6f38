// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Whether the wall clock can be trusted, in an object file of its own: a test with its own
 * bwl_wall_state() replaces it at link time, and no shipped program has a switch for it.
 */
#include <sys/timex.h>
#include <time.h>
#include <bwl/clock.h>

/* BWL_BUILD_TIME: when this was built, in seconds since 1970; a correct clock shows no less. */
enum bwl_wall bwl_wall_state(void)
{
	struct timex t = { 0 };
	int state;

	if (time(NULL) < (time_t)BWL_BUILD_TIME)
		return BWL_WALL_OLD;
	state = adjtimex(&t);
	/* If system call filters forbid the question, no clock counts as correct. */
	return state < 0 || state == TIME_ERROR || t.status & STA_UNSYNC ? BWL_WALL_UNSYNC
									 : BWL_WALL_OK;
}
