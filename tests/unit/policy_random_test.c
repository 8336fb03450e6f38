// SPDX-License-Identifier: GPL-2.0-or-later
/* Random policies: they survive being written and read, and overlaps are found. */
#include "policy_random.h"

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
	assert_int_equal(a->weight, b->weight);
	assert_int_equal(a->nfrom, b->nfrom);
	assert_memory_equal(a->from, b->from, sizeof(a->from));
	assert_int_equal(a->contained, b->contained);
	assert_int_equal(a->path, b->path);
	assert_int_equal(a->has_via4, b->has_via4);
	assert_memory_equal(a->via6, b->via6, 16);
	assert_memory_equal(a->next_hop_mac, b->next_hop_mac, 6);
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
	assert_int_equal(a->ntenants, b->ntenants);
	for (size_t k = 0; k < a->ntenants; k++) {
		const struct bwl_pol_tenant *t = bwl_policy_tenant(b, a->tenants[k].port);

		assert_non_null(t);
		assert_true(same_limit(&a->tenants[k].limit, &t->limit));
	}
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
		assert_int_equal(p->reject, q->reject);
		assert_int_equal(p->count_all, q->count_all);
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
