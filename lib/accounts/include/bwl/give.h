/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Gives some of a window's volume back, once: the account counts less as spent, and the volume
 * stays as it is, so that nothing remains of it when the window has turned.
 */
#ifndef BWL_GIVE_H
#define BWL_GIVE_H

#include <bwl/tables.h>

/*
 * Makes room for `bytes` beyond what the volume leaves now, at most for what the window counts as
 * spent. Returns for how many. Packets may be charged meanwhile. If it is killed the account counts
 * too much as spent, never too little.
 */
uint64_t bwl_window_give(struct bwl_window *w, const struct bwl_volume *v, uint64_t bytes,
			 uint64_t now_ns);

#endif
