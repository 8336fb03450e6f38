/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * lib/publish and lib/tables, compiled so that each basic block can be their last one
 * (-fsanitize-coverage=trace-pc).
 */
#ifndef BWL_TEST_WRITERS_H
#define BWL_TEST_WRITERS_H

/* die() is called once the clock was read so often and then so many blocks more have begun. */
void writers_die(unsigned clocks, unsigned blocks, void (*die)(void));
void writers_live(void);
/* To be called wherever the clock is read. */
void writers_clock(void);

#endif
