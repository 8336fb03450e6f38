/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * So many bytes in each window. Time is boot time: who sets the clock gets no window the sooner;
 * and while the machine is off a window does not go on.
 */
#ifndef BWL_EXPORT_FLOWS_BUDGET_H
#define BWL_EXPORT_FLOWS_BUDGET_H

#include <stdbool.h>
#include <stdint.h>

struct budget {
	uint64_t bytes, window_ns;
	uint64_t used, left_ns; /* in this window; of it */
	uint64_t at_ns;         /* CLOCK_BOOTTIME, when left_ns was so; 0: another boot's */
};

/* What the options say, over what was used before. */
void budget_set(struct budget *b, uint64_t bytes, uint64_t window_ns);
void budget_pass(struct budget *b, uint64_t now_ns);
/* All of it, or false and nothing. */
bool budget_take(struct budget *b, uint64_t bytes, uint64_t now_ns);

#endif
