// SPDX-License-Identifier: GPL-2.0-or-later
/* Does this change widen? Single changes of policies, of what stands beside them, and the words for
 * them. */
#include "widen_rig.h"

static struct bwl_policy *yaml(const char *peers)
{
	char text[2048];

	snprintf(text, sizeof(text), TOP "%s", peers);
	return read_text(text);
}

#define CLEAR "    path: clear\n    via: 10.9.9.9\n"
#define BIG "  - name: big\n    addresses: [198.51.100.0/24]\n" CLEAR "    grant: { rate: 1gbit }\n"
#define SMALL                                                                                      \
	"  - name: small\n    addresses: [198.51.100.7/32]\n" CLEAR "    grant: { rate: 1mbit }\n"
#define NONE "  - name: none\n    addresses: [198.51.100.7/32]\n" CLEAR

static void addresses_belong_to_whom_the_longest_prefix_names(void **state)
{
	static const struct {
		const char *from, *to;
		bool widens;
	} row[] = {
		{ "peers:\n" BIG SMALL, "peers:\n" BIG, true }, /* now the larger peer's */
		{ "peers:\n" BIG NONE, "peers:\n" BIG, true },  /* a hole is filled */
		{ "peers:\n" BIG, "peers:\n" BIG NONE, false }, /* a hole is made */
		{ "peers:\n" BIG, "peers:\n" BIG SMALL, true }, /* both together may send more */
		{ "peers:\n" BIG SMALL, "peers:\n" SMALL, false },
		{ "peers:\n" SMALL, "peers:\n" BIG, true },
		{ "peers:\n" BIG, "peers:\n" SMALL, true },
		{ "", "peers:\n" SMALL, true },
		{ "peers:\n" SMALL, "", false },
		{ "", "peers:\n" NONE, false },
	};

	(void)state;
	for (size_t i = 0; i < N(row); i++) {
		struct bwl_policy *a = yaml(row[i].from), *b = yaml(row[i].to);

		if (widens(a, b) != row[i].widens)
			fail_msg("row %zu", i);
		bwl_policy_free(a);
		bwl_policy_free(b);
	}
}

/* What a floor passes is within its grant, and without a grant there is none. */
static void a_grant_that_ends_sooner_opens_nothing(void **state)
{
	uint64_t s = 5;
	struct bwl_policy *a = any_policy(&s), *b, *c;
	struct bwl_pol_peer *x;

	(void)state;
	x = granted(a, &s);
	x->expiry_ns = NOW_BOOT + 1000;
	x->mode = BWL_MODE_POLICE;
	x->grant = (struct bwl_lim){
		.present = true, .rate_bps = 1000000, .has_volume = true, .volume = 1000
	};
	x->floor = (struct bwl_lim){ .present = true, .rate_bps = 500000 };
	b = clone(a);
	bwl_policy_peer(b, x->name)->expiry_ns--;
	assert_false(widens(a, b));
	c = clone(a);
	bwl_policy_peer(c, x->name)->grant.present = false;
	assert_false(widens(a, c));
	assert_true(widens(c, a));
	bwl_policy_free(a);
	bwl_policy_free(b);
	bwl_policy_free(c);
}

static void what_stands_beside_a_policy_is_compared_too(void **state)
{
	static const char *const closed[] = { "big", "small" };
	struct bwl_policy *p = yaml("peers:\n" BIG SMALL);
	const struct bwl_holding is = { .pol = p,
					.not_after_s = 100,
					.offline_for_ns = 100,
					.lease_most_ns = 100,
					.closed = closed,
					.nclosed = 2 };
	struct bwl_holding to[7] = { is, is, is, is, is, is, is }, past = is;
	struct bwl_widened w;
	char text[BWL_WIDENING_TEXT];

	(void)state;
	to[0].not_after_s++;
	to[1].offline_for_ns++;
	to[2].lease_most_ns++;
	to[3].stages = true;
	to[4].fresh_volume = true;
	to[5].nclosed = 1;
	for (unsigned i = 0; i < 7; i++) {
		assert_int_equal(bwl_widens(&is, &to[i], &w), i < 6);
		if (i < 6)
			assert_int_equal(w.n, 1);
		if (i == 5)
			assert_string_equal(bwl_widening_text(w.item, text),
					    "small: revocation: closed -> open");
		bwl_widened_free(&w);
		if (i < 4)
			assert_false(bwl_widens(&to[i], &is, &w));
		if (i < 4)
			bwl_widened_free(&w);
	}
	past.not_after_s = -1;
	assert_false(bwl_widens(&is, &past, &w));
	assert_true(bwl_widens(&past, &is, &w));
	bwl_widened_free(&w);
	bwl_policy_free(p);
}

static void expect_words(struct bwl_policy *a, struct bwl_policy *b, const char *words)
{
	struct bwl_holding x = bwl_holding_of(a), y = bwl_holding_of(b);
	char text[BWL_WIDENING_TEXT];
	struct bwl_widened w;

	assert_true(bwl_widens(&x, &y, &w));
	assert_string_equal(bwl_widening_text(w.item, text), words);
	bwl_widened_free(&w);
	bwl_policy_free(a);
	bwl_policy_free(b);
}

static void it_says_where_and_what_in_words(void **state)
{
	(void)state;
	expect_words(yaml("peers:\n" SMALL),
		     yaml("peers:\n"
			  "  - name: small\n    addresses: [198.51.100.7/32]\n" CLEAR
			  "    grant: { rate: 2mbit, burst: 64kb }\n"),
		     "peer small, grant: rate: 1mbit -> 2mbit");
}

/* This cannot be undone, so one person alone cannot demand it. */
static void that_keys_are_destroyed_is_for_two_people(void **state)
{
	(void)state;
	expect_words(yaml("tamper: { carrier: revoke }\npeers:\n" SMALL),
		     yaml("tamper: { carrier: destroy }\npeers:\n" SMALL),
		     "tamper: carrier: revoke -> destroy: keys are destroyed");
}

static void other_services_are_other_limits(void **state)
{
	uint64_t s = 6;
	struct bwl_policy *a = any_policy(&s), *b;
	struct bwl_pol_service first;

	(void)state;
	assert_int_equal(a->nservices, 2);
	granted(a, &s)->class_[3] = (struct bwl_lim){ .present = true, .rate_bps = 1000000 };
	first = a->services[0];
	b = clone(a);
	assert_false(widens(a, b));
	b->services[0] = b->services[1]; /* in another order they say the same */
	b->services[1] = first;
	assert_false(widens(a, b));
	b->services[1].port ^= 1;
	assert_true(widens(a, b));
	b->services[1] = first;
	b->services[1].class_ = (uint8_t)((first.class_ + 1) % _BWL_CLASS_MAX);
	assert_true(widens(a, b));
	b->nservices = 0;
	assert_true(widens(a, b));
	assert_true(widens(b, a));
	for (size_t i = 0; i < b->npeers; i++)
		b->peers[i].revoked = true;
	assert_false(widens(a, b)); /* nothing is open */
	for (size_t i = 0; i < b->npeers; i++)
		b->peers[i].revoked = false;
	for (size_t i = 0; i < a->npeers; i++)
		memset(a->peers[i].class_, 0, sizeof(a->peers[i].class_));
	for (size_t i = 0; i < b->npeers; i++)
		memset(b->peers[i].class_, 0, sizeof(b->peers[i].class_));
	assert_false(widens(a, b)); /* no class has a limit */
	bwl_policy_free(a);
	bwl_policy_free(b);
}

/* All are counted, and the first are kept. */
static void of_very_many_the_first_are_kept(void **state)
{
	static const char *closed[BWL_WIDENINGS_KEPT + 3];
	struct bwl_policy *p = yaml("peers:\n" SMALL);
	struct bwl_holding is = bwl_holding_of(p), to = is;
	struct bwl_widened w;

	(void)state;
	for (size_t i = 0; i < N(closed); i++)
		closed[i] = i ? "another" : "first";
	is.closed = closed;
	is.nclosed = N(closed);
	assert_true(bwl_widens(&is, &to, &w));
	assert_int_equal(w.n, N(closed));
	assert_string_equal(w.item[0].where, "first");
	assert_string_equal(w.item[BWL_WIDENINGS_KEPT - 1].where, "another");
	bwl_widened_free(&w);
	bwl_policy_free(p);
}

/* A policy that is not whole: no way leads from it to any peer. */
static void without_an_uplink_there_is_no_way(void **state)
{
	uint64_t s = 7;
	struct bwl_policy *a = any_policy(&s), *b = clone(a);

	(void)state;
	b->nuplinks = 0;
	for (size_t i = 0; i < b->npeers; i++) {
		*b->peers[i].uplink = '\0';
		b->peers[i].path = BWL_PATH_CLEAR;
	}
	assert_false(widens(b, b));
	assert_true(widens(b, a));
	bwl_policy_free(a);
	bwl_policy_free(b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(addresses_belong_to_whom_the_longest_prefix_names),
		cmocka_unit_test(a_grant_that_ends_sooner_opens_nothing),
		cmocka_unit_test(what_stands_beside_a_policy_is_compared_too),
		cmocka_unit_test(it_says_where_and_what_in_words),
		cmocka_unit_test(that_keys_are_destroyed_is_for_two_people),
		cmocka_unit_test(other_services_are_other_limits),
		cmocka_unit_test(of_very_many_the_first_are_kept),
		cmocka_unit_test(without_an_uplink_there_is_no_way),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
