// SPDX-License-Identifier: GPL-2.0-or-later
/* Policies that nobody wrote: they survive being written and read, and overlaps are found. */
#include "policy_text.h"
#include <stdlib.h>

static struct bwl_lim random_limit(uint64_t *s, bool volume)
{
	struct bwl_lim l = { .present = true };

	if (test_random(s) % 4)
		l.rate_bps = BWL_MIN_BURST + test_random_scale(s, 46);
	if (l.rate_bps && test_random(s) % 2)
		l.burst = BWL_MIN_BURST + test_random_scale(s, 39);
	if (!l.rate_bps || (volume && test_random(s) % 2)) {
		l.has_volume = true;
		l.volume = test_random_scale(s, 62);
		l.window_ns = test_random(s) % 2 ? BWL_WINDOW_MIN_NS + test_random_scale(s, 50) : 0;
	}
	return l;
}

static void random_peer(uint64_t *s, struct bwl_policy *p, unsigned i)
{
	static const char *const zones[] = { "", "z0", "z1" };
	struct bwl_pol_peer *x = bwl_policy_add_peer(p);

	snprintf(x->name, sizeof(x->name), i % 7 ? "p%u" : ".%u_X-y", i);
	x->naddresses = 2;
	x->addresses = calloc(2, sizeof(struct bwl_pfx));
	x->addresses[0] = (struct bwl_pfx){ 4, 24 + test_random(s) % 9, { 192, 1, i } };
	x->addresses[1] = (struct bwl_pfx){ 6, 64 + test_random(s) % 65, { 0xfd, 1, i } };
	strcpy(x->zone, zones[test_random(s) % 3]);
	if (test_random(s) % 2)
		strcpy(x->from[x->nfrom++], "h1");
	x->contained = test_random(s) % 2;
	x->path = test_random(s) % _BWL_PATH_MAX;
	if (x->path != BWL_PATH_CLEAR)
		snprintf(x->ipsec_remote, sizeof(x->ipsec_remote),
			 test_random(s) % 2 ? "203.0.113.%u" : "fd77::%u", i);
	x->has_via4 = x->has_via6 = x->path == BWL_PATH_CLEAR || test_random(s) % 2;
	if (x->has_via4) {
		memcpy(x->via4, "\x0a\x09\x09\x01", 4);
		memcpy(x->via6, "\xfe\x80\0\0\0\0\0\0\0\0\0\0\0\0\0\x01", 16);
	}
	if (test_random(s) % 2)
		strcpy(x->uplink, test_random(s) % 2 ? "p1" : "p0");
	if (test_random(s) % 8) {
		x->grant = random_limit(s, true);
		x->mode = test_random(s) % _BWL_MODE_MAX;
		if (x->mode == BWL_MODE_MARK)
			x->mark_pct = 1 + test_random(s) % 100;
		if (test_random(s) % 2)
			x->expiry_ns = NOW_BOOT + 1 + test_random_scale(s, 61);
		for (unsigned k = 0; k < _BWL_CLASS_MAX; k++)
			if (test_random(s) % 4 == 0)
				x->class_[k] = random_limit(s, true);
		if (x->grant.rate_bps > 2 * BWL_MIN_BURST && test_random(s) % 2)
			x->floor = (struct bwl_lim){ .rate_bps = x->grant.rate_bps / 2,
						     .present = true };
	}
	x->accept_none = test_random(s) % 4 == 0;
	if (!x->accept_none && test_random(s) % 2) {
		x->accept = random_limit(s, false);
		x->accept.has_volume = false;
		x->accept.volume = x->accept.window_ns = 0;
		if (!x->accept.rate_bps)
			x->accept = (struct bwl_lim){ 0 };
	}
}

static struct bwl_policy *random_policy(uint64_t *s)
{
	struct bwl_policy *p = bwl_policy_new();

	strcpy(p->node, "n.1_x-Y");
	p->uplinks = calloc(2, sizeof(*p->uplinks));
	p->nuplinks = 2;
	strcpy(p->uplinks[0], "p0");
	strcpy(p->uplinks[1], "p1");
	p->control = test_random(s) % (1U << _BWL_CONTROL_MAX);
	p->heartbeat_none = test_random(s) % 2;
	p->heartbeat_ns = p->heartbeat_none ? 0 : 1000000 + test_random_scale(s, 60);
	p->lease_ns = p->heartbeat_none || test_random(s) % 2
			      ? 0
			      : 1000000000 + test_random_scale(s, 54);
	p->min_charge = test_random(s) % 65536;
	p->horizon_ns = test_random(s) % 2 ? 1000000 * (1 + test_random(s) % 1000) : 0;
	p->ledger = test_random(s) % 2;
	p->ports = calloc(2, sizeof(*p->ports));
	for (p->nports = 0; p->nports < 2; p->nports++) {
		struct bwl_pol_port *x = &p->ports[p->nports];

		sprintf(x->name, "h%zu", p->nports);
		x->nsources = 2;
		x->sources = calloc(2, sizeof(struct bwl_pfx));
		x->sources[0] = (struct bwl_pfx){ 4, 16, { 10, p->nports } };
		x->sources[1] = (struct bwl_pfx){ 6, 32, { 0xfc, 0, 0, p->nports } };
		for (unsigned v = test_random(s) % 4; v; v--)
			x->vlans[x->nvlans++] = 1 + v * 1000 + test_random(s) % 94;
		x->has_mac = test_random(s) % 2;
		if (x->has_mac)
			memcpy(x->mac, "\x02\x00\x00\xaa\xbb\xcc", 6);
		if (test_random(s) % 2)
			x->limit = random_limit(s, true);
	}
	p->zones = calloc(2, sizeof(*p->zones));
	for (p->nzones = 0; p->nzones < 2; p->nzones++) {
		sprintf(p->zones[p->nzones].name, "z%zu", p->nzones);
		p->zones[p->nzones].limit = random_limit(s, true);
	}
	if (test_random(s) % 2)
		p->node_limit = random_limit(s, true);
	p->services = calloc(2, sizeof(*p->services));
	p->services[p->nservices++] = (struct bwl_pol_service){ BWL_C_SSH,
								6 + 11 * (test_random(s) % 2),
								1 + test_random(s) % 65535 };
	p->services[p->nservices++] = (struct bwl_pol_service){ test_random(s) % _BWL_CLASS_MAX,
								132, 0 };
	for (unsigned i = 0; i < 8; i++)
		random_peer(s, p, i);
	return p;
}

static bool same_limit(const struct bwl_lim *a, const struct bwl_lim *b)
{
	uint64_t x = a->burst ? a->burst : a->rate_bps ? bwl_default_burst(a->rate_bps) : 0;
	uint64_t y = b->burst ? b->burst : b->rate_bps ? bwl_default_burst(b->rate_bps) : 0;

	return a->present == b->present && a->rate_bps == b->rate_bps && x == y &&
	       a->has_volume == b->has_volume && a->volume == b->volume &&
	       a->window_ns == b->window_ns;
}

static void same_peer(const struct bwl_pol_peer *a, const struct bwl_pol_peer *b)
{
	assert_string_equal(a->name, b->name);
	assert_int_equal(a->naddresses, b->naddresses);
	assert_memory_equal(a->addresses, b->addresses, a->naddresses * sizeof(struct bwl_pfx));
	assert_string_equal(a->zone, b->zone);
	assert_int_equal(a->nfrom, b->nfrom);
	assert_memory_equal(a->from, b->from, sizeof(a->from));
	assert_int_equal(a->contained, b->contained);
	assert_int_equal(a->path, b->path);
	assert_int_equal(a->has_via4, b->has_via4);
	assert_memory_equal(a->via6, b->via6, 16);
	assert_string_equal(a->ipsec_remote, b->ipsec_remote);
	assert_true(same_limit(&a->grant, &b->grant) && same_limit(&a->floor, &b->floor));
	assert_true(same_limit(&a->accept, &b->accept) || !b->accept.present);
	assert_int_equal(a->accept_none, b->accept_none);
	assert_int_equal(a->mode, b->mode);
	if (a->mode == BWL_MODE_MARK)
		assert_int_equal(a->mark_pct, b->mark_pct);
	assert_int_equal(a->expiry_ns, b->expiry_ns);
	for (unsigned k = 0; k < _BWL_CLASS_MAX; k++)
		assert_true(same_limit(&a->class_[k], &b->class_[k]));
}

static void random_policies_survive_being_written_and_read(void **state)
{
	uint64_t seed = 11;

	(void)state;
	for (unsigned i = 0; i < 400; i++) {
		struct bwl_policy *p = random_policy(&seed), *q;
		char *a, *b;
		struct bwl_err e = { 0 };

		if (bwl_policy_check(p, NULL, &e))
			fail_msg("round %u: %s", i, e.text);
		a = text_of(p);
		q = read_text(a);
		b = text_of(q);
		assert_string_equal(a, b);
		assert_int_equal(p->control, q->control);
		assert_int_equal(p->heartbeat_ns, q->heartbeat_ns);
		assert_int_equal(p->lease_ns, q->lease_ns);
		assert_int_equal(p->min_charge, q->min_charge);
		assert_int_equal(p->horizon_ns, q->horizon_ns);
		assert_int_equal(p->ledger, q->ledger);
		assert_true(same_limit(&p->node_limit, &q->node_limit));
		for (size_t k = 0; k < 2; k++) {
			assert_true(same_limit(&p->zones[k].limit, &q->zones[k].limit));
			assert_true(same_limit(&p->ports[k].limit, &q->ports[k].limit));
			assert_memory_equal(p->ports[k].mac, q->ports[k].mac, 6);
		}
		for (size_t k = 0; k < p->npeers; k++) {
			struct bwl_pol_peer *x = bwl_policy_peer(q, p->peers[k].name);

			assert_non_null(x);
			same_peer(&p->peers[k], x);
		}
		free(a);
		free(b);
		bwl_policy_free(p);
		bwl_policy_free(q);
	}
}

static void overlaps_are_found_like_by_comparing_all_pairs(void **state)
{
	uint64_t seed = 13;

	(void)state;
	for (unsigned round = 0; round < 2000; round++) {
		struct bwl_policy *p = read_text(TOP);
		bool duplicate = false;
		size_t holders = 0;
		int r;

		for (unsigned i = 0; i < 6; i++) {
			struct bwl_pol_peer *x = bwl_policy_add_peer(p);
			uint8_t len = 26 + test_random(&seed) % 7;

			snprintf(x->name, sizeof(x->name), "p%u", i);
			x->addresses = calloc(1, sizeof(struct bwl_pfx));
			x->naddresses = 1;
			x->addresses[0] = (struct bwl_pfx){
				4,
				len,
				{ 192, 0, 2, (test_random(&seed) % 64) & 0xff << (32 - len) }
			};
			x->has_via4 = true;
			memcpy(x->via4, "\x0a\x09\x09\x09", 4);
		}
		for (unsigned i = 0; i < 6; i++) {
			const struct bwl_pfx *a = p->peers[i].addresses;
			bool direct = false;

			for (unsigned j = 0; j < 6; j++) {
				const struct bwl_pfx *b = p->peers[j].addresses;

				if (i == j)
					continue;
				duplicate |= a->len == b->len && a->addr[3] == b->addr[3];
				direct |= b->len > a->len &&
					  (b->addr[3] & 0xff << (32 - a->len)) == a->addr[3];
			}
			holders += direct;
		}
		r = bwl_policy_check(p, "f", NULL);
		assert_int_equal(r != 0, duplicate);
		if (!duplicate)
			assert_int_equal(p->nwarnings, holders);
		bwl_policy_free(p);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(random_policies_survive_being_written_and_read),
		cmocka_unit_test(overlaps_are_found_like_by_comparing_all_pairs),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
