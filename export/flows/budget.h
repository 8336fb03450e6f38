/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A number of bytes per window. Time is boot time: setting the clock opens no new window, and a
 * window stands still while the machine is off.
 */
#ifndef BWL_EXPORT_FLOWS_BUDGET_H
#define BWL_EXPORT_FLOWS_BUDGET_H

#include <stdbool.h>
#include <stdint.h>

struct budget {
	uint64_t bytes, window_ns;
	uint64_t used, left_ns; /* in this window; time left of it */
	uint64_t at_ns;         /* CLOCK_BOOTTIME of left_ns; 0: from another boot */
};

/* Applies the options; what was used before still counts. */
void budget_set(struct budget *b, uint64_t bytes, uint64_t window_ns);
void budget_pass(struct budget *b, uint64_t now_ns);
/* Takes all of it, or nothing and returns false. */
bool budget_take(struct budget *b, uint64_t bytes, uint64_t now_ns);

#endif
