// SPDX-License-Identifier: GPL-2.0-or-later
/* Finds peers with a closed prefix: see closed_peers.h. */
#include <bwl/closed_peers.h>

struct look {
	const struct bwl_pfxset *held; /* every prefix of the policy */
	const struct bwl_pfx *q;
	bwl_is_open_fn is_open;
	void *arg;
};

static int is_closed(const struct bwl_pfxset_item *i, void *arg)
{
	const struct look *l = arg;
	bool within = i->pfx.len > l->q->len;

	if (within && bwl_pfxset_exact(l->held, &i->pfx))
		return 0;
	return !l->is_open(within ? &i->pfx : l->q, i, l->arg);
}

void bwl_policy_prefixes(const struct bwl_policy *pol, struct bwl_pfxset *ret)
{
	size_t i, j;

	for (i = 0; i < pol->npeers; i++)
		for (j = 0; j < pol->peers[i].naddresses; j++)
			bwl_pfxset_add(ret, &pol->peers[i].addresses[j], i);
	bwl_pfxset_sort(ret);
}

size_t bwl_closed_find(const struct bwl_pfxset *closed, const struct bwl_policy *pol,
		       bwl_is_open_fn is_open, void *arg, bool *ret)
{
	struct bwl_pfxset held = { 0 };
	struct look l = { .held = &held, .is_open = is_open, .arg = arg };
	size_t i, j, n = 0;

	if (!closed->n)
		return 0;
	bwl_policy_prefixes(pol, &held);
	for (i = 0; i < pol->npeers; i++) {
		for (j = 0; !ret[i] && j < pol->peers[i].naddresses; j++) {
			l.q = &pol->peers[i].addresses[j];
			ret[i] = bwl_pfxset_overlaps(closed, l.q, is_closed, &l);
		}
		n += ret[i];
	}
	bwl_pfxset_free(&held);
	return n;
}
