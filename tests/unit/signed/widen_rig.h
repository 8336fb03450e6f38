/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Policies to change, and whether a change widens. */
#ifndef BWL_TEST_WIDEN_RIG_H
#define BWL_TEST_WIDEN_RIG_H

#include "policy_random.h"
#include "signed/widen.h"

#define N(a) (sizeof(a) / sizeof((a)[0]))

static inline void *copy(const void *at, size_t n)
{
	void *ret = malloc(n + 1);

	return n ? memcpy(ret, at, n) : ret;
}

static inline struct bwl_policy *clone(const struct bwl_policy *p)
{
	struct bwl_policy *q = copy(p, sizeof(*p));

	q->uplinks = copy(p->uplinks, p->nuplinks * sizeof(*p->uplinks));
	q->ports = copy(p->ports, p->nports * sizeof(*p->ports));
	for (size_t i = 0; i < p->nports; i++)
		q->ports[i].sources = copy(p->ports[i].sources,
					   p->ports[i].nsources * sizeof(struct bwl_pfx));
	q->zones = copy(p->zones, p->nzones * sizeof(*p->zones));
	q->peers = malloc(64 * sizeof(*p->peers)); /* room for more */
	for (size_t i = 0; i < p->npeers; i++)
		q->peers[i] = p->peers[i];
	for (size_t i = 0; i < p->npeers; i++) {
		struct bwl_pol_peer *x = &q->peers[i];

		x->addresses = calloc(x->naddresses + 8, sizeof(struct bwl_pfx));
		memcpy(x->addresses, p->peers[i].addresses, x->naddresses * sizeof(struct bwl_pfx));
		x->tenants = copy(x->tenants, x->ntenants * sizeof(*x->tenants));
		x->ipsec_id = x->ipsec_id ? strdup(x->ipsec_id) : NULL;
		x->ipsec_ppk = x->ipsec_ppk ? strdup(x->ipsec_ppk) : NULL;
	}
	q->services = copy(p->services, p->nservices * sizeof(*p->services));
	q->warnings = NULL;
	q->nwarnings = 0;
	return q;
}

static inline bool widens(const struct bwl_policy *from, const struct bwl_policy *to)
{
	struct bwl_holding a = bwl_holding_of(from), b = bwl_holding_of(to);
	struct bwl_widened w;
	bool r = bwl_widens(&a, &b, &w);

	bwl_widened_free(&w);
	return r;
}

/* Whose an address is, found without widen.c: the peer's with the longest prefix. */
static inline const struct bwl_pol_peer *owner_of(const struct bwl_policy *p,
						  const struct bwl_pfx *q)
{
	const struct bwl_pol_peer *best = NULL;
	int len = -1;

	for (size_t i = 0; i < p->npeers; i++)
		for (size_t k = 0; k < p->peers[i].naddresses; k++)
			if (bwl_pfx_holds(&p->peers[i].addresses[k], q) &&
			    p->peers[i].addresses[k].len > len) {
				best = &p->peers[i];
				len = best->addresses[k].len;
			}
	return best;
}

/* A random peer with a grant that is not `monitor`. */
static inline struct bwl_pol_peer *granted(struct bwl_policy *p, uint64_t *s)
{
	for (unsigned i = test_random(s) % p->npeers, n = 0; n < p->npeers; n++) {
		struct bwl_pol_peer *x = &p->peers[(i + n) % p->npeers];

		if (x->grant.present && x->mode != BWL_MODE_MONITOR)
			return x;
	}
	return NULL;
}

static inline struct bwl_policy *any_policy(uint64_t *s)
{
	struct bwl_policy *p = random_policy(s), *q;

	for (unsigned i = 0; i < _BWL_TAMPER_MAX; i++)
		p->tamper[i] = test_random(s) % _BWL_ACTION_MAX;
	bwl_policy_check(p, NULL, NULL); /* as after reading a policy */
	q = clone(p);
	bwl_policy_free(p);
	return q;
}

#endif
