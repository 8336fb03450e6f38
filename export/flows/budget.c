// SPDX-License-Identifier: GPL-2.0-or-later
/* See budget.h. */
#include "budget.h"

void budget_set(struct budget *b, uint64_t bytes, uint64_t window_ns)
{
	b->bytes = bytes;
	/* A longer window takes effect at once: what was used counts until the new end. */
	if (window_ns > b->window_ns)
		b->left_ns += window_ns - b->window_ns;
	b->window_ns = window_ns;
	if (b->left_ns > window_ns)
		b->left_ns = window_ns;
}

void budget_pass(struct budget *b, uint64_t now_ns)
{
	uint64_t gone = b->at_ns && now_ns > b->at_ns ? now_ns - b->at_ns : 0;

	b->at_ns = now_ns;
	if (gone < b->left_ns) {
		b->left_ns -= gone;
		return;
	}
	b->used = 0;
	b->left_ns = b->window_ns - (gone - b->left_ns) % b->window_ns;
}

bool budget_take(struct budget *b, uint64_t bytes, uint64_t now_ns)
{
	budget_pass(b, now_ns);
	if (b->used > b->bytes || bytes > b->bytes - b->used)
		return false;
	b->used += bytes;
	return true;
}
