// SPDX-License-Identifier: GPL-2.0-or-later
/* See widening.h. */
#include <arpa/inet.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <setjmp.h>
#include <cmocka.h>
#include <bpf/bpf.h>
#include <bwl/generation.h>
#include <bwl/map_io.h>
#include <bwl/netdev.h>
#include "widening.h"
#include "tests/unit/signed/widen_steps.h"

#define SECOND 1000000000ULL
#define STEPS 12
#define FLOWS 2 /* of each pair */

static uint64_t seed;

uint64_t widening_seed(void)
{
	return seed;
}

/* --- the kernel's neighbours and routes, which lib/publish asks for: all far DPUs are behind one
 * router */

#define FIXED_MAX 64
static struct bwl_fixed_hop table[FIXED_MAX];
static size_t ntable;

static struct bwl_fixed_hop *entry(uint32_t ifindex, uint8_t family, const uint8_t *addr)
{
	for (size_t i = 0; i < ntable; i++)
		if (table[i].ifindex == ifindex && table[i].family == family &&
		    !memcmp(table[i].addr, addr, family == AF_INET ? 4 : 16))
			return &table[i];
	return NULL;
}

int __wrap_bwl_netdev_hop_fix(const struct bwl_fixed_hop *f, struct bwl_err *e);
int __wrap_bwl_netdev_hop_fix(const struct bwl_fixed_hop *f, struct bwl_err *e)
{
	struct bwl_fixed_hop *x = entry(f->ifindex, f->family, f->addr);

	(void)e;
	assert_true(ntable < FIXED_MAX);
	*(x ? x : &table[ntable++]) = *f;
	return 0;
}

static const uint8_t router4[16] = { 10, 9, 9, 1 };
static const uint8_t router6[16] = { 0xfe, 0x80, [15] = 1 };

int __wrap_bwl_netdev_hop_find(struct bwl_fixed_hop *io);
int __wrap_bwl_netdev_hop_find(struct bwl_fixed_hop *io)
{
	memcpy(io->addr, io->family == AF_INET ? router4 : router6, sizeof(io->addr));
	return 0;
}

int __wrap_bwl_netdev_hops_sweep(uint32_t ifindex,
				 bool (*stays)(const struct bwl_fixed_hop *f, void *arg),
				 void *arg);
int __wrap_bwl_netdev_hops_sweep(uint32_t ifindex,
				 bool (*stays)(const struct bwl_fixed_hop *f, void *arg), void *arg)
{
	(void)ifindex, (void)stays, (void)arg;
	return 0;
}

/* --- policies */

static uint64_t below(uint64_t *s, uint64_t n)
{
	return test_random(s) % n;
}

/* Small enough that forty frames find it, where random policies are of any size. */
static void tune(struct bwl_lim *l)
{
	if (!l->present)
		return;
	if (l->rate_bps != BWL_NO_RATE) {
		l->rate_bps = 100000 + l->rate_bps % 4000000;
		l->burst = BWL_MIN_BURST + l->burst % 10000;
	}
	l->volume %= 30000;
	if (l->window_ns)
		l->window_ns = l->window_ns % 2 ? 60 * SECOND : 3600 * SECOND;
}

static void tune_all(struct bwl_policy *p)
{
	tune(&p->node_limit);
	for (size_t i = 0; i < p->nports; i++) {
		tune(&p->ports[i].limit);
		p->ports[i].nvlans = 0;
	}
	for (size_t i = 0; i < p->nzones; i++) {
		tune(&p->zones[i].limit);
		p->zones[i].weighted = false; /* only divides (docs/status.md) */
	}
	for (size_t i = 0; i < p->npeers; i++) {
		struct bwl_pol_peer *x = &p->peers[i];

		tune(&x->grant);
		tune(&x->accept);
		tune(&x->floor);
		for (unsigned k = 0; k < _BWL_CLASS_MAX; k++)
			tune(&x->class_[k]);
		for (size_t k = 0; k < x->ntenants; k++)
			tune(&x->tenants[k].limit);
		x->weight = 0;
		if (bwl_mode_paces(x->mode)) { /* here no packet gets a time to leave */
			x->mode = BWL_MODE_POLICE;
			x->mark_pct = 0;
		}
		if (x->expiry_ns != BWL_NEVER_NS)
			x->expiry_ns = NOW_BOOT + 1 + x->expiry_ns % (9000 * SECOND);
		if (x->floor.present && x->floor.rate_bps > x->grant.rate_bps)
			x->floor.rate_bps = x->grant.rate_bps;
		if (i % 4)
			x->nfrom = 0;
		if (i % 2)
			memset(x->next_hop_mac, 0, 6);
		if (i % 4 < 2 && x->path != BWL_PATH_CLEAR) {
			x->path = BWL_PATH_CLEAR;
			*x->ipsec_remote = '\0';
			x->has_via4 = x->has_via6 = true;
			memcpy(x->via4, router4, 4);
			memcpy(x->via6, router6, 16);
		}
	}
	p->heartbeat_ns = p->heartbeat_none ? 0 : 1 + p->heartbeat_ns % (100 * SECOND);
	p->lease_ns = p->lease_ns ? SECOND + p->lease_ns % (60 * SECOND) : 0;
	p->horizon_ns = 0;
	p->ledger = false; /* nobody releases */
	p->min_charge %= 2000;
	p->tamper[BWL_TAMPER_carrier] %= BWL_ACTION_REVOKE + 1;
}

static struct bwl_policy *tuned(uint64_t *s)
{
	struct bwl_policy *p;
	struct bwl_err e = { 0 };

	for (;;) {
		p = any_policy(s);
		tune_all(p);
		if (!bwl_policy_check(p, NULL, &e))
			return p;
		bwl_policy_free(p);
	}
}

static void random_mac(uint64_t *s, uint8_t *mac)
{
	memset(mac, 0, 6);
	mac[5] = (uint8_t)below(s, 3);
	mac[0] = mac[5] ? 2 : 0;
}

static void go_clear(struct bwl_pol_peer *x, uint64_t *s)
{
	x->path = BWL_PATH_CLEAR;
	*x->ipsec_remote = '\0';
	x->has_via4 = x->has_via6 = true;
	memcpy(x->via4, router4, 4);
	memcpy(x->via6, router6, 16);
	x->via4[3] = (uint8_t)(1 + below(s, 2));
}

static void encrypt(struct bwl_pol_peer *x, uint64_t *s)
{
	x->path = BWL_PATH_XFRM;
	x->has_via4 = x->has_via6 = false;
	snprintf(x->ipsec_remote, sizeof(x->ipsec_remote), "203.0.113.%u", (unsigned)below(s, 12));
}

/* A peer without a grant, which is somebody's neighbour nevertheless. */
static void add_closed(struct bwl_policy *p, uint64_t *s)
{
	struct bwl_pol_peer *x = &p->peers[p->npeers++];

	*x = (struct bwl_pol_peer){ .expiry_ns = BWL_NEVER_NS };
	snprintf(x->name, sizeof(x->name), "shut%zu", p->npeers);
	x->addresses = calloc(10, sizeof(*x->addresses));
	x->addresses[x->naddresses++] =
		(struct bwl_pfx){ 4, 32, { 192, 1, (uint8_t)below(s, 9), (uint8_t)below(s, 2) } };
	if (below(s, 2))
		go_clear(x, s);
	else
		encrypt(x, s);
	random_mac(s, x->next_hop_mac);
	strcpy(x->uplink, below(s, 2) ? "p0" : "p1");
}

/* One change of any size; like: where it may take values from. */
static void change(struct bwl_policy *p, const struct bwl_policy *like, uint64_t *s)
{
	size_t i = below(s, p->npeers), k = below(s, _BWL_CLASS_MAX);
	struct bwl_pol_peer *x = &p->peers[i];
	const struct bwl_pol_peer *y = &like->peers[below(s, like->npeers)];

	switch (below(s, 20)) {
	case 0:
		x->grant = y->grant;
		break;
	case 1:
		x->floor = y->floor;
		break;
	case 2:
		x->expiry_ns = y->expiry_ns;
		break;
	case 3:
		memcpy(x->zone, y->zone, sizeof(x->zone));
		break;
	case 4:
		memcpy(x->from, y->from, sizeof(x->from));
		x->nfrom = y->nfrom;
		break;
	case 5:
		x->class_[k] = y->class_[k];
		break;
	case 6:
		p->node_limit = like->node_limit;
		break;
	case 7:
		p->zones[i % p->nzones].limit = like->zones[i % p->nzones].limit;
		break;
	case 8:
		p->ports[i % p->nports].limit = like->ports[i % p->nports].limit;
		break;
	case 9:
		p->heartbeat_ns = like->heartbeat_ns;
		p->heartbeat_none = like->heartbeat_none;
		p->lease_ns = p->heartbeat_none ? 0 : p->lease_ns;
		break;
	case 10:
		p->lease_ns = p->heartbeat_none ? 0 : like->lease_ns;
		break;
	case 11:
		p->tamper[BWL_TAMPER_carrier] = like->tamper[BWL_TAMPER_carrier];
		break;
	case 12:
		random_mac(s, x->next_hop_mac);
		break;
	case 13:
		go_clear(x, s);
		break;
	case 14:
		encrypt(x, s);
		break;
	case 15:
	case 16:
		add_closed(p, s);
		break;
	case 17:
		p->min_charge = like->min_charge;
		break;
	case 18:
		x->mode = y->mode;
		x->mark_pct = y->mark_pct;
		break;
	default:
		x->grant.present = x->floor.present = false;
		memset(x->class_, 0, sizeof(x->class_));
		x->ntenants = 0;
	}
}

/* NULL: it is none that a tray would take. */
static struct bwl_policy *changed(const struct bwl_policy *p, uint64_t *s)
{
	struct bwl_policy *like = tuned(s), *q = below(s, 4) ? clone(p) : wander(p, s);
	struct bwl_err e = { 0 };

	for (uint64_t n = 1 + below(s, 2); n; n--)
		change(q, like, s);
	bwl_policy_free(like);
	for (size_t i = 0; i < q->npeers; i++)
		if (bwl_mode_paces(q->peers[i].mode))
			q->peers[i].mode = BWL_MODE_MONITOR;
	if (!bwl_policy_check(q, NULL, &e))
		return q;
	bwl_policy_free(q);
	return NULL;
}

/* --- what a policy does to one flow */

struct flow {
	unsigned port; /* a host port's id, 0 or 1 */
	char spec[160];
	struct bwl_pfx to;
	uint64_t script;
};

struct outcome {
	bool refused; /* the policy is */
	uint64_t passed[STEPS];
	struct level_sent sent;
	uint8_t mac[6];        /* there; zeroes: resolved */
	struct bwl_nexthop to; /* of an open peer */
	uint8_t to_mac[6];
	bool open, encrypted;
	struct bwl_key_lpm6 speaker[64];
	size_t nspeakers;
};

static void mac_at(uint32_t ifindex, uint8_t family, const uint8_t *addr, uint8_t ret[6])
{
	const struct bwl_fixed_hop *x = entry(ifindex, family, addr);

	memset(ret, 0, 6);
	if (x)
		memcpy(ret, x->mac, 6);
}

/* From the maps: the next hop or far DPU of the destination, and whose IKE is heard. */
static void look(struct bwl_pins *p, const struct bwl_policy *pol, const struct flow *f,
		 struct outcome *o)
{
	const struct bwl_pol_peer *q = owner_of(pol, &f->to);
	struct bwl_key_lpm6 key, next, *at = NULL;
	const struct bwl_peer *body;
	struct bwl_gen g;
	uint32_t who;

	assert_int_equal(bwl_gen_open(p, bwl_active_slot(p), &g, NULL), 0);
	body = q ? bwl_body(p, &g, bwl_peer_id(p, &g, q->name)) : NULL;
	if (body && body->meta.flags & BWL_PEER_GRANT) {
		bool six = f->to.family == 6;

		o->open = true;
		o->encrypted = body->meta.path != BWL_PATH_CLEAR;
		o->to = g.base->nexthop[body->meta.nexthop];
		memset(o->to.mac_head, 0, 2); /* judged by the table */
		memset(o->to.mac_tail, 0, 4);
		if (o->encrypted)
			mac_at(p->dev[o->to.port].ifindex, o->to.has4 ? AF_INET : AF_INET6,
			       o->to.has4 ? router4 : router6, o->to_mac);
		else
			mac_at(p->dev[o->to.port].ifindex, six ? AF_INET6 : AF_INET,
			       six ? (const uint8_t *)o->to.via6 : (const uint8_t *)&o->to.via4,
			       o->to_mac);
	}
	while (!bpf_map_get_next_key(g.own, at, &next)) {
		key = next;
		at = &key;
		assert_int_equal(bpf_map_lookup_elem(g.own, &key, &who), 0);
		if (!(who & BWL_OWN_REMOTE) || !(who & ~BWL_OWN_REMOTE))
			continue;
		assert_true(o->nspeakers < N(o->speaker));
		o->speaker[o->nspeakers++] = key;
	}
	bwl_gen_close(&g);
}

static bool is_closed_by_a_sign(struct bwl_pins *p, const struct bwl_policy *pol)
{
	unsigned action = pol->tamper[BWL_TAMPER_carrier];

	return action != BWL_ACTION_LOG && (action != BWL_ACTION_CLAMP || !bwl_clamp(p));
}

static void run(struct bwl_policy *pol, const struct flow *f, struct outcome *o)
{
	static const uint64_t steps[] = { 1000000,    50000000,    SECOND,
					  7 * SECOND, 65 * SECOND, 7200 * SECOND };
	const struct bwl_publish_opts opts = { .allowed = true };
	uint64_t s = f->script, passed = 0, until;
	struct bwl_err e = { 0 };
	struct bwl_pins *p;
	bool closed = false;

	memset(o, 0, sizeof(*o));
	ntable = 0;
	p = level_new(NOW_BOOT);
	if (bwl_publish(p, pol, &opts, NULL, &e)) {
		o->refused = true;
		return;
	}
	level_frame(f->spec);
	look(p, pol, f, o);
	for (unsigned i = 0; i < STEPS; i++) {
		uint64_t event = below(&s, 10), n = 1 + below(&s, 12);

		level_advance(steps[below(&s, N(steps))]);
		if (event < 2 || !i)
			bwl_lease_renew(p, 0, NULL);
		if (event < 6 || !i)
			bwl_heartbeat(p, &until, NULL);
		if (event > 7) /* the host drops its link */
			closed = closed || is_closed_by_a_sign(p, pol);
		for (; n && !closed; n--)
			passed += level_send(f->port, &o->sent);
		o->passed[i] = passed;
	}
	mac_at(o->sent.ifindex, o->sent.family, o->sent.via, o->mac);
}

static void any_flow(struct flow *f, uint64_t *s)
{
	static const char *const what[] = { "udp dport=9",   "udp dport=443", "tcp dport=22",
					    "tcp dport=443", "tcp sport=22",  "udp dport=4791" };
	unsigned i = (unsigned)below(s, 9), fill = (unsigned)below(s, below(s, 2) ? 60 : 1300);
	const char *l4 = what[below(s, N(what))];
	char to[64];

	f->port = !below(s, 4);
	f->script = test_random(s);
	if (below(s, 3)) {
		snprintf(to, sizeof(to), "192.1.%u.%u", i, (unsigned)!below(s, 4));
		snprintf(f->spec, sizeof(f->spec),
			 "eth src=02:00:00:aa:bb:cc ip4 src=10.%u.0.2 dst=%s %s fill=%u", f->port,
			 to, l4, fill);
	} else {
		snprintf(to, sizeof(to), "fd01:%x00::", i);
		snprintf(f->spec, sizeof(f->spec),
			 "eth src=02:00:00:aa:bb:cc ip6 src=fc00:%u::2 dst=%s %s fill=%u", f->port,
			 to, l4, fill);
	}
	assert_int_equal(bwl_pfx_parse(to, &f->to, NULL), 0);
}

/* NULL, or what is more open under b. */
static const char *more(const struct outcome *a, const struct outcome *b)
{
	for (unsigned i = 0; i < STEPS; i++)
		if (b->passed[i] > a->passed[i])
			return "more passes";
	if (b->passed[STEPS - 1] &&
	    (memcmp(&a->sent, &b->sent, sizeof(a->sent)) || memcmp(a->mac, b->mac, 6)))
		return "another next hop";
	if (b->passed[STEPS - 1] && !b->encrypted &&
	    (a->to.port != b->to.port || memcmp(a->to_mac, b->to_mac, 6)))
		return "another next hop in the maps";
	if (b->open && b->encrypted &&
	    (!a->encrypted || memcmp(&a->to, &b->to, sizeof(a->to)) ||
	     memcmp(a->to_mac, b->to_mac, 6)))
		return "another far DPU";
	for (size_t i = 0; i < b->nspeakers; i++) {
		bool was = false;

		for (size_t k = 0; k < a->nspeakers; k++)
			was = was || !memcmp(&a->speaker[k], &b->speaker[i], sizeof(*a->speaker));
		if (!was)
			return "another DPU may speak to this one";
	}
	return NULL;
}

static struct {
	unsigned narrow, wide, passing, found;
} tally;

/* To be read by whoever mends it. */
static void show(const struct bwl_policy *a, const struct bwl_policy *b, const struct outcome *x,
		 const struct outcome *y)
{
	puts("--- from");
	bwl_policy_dump(a, NOW_BOOT, NOW_WALL, stdout);
	puts("--- to");
	bwl_policy_dump(b, NOW_BOOT, NOW_WALL, stdout);
	for (unsigned i = 0; i < STEPS; i++)
		printf("# step %u: %llu -> %llu bytes\n", i, (unsigned long long)x->passed[i],
		       (unsigned long long)y->passed[i]);
}

static void pair(void)
{
	uint64_t s = seed * 0x9e3779b97f4a7c15ULL + 1;
	struct bwl_policy *a = tuned(&s), *b = changed(a, &s);
	bool wide = b && widens(a, b);
	static struct outcome x, y;
	const char *why = NULL;
	struct flow f;

	/* of what widens a part, to see that the judge finds it */
	for (unsigned i = 0; b && i < FLOWS && !why && (!wide || seed % 8 == 0); i++) {
		any_flow(&f, &s);
		run(a, &f, &x);
		if (!x.refused)
			run(b, &f, &y);
		if (x.refused || y.refused)
			continue;
		why = more(&x, &y);
		tally.passing += y.passed[STEPS - 1] > 0;
		if (why && !wide)
			show(a, b, &x, &y);
		if (why && !wide)
			fail_msg("MODEL_SEED=%llu: %s, and nothing widens: %s",
				 (unsigned long long)seed, why, f.spec);
	}
	tally.narrow += b && !wide;
	tally.wide += wide && seed % 8 == 0;
	tally.found += wide && why;
	bwl_policy_free(a);
	bwl_policy_free(b);
}

void what_widens_nothing_opens_nothing(void **state)
{
	const char *one = getenv("MODEL_SEED"), *many = getenv("MODEL_ROUNDS");
	const char *from = getenv("MODEL_FIRST");
	uint64_t n = one ? 1 : many ? strtoull(many, NULL, 10) : level_pairs(), last;

	(void)state;
	seed = one ? strtoull(one, NULL, 10) : from ? strtoull(from, NULL, 10) : 1;
	for (last = seed + n - 1; seed <= last; seed++)
		pair();
	print_message(
		"# %u pairs that widen nothing, %u flows pass; of %u that widen %u are found\n",
		tally.narrow, tally.passing, tally.wide, tally.found);
	if (one)
		return;
	/* The judge has eyes. */
	assert_true(tally.narrow > n / 8);
	assert_true(tally.passing > n / 20);
	assert_true(tally.found > tally.wide / 8);
}
