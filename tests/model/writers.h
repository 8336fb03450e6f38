/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * lib/publish and lib/tables, compiled so that each basic block can be their last one
 * (-fsanitize-coverage=trace-pc).
 */
#ifndef BWL_TEST_WRITERS_H
#define BWL_TEST_WRITERS_H

#include <stdbool.h>

/* die() is called once the clock was read so often and then so many blocks more have begun. */
void writers_die(unsigned clocks, unsigned blocks, void (*die)(void));
void writers_live(void);
/* Meanwhile others use the same code: their blocks do not count. */
void writers_wait(bool wait);
/* To be called wherever the clock is read. */
void writers_clock(void);

#endif
