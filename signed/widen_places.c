// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The owners of addresses. The longest prefix decides, so each prefix of either policy is looked up
 * in both: the longest prefix of any address is among them. An address must have the same owner in
 * the new policy as in the old one, by name: what a name has spent is its state, and two peers
 * together may send what both may. So an address that moves to another peer widens, whichever peer
 * that is, unless nothing is open there.
 */
#include <stdio.h>
#include <string.h>
#include <bwl/pfxset.h>
#include "signed/widen_parts.h"

static void fill(const struct bwl_policy *p, struct bwl_pfxset *ret)
{
	*ret = (struct bwl_pfxset){ 0 };
	for (size_t i = 0; i < p->npeers; i++)
		for (size_t k = 0; k < p->peers[i].naddresses; k++)
			bwl_pfxset_add(ret, &p->peers[i].addresses[k], i);
	bwl_pfxset_sort(ret);
}

static int longest(const struct bwl_pfxset_item *i, void *arg)
{
	const struct bwl_pfxset_item **best = arg;

	*best = i; /* the longest comes last */
	return 0;
}

static const struct bwl_pol_peer *owner(const struct bwl_policy *p, const struct bwl_pfxset *s,
					const struct bwl_pfx *q)
{
	const struct bwl_pfxset_item *best = NULL;

	bwl_pfxset_holders(s, q, longest, &best);
	return best ? &p->peers[best->value] : NULL;
}

static void look(struct widen *w, const struct bwl_pfxset *from, const struct bwl_pfxset *to,
		 const struct bwl_pfx *q)
{
	const struct bwl_pol_peer *a = owner(w->from, from, q), *b = owner(w->to, to, q);
	char text[64], x[80], y[80];

	if (!b || !widen_is_open(b) || (a && !strcmp(a->name, b->name)))
		return;
	bwl_pfx_format(q, text, sizeof(text));
	snprintf(x, sizeof(x), a ? "peer %s" : "nobody's", a ? a->name : "");
	snprintf(y, sizeof(y), "peer %s", b->name);
	widen_add(w, text, "whose it is", x, y);
}

void widen_places(struct widen *w)
{
	struct bwl_pfxset from, to;

	fill(w->from, &from);
	fill(w->to, &to);
	for (size_t i = 0; i < to.n; i++)
		look(w, &from, &to, &to.item[i].pfx);
	for (size_t i = 0; i < from.n; i++)
		if (!bwl_pfxset_exact(&to, &from.item[i].pfx))
			look(w, &from, &to, &from.item[i].pfx);
	bwl_pfxset_free(&from);
	bwl_pfxset_free(&to);
}
