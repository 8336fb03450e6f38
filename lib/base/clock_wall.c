/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Whether the wall clock may be believed, alone in its object file: a test that brings its own
 * bwl_wall_state() replaces it at link time, and no shipped program has a switch for it.
 */
#include <sys/timex.h>
#include <time.h>
#include <bwl/clock.h>

/* BWL_BUILD_TIME: seconds since 1970 when this was built; no clock that is right shows less. */
enum bwl_wall bwl_wall_state(void)
{
	struct timex t = { 0 };
	int state;

	if (time(NULL) < (time_t)BWL_BUILD_TIME)
		return BWL_WALL_OLD;
	state = adjtimex(&t);
	/* A process that may not ask (a filter of system calls) knows of no correct clock. */
	return state < 0 || state == TIME_ERROR || t.status & STA_UNSYNC ? BWL_WALL_UNSYNC
									 : BWL_WALL_OK;
}
