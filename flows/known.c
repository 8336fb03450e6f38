// SPDX-License-Identifier: GPL-2.0-or-later
/* See known.h. */
#include <errno.h>
#include <stdlib.h>
#include "known.h"

static int64_t order_of(const struct bwl_book_cpu *x, const struct bwl_book_cpu *y)
{
	return x->peer != y->peer ? (int64_t)x->peer - y->peer : (int64_t)x->cpu - y->cpu;
}

static uint64_t packets(const struct bwl_book_cpu *c)
{
	return c->after.frames + c->after.drop_frames;
}

int flows_known_learn(struct flows_known *k, const struct bwl_book *b)
{
	struct bwl_book_cpu *all = calloc(k->n + b->ncounts + 1, sizeof(*all));
	bool forget = !b->other_known || b->other.frames || b->other.drop_frames;
	size_t i = 0, j = 0, n = 0;

	while (all && (i < k->n || j < b->ncounts)) {
		const struct bwl_book_cpu *x = i < k->n ? &k->at[i] : NULL,
					  *y = j < b->ncounts ? &b->count[j] : NULL;
		int64_t order = !x ? 1 : !y ? -1 : order_of(x, y);

		i += order <= 0;
		j += order >= 0;
		if (order > 0)
			all[n++] = *y;
		else if (order == 0)
			all[n++] = packets(x) > packets(y) ? *x : *y;
		else if (!forget)
			all[n++] = *x;
	}
	flows_known_free(k);
	*k = (struct flows_known){ all, n };
	return all ? 0 : -ENOMEM;
}

const struct bwl_book_cpu *flows_known_find(const struct flows_known *k, uint32_t peer,
					    uint32_t cpu)
{
	const struct bwl_book_cpu want = { .peer = peer, .cpu = cpu };
	size_t lo = 0, hi = k->n, mid;
	int64_t order;

	while (lo < hi) {
		mid = (lo + hi) / 2;
		order = order_of(&k->at[mid], &want);
		if (!order)
			return &k->at[mid];
		if (order < 0)
			lo = mid + 1;
		else
			hi = mid;
	}
	return NULL;
}

void flows_known_free(struct flows_known *k)
{
	free(k->at);
	*k = (struct flows_known){ 0 };
}
