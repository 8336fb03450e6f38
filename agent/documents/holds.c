// SPDX-License-Identifier: GPL-2.0-or-later
/* What is in force according to the valid documents, and until when: see docs.h. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <openssl/evp.h>
#include <bwl/encode.h>
#include "docs.h"
#include "signed/bounds.h"
#include "signed/grant.h"
#include "signed/payload.h"

#define SECOND 1000000000ULL
/* Policies are read as if the boot was at 1970: their times are then the wall clock's, in ns. */
#define READ_BOOT_NS SECOND
#define READ_WALL_S 1

static bool is_over(const struct docs *s, const struct docs_one *o)
{
	return o->d.terms.epoch < bwl_memory_epoch(s->m) ||
	       bwl_memory_is_revoked(s->m, o->d.digest);
}

static const struct docs_one *held(const struct docs *s, size_t i)
{
	const struct docs_one *o;
	size_t n;
	const struct bwl_digest *d = bwl_memory_held(s->m, &n);

	o = i < n ? docs_find(s, d[i].b) : NULL;
	return o && o->d.type == BWL_SIGNED_POLICY ? o : NULL;
}

static bool names(const struct bwl_signed *d, const char *key, const uint8_t digest[32])
{
	const char *s = bwl_payload_text(d->body, key);
	uint8_t named[32];

	return s && bwl_hex_decode(s, named, sizeof(named)) &&
	       !memcmp(named, digest, sizeof(named));
}

unsigned docs_place(const char *salt, const char *tray)
{
	EVP_MD_CTX *c = bwl_must(EVP_MD_CTX_new());
	uint8_t d[32];

	if (EVP_DigestInit_ex(c, EVP_sha256(), NULL) != 1 ||
	    EVP_DigestUpdate(c, salt, strlen(salt)) != 1 ||
	    EVP_DigestUpdate(c, tray, strlen(tray)) != 1 || EVP_DigestFinal_ex(c, d, NULL) != 1)
		abort();
	EVP_MD_CTX_free(c);
	return (((uint32_t)d[0] << 24) | ((uint32_t)d[1] << 16) | ((uint32_t)d[2] << 8) | d[3]) %
	       100;
}

/* A document whose bytes are gone might allow less than those that are left: it is not ignored. */
static const struct bwl_memory_item *missing(const struct docs *s, enum bwl_signed_type type,
					     const char *but)
{
	size_t n;
	const struct bwl_memory_item *item = bwl_memory_items(s->m, &n);

	for (size_t i = 0; i < n; i++)
		if (item[i].type == type && item[i].epoch >= bwl_memory_epoch(s->m) &&
		    !(but && !strcmp(but, item[i].name)) && !docs_find(s, item[i].digest.b))
			return &item[i];
	return NULL;
}

/* The newest document of a type that has not ended. */
static const struct docs_one *newest(const struct docs *s, enum bwl_signed_type type,
				     bool (*fits)(const struct docs_one *o, const void *arg),
				     const void *arg)
{
	const struct docs_one *best = NULL;
	uint64_t seq = 0;
	size_t n;
	const struct bwl_memory_item *item = bwl_memory_items(s->m, &n);

	for (size_t i = 0; i < n; i++) {
		const struct docs_one *o = item[i].type == type && item[i].seq >= seq
						   ? docs_find(s, item[i].digest.b)
						   : NULL;

		if (!o || o->d.type != type || is_over(s, o) || !fits(o, arg))
			continue;
		best = o;
		seq = item[i].seq;
	}
	return best;
}

static bool is_about(const struct docs_one *o, const void *arg)
{
	const struct docs_one *waits = arg;

	return names(&o->d, "to", waits->d.digest) || names(&o->d, "from", waits->d.digest);
}

/* Does the newest rollout about it say that this tray takes it? */
static bool is_rolled_out(const struct docs *s, const struct docs_one *waits)
{
	const struct docs_one *r = newest(s, BWL_SIGNED_ROLLOUT, is_about, waits);
	bool to;

	if (!r)
		return false;
	to = !bwl_payload_yes(r->d.body, "back") &&
	     docs_place(bwl_payload_text(r->d.body, "salt"), bwl_memory_tray(s->m)->name) <
		     bwl_payload_number(r->d.body, "percent");
	return names(&r->d, to ? "to" : "from", waits->d.digest);
}

bool docs_has_policy(const struct docs *s)
{
	size_t n;

	bwl_memory_held(s->m, &n);
	return n;
}

bool docs_is_expelled(const struct docs *s)
{
	return bwl_memory_is_expelled(s->m, bwl_memory_tray(s->m)->name, NULL);
}

const struct docs_one *docs_policy(const struct docs *s)
{
	const struct docs_one *now = held(s, 0), *waits = held(s, 1);
	size_t n;

	bwl_memory_held(s->m, &n);
	if (docs_is_expelled(s))
		return NULL;
	if (n > 1 && (!waits || missing(s, BWL_SIGNED_ROLLOUT, NULL)))
		return NULL;
	if (waits && is_rolled_out(s, waits)) /* its end does not bring back the policy before it */
		return is_over(s, waits) ? NULL : waits;
	return now && !is_over(s, now) ? now : NULL;
}

void docs_holding_free(struct docs_holding *h)
{
	bwl_policy_free(h->pol);
	*h = (struct docs_holding){ 0 };
}

static int policy_of(const struct docs_one *o, struct bwl_policy **ret, struct bwl_err *e)
{
	const char *text = bwl_payload_text(o->d.body, "text");
	int r = bwl_policy_parse(o->d.terms.name, text, strlen(text), READ_BOOT_NS, READ_WALL_S,
				 ret, e);

	if (r && e)
		e->id = "signed-malformed";
	return r;
}

/*
 * A grant that was taken stays until there is another policy: when it ends, the floor applies, and
 * not what was in force before the grant. The same is true of a revoked grant.
 */
static int put_grant(const struct docs *s, struct docs_holding *h, const struct bwl_signed *g,
		     struct bwl_err *e)
{
	bool over = bwl_memory_is_revoked(s->m, g->digest);
	uint64_t offline_ns = bwl_payload_span(g->body, "offline_for", BWL_OFFLINE_FOR_NS);
	int64_t end_s = over ? g->terms.issued_s : g->terms.not_after_s;
	int r = bwl_grant_into(h->pol, g, READ_BOOT_NS, READ_WALL_S, e);

	if (r)
		return r;
	bwl_policy_peer(h->pol, bwl_payload_text(g->body, "peer"))->expiry_ns = (uint64_t)end_s *
										SECOND;
	if (!over && offline_ns < h->h.offline_for_ns)
		h->h.offline_for_ns = offline_ns;
	return 0;
}

/* A policy alone: without its grants. */
static int bare(const struct docs_one *policy, struct docs_holding *ret, struct bwl_err *e)
{
	const json_t *body = policy->d.body;
	int r;

	*ret = (struct docs_holding){ 0 };
	r = policy_of(policy, &ret->pol, e);
	if (r)
		return r;
	ret->h = (struct bwl_holding){
		.pol = ret->pol,
		.not_after_s = policy->d.terms.not_after_s,
		.offline_for_ns = bwl_payload_span(body, "offline_for", BWL_OFFLINE_FOR_NS),
		.lease_most_ns = bwl_payload_span(body, "lease_most", 0),
		.stages = bwl_payload_yes(body, "stages"),
		.boot_ns = READ_BOOT_NS,
		.wall_s = READ_WALL_S,
	};
	return 0;
}

/* A policy without grants, twice: the second one takes one grant at a time. */
struct alone {
	bool made, bad;
	struct docs_holding as_is, with;
};

static void alone_done(struct alone *x)
{
	docs_holding_free(&x->as_is);
	docs_holding_free(&x->with);
}

static bool only_tightens(const struct docs *s, const struct docs_one *policy,
			  const struct bwl_signed *grant, struct alone *x)
{
	uint64_t offline_ns;
	struct bwl_pol_peer *p, was;
	struct bwl_widened w = { 0 };
	bool tightens;

	if (!x->made)
		x->bad = bare(policy, &x->as_is, NULL) || bare(policy, &x->with, NULL);
	x->made = true;
	if (x->bad || !bwl_grant_fits(x->with.pol, grant))
		return false;
	p = bwl_policy_peer(x->with.pol, bwl_payload_text(grant->body, "peer"));
	was = *p;
	offline_ns = x->with.h.offline_for_ns;
	tightens = !put_grant(s, &x->with, grant, NULL) && !bwl_widens(&x->as_is.h, &x->with.h, &w);
	bwl_widened_free(&w);
	*p = was; /* a grant replaces nothing that its peer points to */
	x->with.h.offline_for_ns = offline_ns;
	return tightens;
}

/*
 * A grant from before this policy is not part of it: it must not open what was tightened since. Nor
 * one that was taken before it, whatever its date: one person chooses that, and a policy has its
 * date before the second person signs it. But what tightens stays, so that a policy which somebody
 * held back does not undo it.
 */
static bool is_of(const struct docs *s, const struct bwl_memory_item *it,
		  const struct bwl_signed *grant, const struct docs_one *policy, struct alone *x)
{
	return bwl_signed_order(&grant->terms, &policy->d.terms) >= 0 &&
	       (it->seq > bwl_memory_held_seq(s->m, policy->d.digest) ||
		only_tightens(s, policy, grant, x));
}

static int by_seq(const void *a, const void *b)
{
	uint64_t x = (*(const struct bwl_memory_item *const *)a)->seq,
		 y = (*(const struct bwl_memory_item *const *)b)->seq;

	return (x > y) - (x < y);
}

/*
 * What a grant does not name stays as the policy has it, and not as a grant before it left it,
 * which may be over.
 */
struct own {
	struct bwl_lim grant;
	uint8_t mode;
};

static struct own own_of(const struct docs_holding *h, const struct bwl_signed *g)
{
	const struct bwl_pol_peer *p = bwl_policy_peer(h->pol, bwl_payload_text(g->body, "peer"));

	return p ? (struct own){ p->grant, p->mode } : (struct own){ 0 };
}

static void put_back(struct docs_holding *h, const struct bwl_signed *g, const struct own *own)
{
	struct bwl_pol_peer *p = bwl_policy_peer(h->pol, bwl_payload_text(g->body, "peer"));

	if (!p)
		return;
	p->grant = own->grant;
	p->mode = own->mode;
}

/*
 * After a rollout went back, a grant may be for a peer that this policy lacks, or be of a limit
 * that it does not have.
 */
static int put_grants(const struct docs *s, const struct docs_one *policy,
		      const struct bwl_signed *more, struct docs_holding *h, struct bwl_err *e)
{
	size_t n, k = 0;
	const struct bwl_memory_item *item = bwl_memory_items(s->m, &n);
	BWL_AUTO_FREE const struct bwl_memory_item **list = bwl_must(calloc(n + 1, sizeof(*list)));
	BWL_AUTO_FREE const struct docs_one **grant = bwl_must(calloc(n + 1, sizeof(*grant)));
	BWL_AUTO_FREE struct own *own = bwl_must(calloc(n + 1, sizeof(*own)));
	struct own of_more = more ? own_of(h, more) : (struct own){ 0 };
	const struct bwl_memory_item *gone = missing(s, BWL_SIGNED_GRANT,
						     more ? more->terms.name : NULL);
	struct alone alone = { 0 };
	int r = 0;

	if (gone) {
		bwl_fail(e, ENODATA, "the grant %s was accepted, but its bytes are gone",
			 gone->name);
		return bwl_hint(e, "publish it again, or a newer version of it");
	}
	for (size_t i = 0; i < n; i++)
		if (item[i].type == BWL_SIGNED_GRANT &&
		    !(more && !strcmp(more->terms.name, item[i].name)))
			list[k++] = &item[i];
	qsort(list, k, sizeof(*list), by_seq);
	for (size_t i = 0; i < k; i++) {
		const struct docs_one *g = docs_find(s, list[i]->digest.b);

		if (g && g->d.type == BWL_SIGNED_GRANT &&
		    is_of(s, list[i], &g->d, policy, &alone) &&
		    g->d.terms.epoch >= bwl_memory_epoch(s->m) && bwl_grant_fits(h->pol, &g->d))
			grant[i] = g;
		if (grant[i])
			own[i] = own_of(h, &g->d);
	}
	alone_done(&alone);
	for (size_t i = 0; !r && i < k; i++) {
		if (!grant[i])
			continue;
		put_back(h, &grant[i]->d, &own[i]);
		r = put_grant(s, h, &grant[i]->d, e);
	}
	if (r || !more)
		return r;
	put_back(h, more, &of_more);
	return put_grant(s, h, more, e);
}

int docs_hold(const struct docs *s, const struct docs_one *policy, const struct bwl_signed *more,
	      struct docs_holding *ret, struct bwl_err *e)
{
	int r = bare(policy, ret, e);

	if (!r)
		r = put_grants(s, policy, more, ret, e);
	if (r)
		docs_holding_free(ret);
	return r;
}

size_t docs_grants(const struct docs *s, const struct docs_clock *c, char (**ret)[DOCS_KEY])
{
	const struct docs_one *policy = docs_policy(s);
	size_t n, k = 0;
	const struct bwl_memory_item *item = bwl_memory_items(s->m, &n);
	struct alone alone = { 0 };

	*ret = bwl_must(malloc((n + 1) * sizeof(**ret)));
	for (size_t i = 0; policy && i < n; i++) {
		const struct docs_one *g = item[i].type == BWL_SIGNED_GRANT
						   ? docs_find(s, item[i].digest.b)
						   : NULL;

		if (g && g->d.type == BWL_SIGNED_GRANT && !is_over(s, g) &&
		    g->d.terms.not_after_s > docs_now(s, c) &&
		    is_of(s, &item[i], &g->d, policy, &alone))
			snprintf((*ret)[k++], DOCS_KEY, "grant/%s", item[i].name);
	}
	alone_done(&alone);
	return k;
}

/*
 * An expelled peer has nothing, whatever a policy grants, including later ones. What a policy
 * widens is judged without this, so that nothing can be added to the peer unnoticed meanwhile.
 */
static void shut_out(const struct docs *s, struct bwl_policy *pol)
{
	for (size_t i = 0; i < pol->npeers; i++) {
		struct bwl_pol_peer *p = &pol->peers[i];

		if (!bwl_memory_is_expelled(s->m, p->name, p->ipsec_id))
			continue;
		p->expiry_ns = SECOND;
		p->floor = (struct bwl_lim){ 0 };
	}
}

int docs_terms(const struct docs *s, struct docs_terms *ret, struct bwl_err *e)
{
	int r;

	*ret = (struct docs_terms){ .policy = docs_policy(s) };
	if (!ret->policy)
		return bwl_fail(e, ENOENT, "no signed policy is valid");
	r = docs_hold(s, ret->policy, NULL, &ret->holding, e);
	ret->any = !r;
	if (!r)
		shut_out(s, ret->holding.pol);
	return r;
}

void docs_terms_free(struct docs_terms *t)
{
	docs_holding_free(&t->holding);
	*t = (struct docs_terms){ 0 };
}

/* When end_s is, on the data plane's clock. */
static uint64_t at(const struct docs_clock *c, int64_t now_s, int64_t end_s)
{
	int64_t left = end_s - now_s;

	if (left <= 0)
		return 0;
	return left > (int64_t)(1ULL << 33) ? BWL_NEVER_NS : c->boot_ns + (uint64_t)left * SECOND;
}

static uint64_t fresh_until(const struct docs *s, const struct docs_terms *t,
			    const struct docs_clock *c)
{
	int64_t whole_s = bwl_memory_whole(s->m);

	if (!docs_is_heard(s) || !whole_s)
		return 0;
	return at(c, docs_now(s, c), whole_s + (int64_t)(t->holding.h.offline_for_ns / SECOND));
}

bool docs_is_fresh(const struct docs *s, const struct docs_terms *t, const struct docs_clock *c)
{
	return t->any && fresh_until(s, t, c);
}

static bool is_lease_of(const struct docs_one *o, const void *arg)
{
	const struct docs_one *policy = arg;

	return names(&o->d, "policy", policy->d.digest);
}

static uint64_t lease_until(const struct docs *s, const struct docs_terms *t,
			    const struct docs_clock *c)
{
	const struct docs_one *l = newest(s, BWL_SIGNED_LEASE, is_lease_of, t->policy);
	struct bwl_bounds b = bwl_bounds_of(&t->policy->d);
	uint64_t ns;

	if (!l || bwl_bounds_check(&b, &l->d, docs_now(s, c), &ns, NULL))
		return 0;
	return c->boot_ns + (ns < t->holding.pol->lease_ns ? ns : t->holding.pol->lease_ns);
}

/*
 * Signed times are whole seconds, so the end moves by up to a second from look to look. Within that
 * the end that was seen last is kept.
 */
static struct docs_end lease_end(struct docs *s, const struct docs_terms *t,
				 const struct docs_clock *c)
{
	const uint8_t *policy = t->policy->d.digest;
	uint64_t at_ns = lease_until(s, t, c);

	if (memcmp(s->leased.policy, policy, sizeof(s->leased.policy)))
		s->leased.end_ns = 0;
	if (at_ns) {
		memcpy(s->leased.policy, policy, sizeof(s->leased.policy));
		s->leased.end_ns = at_ns;
	} else if (!s->leased.end_ns) {
		return (struct docs_end){ 0, "the policy has no lease yet", false };
	} else if (s->leased.end_ns > c->boot_ns + 2 * SECOND) {
		return (struct docs_end){ 0, "the lease has ended by the signed time", false };
	}
	at_ns = s->leased.end_ns;
	return (struct docs_end){ at_ns > c->boot_ns ? at_ns : 0, "the lease ends", true };
}

/* A lease that ends at the same time as something else is no sign of tampering. */
static void sooner(struct docs_end *end, uint64_t at_ns, const char *why)
{
	if (at_ns < end->at_ns || (at_ns == end->at_ns && end->lease && at_ns))
		*end = (struct docs_end){ at_ns, why, false };
}

struct docs_end docs_end(struct docs *s, const struct docs_terms *t, const struct docs_clock *c)
{
	struct docs_end end = { BWL_NEVER_NS, "", false };

	if (!t->any && docs_is_expelled(s))
		return (struct docs_end){ 0, "this tray is expelled", false };
	if (!t->any)
		return (struct docs_end){ 0, "no signed policy is valid", false };
	if (t->holding.pol->lease_ns)
		end = lease_end(s, t, c);
	sooner(&end, fresh_until(s, t, c),
	       docs_missing(s, NULL, 0)
		       ? "a document that closes was published but has not arrived for `offline_for`: it is being withheld"
		       : "no signed time arrived for `offline_for`");
	sooner(&end, at(c, docs_now(s, c), t->holding.h.not_after_s), "the signed policy ends");
	return end;
}

/*
 * This clock is behind the signed time: ends are moved forward by that much. An end that would be
 * before 1970 is over, and becomes one second, because 0 means no end.
 */
static void shift(struct bwl_policy *pol, int64_t behind_s)
{
	uint64_t by = behind_s > 30 ? (uint64_t)(behind_s + 59) / 60 * 60 * SECOND : 0;

	for (size_t i = 0; by && i < pol->npeers; i++)
		if (pol->peers[i].expiry_ns != BWL_NEVER_NS)
			pol->peers[i].expiry_ns = pol->peers[i].expiry_ns > by + SECOND
							  ? pol->peers[i].expiry_ns - by
							  : SECOND;
}

int docs_text(const struct docs *s, const struct docs_clock *c, char **ret, size_t *ret_len,
	      struct bwl_err *e)
{
	struct docs_terms t;
	struct bwl_policy *pol;
	FILE *f = NULL;
	int r = docs_terms(s, &t, e);

	if (r)
		return r;
	pol = t.holding.pol;
	shift(pol, docs_now(s, c) - c->wall_s);
	if (!pol->lease_ns || pol->lease_ns > t.holding.h.offline_for_ns)
		pol->lease_ns = t.holding.h.offline_for_ns;
	if (pol->heartbeat_none)
		pol->heartbeat_ns = t.holding.h.offline_for_ns;
	pol->heartbeat_none = false;
	f = open_memstream(ret, ret_len);
	r = f ? bwl_policy_dump(pol, READ_BOOT_NS, READ_WALL_S, f) : -ENOMEM;
	if (f && fclose(f) && !r)
		r = -ENOMEM;
	if (r)
		bwl_fail(e, -r, "cannot write the policy to disk: %s", strerror(-r));
	docs_terms_free(&t);
	return r;
}
