/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * How much a server sends: a burst, and a rate. Unused budget accumulates up to the burst;
 * overspending is owed. Pure: the clock is an argument.
 */
#ifndef BWL_FLEET_BUDGET_H
#define BWL_FLEET_BUDGET_H

#include <stdbool.h>
#include <stdint.h>

struct bwl_budget {
	uint64_t at_once, a_second; /* a_second at least 1 */
	uint64_t spent;             /* of at_once; more than at_once is owed */
	uint64_t ns;                /* time of that state; 0: never */
};

/* Is there budget left? Otherwise *ret_wait_s is when there will be. */
bool bwl_budget_has(struct bwl_budget *b, uint64_t now_ns, unsigned *ret_wait_s);
void bwl_budget_spend(struct bwl_budget *b, uint64_t n);

#endif
