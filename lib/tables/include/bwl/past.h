/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What windows of volumes have forgotten (struct bwl_past). */
#ifndef BWL_PAST_H
#define BWL_PAST_H

#include <bwl/pins.h>

/* Bytes that left the window within the last keep_ns, and perhaps earlier. */
uint64_t bwl_past_sum(const struct bwl_past *past, uint64_t now_ns);
/* So many of them, as bwl_past_sum() said just now, are counted elsewhere from now on. */
void bwl_past_counted(struct bwl_past *past, uint64_t sum);
/* At least as much as `from` has, for as long: its limit goes on under another name. */
void bwl_past_follow(struct bwl_past *past, const struct bwl_past *from);
/* Once a minute: windows forget for good what is old enough. */
void bwl_past_mark(struct bwl_pins *p);

#endif
