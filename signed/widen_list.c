// SPDX-License-Identifier: GPL-2.0-or-later
/* The list of widenings that were found, and peers by name. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <bwl/units.h>
#include "signed/widen_parts.h"

void bwl_widened_free(struct bwl_widened *w)
{
	free(w->item);
	*w = (struct bwl_widened){ 0 };
}

char *bwl_widening_text(const struct bwl_widening *w, char buf[static BWL_WIDENING_TEXT])
{
	snprintf(buf, BWL_WIDENING_TEXT, "%s%s%s: %s -> %s", w->where, *w->where ? ": " : "",
		 w->what, w->from, w->to);
	return buf;
}

void widen_add(struct widen *w, const char *where, const char *what, const char *from,
	       const char *to)
{
	struct bwl_widened *r = w->ret;
	struct bwl_widening *i;

	if (r->n++ >= BWL_WIDENINGS_KEPT)
		return;
	if (!r->item)
		r->item = bwl_must(calloc(BWL_WIDENINGS_KEPT, sizeof(*r->item)));
	i = &r->item[r->n - 1];
	snprintf(i->where, sizeof(i->where), "%s", where);
	snprintf(i->what, sizeof(i->what), "%s", what);
	snprintf(i->from, sizeof(i->from), "%s", from);
	snprintf(i->to, sizeof(i->to), "%s", to);
}

void widen_number(struct widen *w, const char *where, const char *what, uint64_t from, uint64_t to,
		  widen_show show)
{
	char x[BWL_UNIT_BUF], y[BWL_UNIT_BUF] = "none";

	if (to <= from)
		return;
	show(from, x);
	if (to != UINT64_MAX)
		show(to, y);
	widen_add(w, where, what, x, y);
}

static int by_name(const void *a, const void *b)
{
	return strcmp((*(const struct bwl_pol_peer *const *)a)->name,
		      (*(const struct bwl_pol_peer *const *)b)->name);
}

const struct bwl_pol_peer **widen_sorted(const struct bwl_policy *p)
{
	const struct bwl_pol_peer **ret = bwl_must(calloc(p->npeers + 1, sizeof(*ret)));

	for (size_t i = 0; i < p->npeers; i++)
		ret[i] = &p->peers[i];
	qsort(ret, p->npeers, sizeof(*ret), by_name);
	return ret;
}

const struct bwl_pol_peer *widen_same(const struct bwl_pol_peer *const *sorted, size_t n,
				      const struct bwl_pol_peer *p)
{
	const struct bwl_pol_peer *const *same = bsearch(&p, sorted, n, sizeof(p), by_name);

	return same ? *same : NULL;
}
