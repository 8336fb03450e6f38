// SPDX-License-Identifier: GPL-2.0-or-later
/* See from_copy.h. */
#include <stdlib.h>
#include <string.h>
#include <bwl/desired.h>
#include <bwl/tables.h>
#include "from_copy.h"

#define DRIFT_NS (2 * 1000000000ULL)

struct bwl_policy *enrolled_accepted(const char *dir)
{
	struct bwl_policy *pol = NULL;
	struct bwl_accepted a;

	if (!dir)
		return NULL;
	bwl_accepted_look(dir, &a);
	if (bwl_accepted_policy(&a, &pol, NULL))
		pol = NULL;
	bwl_accepted_free(&a);
	return pol;
}

static void round_limit(struct bwl_lim *l)
{
	struct bwl_rate r = { 0 };

	if (!l->present || l->rate_bps == BWL_NO_RATE)
		return;
	bwl_rate_encode(&r, l->rate_bps, l->burst ? l->burst : bwl_default_burst(l->rate_bps));
	l->rate_bps = bwl_rate_decode(&r);
	l->burst = bwl_rate_burst(&r);
}

void enrolled_round(struct bwl_policy *pol)
{
	round_limit(&pol->node_limit);
	for (size_t i = 0; i < pol->nports; i++)
		round_limit(&pol->ports[i].limit);
	for (size_t i = 0; i < pol->nzones; i++)
		round_limit(&pol->zones[i].limit);
	for (size_t i = 0; i < pol->npeers; i++) {
		struct bwl_pol_peer *q = &pol->peers[i];

		if (q->grant.present && !q->accept.present && !q->accept_none)
			q->accept = bwl_default_accept(&q->grant);
		round_limit(&q->grant);
		round_limit(&q->accept);
		round_limit(&q->floor);
		for (unsigned k = 0; k < _BWL_CLASS_MAX; k++)
			round_limit(&q->class_[k]);
		for (size_t k = 0; k < q->ntenants; k++)
			round_limit(&q->tenants[k].limit);
	}
}

/* Peers by name: policies may have a million. */
struct names {
	const struct bwl_pol_peer **peer;
	size_t n;
};

static int by_name(const void *a, const void *b)
{
	return strcmp((*(const struct bwl_pol_peer *const *)a)->name,
		      (*(const struct bwl_pol_peer *const *)b)->name);
}

static struct names names_of(const struct bwl_policy *p)
{
	struct names s = { bwl_must(calloc(p->npeers + 1, sizeof(*s.peer))), p->npeers };

	for (size_t i = 0; i < s.n; i++)
		s.peer[i] = &p->peers[i];
	qsort(s.peer, s.n, sizeof(*s.peer), by_name);
	return s;
}

static const struct bwl_pol_peer *find(const struct names *s, const struct bwl_pol_peer *like)
{
	const struct bwl_pol_peer *const *at = bsearch(&like, s->peer, s->n, sizeof(*s->peer),
						       by_name);

	return at ? *at : NULL;
}

static char *copy_text(const char *s)
{
	return s ? bwl_must(strdup(s)) : NULL;
}

void enrolled_fill(struct bwl_policy *pol, const struct bwl_policy *copy,
		   const struct bwl_policy *other)
{
	const struct bwl_policy *x = copy ? copy : other;
	struct names first = names_of(x), then = names_of(other);

	pol->ipsec = x->ipsec;
	memcpy(pol->tamper, x->tamper, sizeof(pol->tamper));
	for (size_t i = 0; i < pol->npeers; i++) {
		struct bwl_pol_peer *q = &pol->peers[i];
		const struct bwl_pol_peer *is = find(&first, q);

		if (!is)
			is = find(&then, q);
		free(q->ipsec_id);
		free(q->ipsec_ppk);
		q->ipsec_id = is ? copy_text(is->ipsec_id) : NULL;
		q->ipsec_ppk = is ? copy_text(is->ipsec_ppk) : NULL;
	}
	free(first.peer);
	free(then.peer);
}

void enrolled_follow(const struct bwl_policy *from, struct bwl_policy *to)
{
	struct names were = names_of(from);

	for (size_t i = 0; i < to->npeers; i++) {
		struct bwl_pol_peer *b = &to->peers[i];
		const struct bwl_pol_peer *a = find(&were, b);

		if (a && b->expiry_ns > a->expiry_ns && b->expiry_ns - a->expiry_ns < DRIFT_NS)
			b->expiry_ns = a->expiry_ns;
	}
	free(were.peer);
}

static void *copy_of(const void *array, size_t n, size_t size)
{
	void *x = bwl_must(calloc(n + 1, size));

	if (n)
		memcpy(x, array, n * size);
	return x;
}

struct bwl_policy enrolled_as_held(const struct bwl_policy *pol, const struct bwl_policy *from)
{
	struct bwl_policy x = *pol;

	x.ports = copy_of(pol->ports, pol->nports, sizeof(*pol->ports));
	x.zones = copy_of(pol->zones, pol->nzones, sizeof(*pol->zones));
	x.peers = copy_of(pol->peers, pol->npeers, sizeof(*pol->peers));
	for (size_t i = 0; i < x.npeers; i++)
		if (x.peers[i].ntenants)
			x.peers[i].tenants = copy_of(x.peers[i].tenants, x.peers[i].ntenants,
						     sizeof(*x.peers[i].tenants));
	enrolled_round(&x);
	if (from) {
		struct names were = names_of(from);

		for (size_t i = 0; i < x.npeers; i++) {
			const struct bwl_pol_peer *a = find(&were, &x.peers[i]);

			x.peers[i].revoked |= a && a->revoked;
		}
		free(were.peer);
	}
	return x;
}

void enrolled_as_held_free(struct bwl_policy *held)
{
	free(held->ports);
	free(held->zones);
	for (size_t i = 0; i < held->npeers; i++)
		free(held->peers[i].tenants);
	free(held->peers);
}
