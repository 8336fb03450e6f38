// SPDX-License-Identifier: GPL-2.0-or-later
/* See budget.h. */
#include "budget.h"

#define SECOND 1000000000ULL

static void settle(struct bwl_budget *b, uint64_t now_ns)
{
	uint64_t since = b->ns && now_ns > b->ns ? now_ns - b->ns : 0, back;

	/* In whole units; the remaining time counts at the next look. */
	back = since / SECOND * b->a_second + since % SECOND * b->a_second / SECOND;
	if (back >= b->spent) {
		b->spent = 0;
		b->ns = now_ns;
	} else if (back) {
		b->spent -= back;
		b->ns += back / b->a_second * SECOND + back % b->a_second * SECOND / b->a_second;
	}
	if (!b->ns)
		b->ns = now_ns;
}

bool bwl_budget_has(struct bwl_budget *b, uint64_t now_ns, unsigned *ret_wait_s)
{
	settle(b, now_ns);
	if (b->spent < b->at_once)
		return true;
	*ret_wait_s = (unsigned)((b->spent - b->at_once) / b->a_second + 1);
	return false;
}

void bwl_budget_spend(struct bwl_budget *b, uint64_t n)
{
	b->spent += n;
}
