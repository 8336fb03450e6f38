// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * LD_PRELOAD: a machine whose wall clock is synchronised, whatever this one's is; with
 * BWL_UNSYNCHRONISED one whose is not, with BWL_CLOCK_REFUSED one that may not be asked.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/timex.h>

int adjtimex(struct timex *t)
{
	int bad = !!getenv("BWL_UNSYNCHRONISED");

	memset(t, 0, sizeof(*t));
	if (getenv("BWL_CLOCK_REFUSED")) {
		errno = EPERM;
		return -1;
	}
	t->status = bad ? STA_UNSYNC : STA_PLL;
	return bad ? TIME_ERROR : TIME_OK;
}
