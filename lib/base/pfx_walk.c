// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * In sorted order an enclosing prefix is directly before what it contains, so one walk with a stack
 * of open prefixes finds every overlap.
 */
#include <endian.h>
#include <stdlib.h>
#include <string.h>
#include "bwl/pfx_walk.h"

struct bwl_pfx_entry bwl_pfx_entry(const struct bwl_pfx *x, size_t owner, size_t item, int what)
{
	struct bwl_pfx_entry n = {
		.owner = owner,
		.item = item,
		.family = x->family,
		.len = x->len,
		.what = what,
	};

	memcpy(&n.hi, x->addr, 8);
	memcpy(&n.lo, x->addr + 8, 8);
	n.hi = be64toh(n.hi);
	n.lo = be64toh(n.lo);
	return n;
}

static int compare(const void *pa, const void *pb)
{
	const struct bwl_pfx_entry *a = pa, *b = pb;

	if (a->family != b->family)
		return a->family < b->family ? -1 : 1;
	if (a->hi != b->hi)
		return a->hi < b->hi ? -1 : 1;
	if (a->lo != b->lo)
		return a->lo < b->lo ? -1 : 1;
	if (a->len != b->len)
		return a->len < b->len ? -1 : 1;
	if (a->what != b->what)
		return a->what < b->what ? -1 : 1;
	if (a->owner != b->owner)
		return a->owner < b->owner ? -1 : 1;
	return a->item < b->item ? -1 : a->item > b->item;
}

static bool is_within(const struct bwl_pfx_entry *inner, const struct bwl_pfx_entry *outer)
{
	unsigned n = outer->len;

	if (outer->family != inner->family || outer->len > inner->len)
		return false;
	if (n == 0)
		return true;
	if (n <= 64)
		return !((outer->hi ^ inner->hi) >> (64 - n));
	return outer->hi == inner->hi && !((outer->lo ^ inner->lo) >> (128 - n));
}

int bwl_pfx_walk(struct bwl_pfx_entry *list, size_t n,
		 int (*holds)(void *arg, struct bwl_pfx_open *outer,
			      const struct bwl_pfx_entry *inner),
		 void (*leave)(void *arg, const struct bwl_pfx_open *outer), void *arg)
{
	struct bwl_pfx_open open[129]; /* lengths on the stack increase: 0 to 128 */
	size_t depth = 0;
	int r = 0;

	qsort(list, n, sizeof(*list), compare);
	for (size_t i = 0; i < n && !r; i++) {
		while (depth && !is_within(&list[i], open[depth - 1].x))
			leave(arg, &open[--depth]);
		if (depth)
			r = holds(arg, &open[depth - 1], &list[i]);
		if (!depth || open[depth - 1].x->len < list[i].len)
			open[depth++] = (struct bwl_pfx_open){ .x = &list[i] };
	}
	while (!r && depth)
		leave(arg, &open[--depth]);
	return r;
}
