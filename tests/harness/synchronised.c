// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * LD_PRELOAD: the wall clock is synchronised, whatever this machine's is; with BWL_UNSYNCHRONISED
 * it is not, and with BWL_CLOCK_REFUSED it may not be read.
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
