// SPDX-License-Identifier: GPL-2.0-or-later
/* See writers.h. */
#include <stdbool.h>
#include <stddef.h>
#include "writers.h"

static void (*at_end)(void);
static unsigned clocks_left, blocks_left;
static bool waits;

void __sanitizer_cov_trace_pc(void);
void __sanitizer_cov_trace_pc(void)
{
	if (!at_end || waits || clocks_left || blocks_left--)
		return;
	at_end();
}

void writers_die(unsigned clocks, unsigned blocks, void (*die)(void))
{
	at_end = die;
	clocks_left = clocks;
	blocks_left = blocks;
}

void writers_live(void)
{
	at_end = NULL;
}

void writers_wait(bool wait)
{
	waits = wait;
}

void writers_clock(void)
{
	if (at_end && clocks_left)
		clocks_left--;
}
