// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Promises 3 and 8: accept can have a volume for what arrives from a peer. It holds to the byte,
 * and no change of the policy gives any of it back.
 */
#include <bwl/tables.h>
#include "prog.h"

#define HEAD PORTS "heartbeat: none\n"
#define PEER(name, n)                                                                              \
	"  - { name: " name ", addresses: [10.1.0." #n ", 'fd00:1::" #n "'], path: clear,"         \
	" via: 192.0.2.1, via6: 'fe80::1', grant: { rate: 1gbit, volume: 640b }, "
/* The volume of accept is its only one. */
#define BARE(name, address)                                                                        \
	"  - { name: " name ", addresses: [" address "], path: clear, via: 192.0.2.1,"             \
	" grant: { rate: 1gbit }, "
#define ACCEPT(volume) "accept: { rate: 1gbit, volume: " volume " } }\n"
#define FROM(n) "eth ip4 src=10.1.0." #n " dst=10.0.7.2 udp" /* charged 64 bytes */

/* The number of frames that arrive before the first refusal, whose reason must be `then`. */
static unsigned arrives(const char *spec, const char *then)
{
	const char *name;
	unsigned n = 0;

	while (name = uplink(spec), !strcmp(name, "pass-accept") && n < 100000)
		n++;
	if (strcmp(name, then))
		fail_msg("'%s': %s after %u, expected %s", spec, name, n, then);
	return n;
}

/* The volume's entry in bwl_state_v1; 0: none. */
static uint32_t account_of(const char *peer)
{
	const struct bwl_schema *s = &rig->pins->schema;
	uint32_t id = id_of(peer), i;

	for (i = 0; i < s->max_extras; i++)
		if (rig->pins->extra[i].kind == BWL_X_ACCEPT && rig->pins->extra[i].peer == id)
			return BWL_EXTRA_STATE(s->max_peers, i);
	return 0;
}

static void change(const char *peer, const struct bwl_change *c)
{
	struct bwl_err e = { 0 };

	if (bwl_peer_change(rig->pins, peer, c, &e))
		fail_msg("%s", e.text);
	rig_advance(RIG_SECOND);
}

static void what_arrives_ends_with_its_volume_to_the_byte(void **state)
{
	(void)state;
	apply(HEAD "peers:\n" PEER("one", 1) ACCEPT("6463b") PEER("two", 2) "contained: true }\n");
	rig_advance(RIG_SECOND);
	assert_int_equal(arrives(FROM(1), "accept-volume"), 100);
	assert_int_equal(rig->pins->state[account_of("one")].used_bytes, 6400);
	/* 63 bytes are left, less than the minimum charge of a frame of either family */
	assert_string_equal(uplink("eth ip6 src=fd00:1::1 dst=fd00:7::2 udp"), "accept-volume");
	rig_advance(366 * 86400 * RIG_SECOND);
	assert_string_equal(uplink(FROM(1)), "accept-volume");
	/*
	 * The other direction has a volume of its own; the other peers' packets arrive without one.
	 */
	assert_string_equal(host("eth " P1 "udp"), "pass");
	for (unsigned i = 0; i < 200; i++)
		assert_string_equal(uplink(FROM(2)), "pass-accept");
	assert_int_equal(account_of("two"), 0);
}

static void a_window_turns_slice_by_slice(void **state)
{
	unsigned i, n = 0;

	(void)state;
	apply(HEAD "peers:\n" PEER("one", 1) ACCEPT("6400b per 11s"));
	rig_set_clock(1000000 * RIG_SECOND);
	assert_int_equal(arrives(FROM(1), "accept-volume"), 100);
	rig_advance(11 * RIG_SECOND);
	assert_int_equal(arrives(FROM(1), "accept-volume"), 0);
	rig_advance(RIG_SECOND); /* the twelfth slice */
	assert_int_equal(arrives(FROM(1), "accept-volume"), 100);
	rig_advance(12 * RIG_SECOND);
	/* One frame per slice, eleven times: their room comes back one after the other. */
	for (i = 0; i < 11; i++, rig_advance(RIG_SECOND))
		assert_string_equal(uplink(FROM(1)), "pass-accept");
	assert_int_equal(arrives(FROM(1), "accept-volume"), 89);
	for (i = 0; i < 11; i++) {
		rig_advance(RIG_SECOND);
		n += arrives(FROM(1), "accept-volume");
		assert_int_equal(n, i + 1);
	}
}

/* A refusal by the volume costs no rate, and a refusal by the rate costs no volume. */
static void each_of_rate_and_volume_refuses_for_itself(void **state)
{
	uint32_t rate, volume;
	uint64_t was;

	(void)state;
	apply(HEAD
	      "peers:\n" PEER("one", 1) "accept: { rate: 8mbit, burst: 3000b, volume: 3200b } }\n");
	rig_advance(RIG_SECOND);
	rate = bwl_accept_state(id_of("one"));
	volume = account_of("one");
	assert_int_equal(arrives(FROM(1), "accept-rate"),
			 46); /* 3000 less a byte lost to rounding */
	assert_int_equal(rig->pins->state[volume].used_bytes, 46 * 64);
	rig_advance(RIG_SECOND);
	assert_int_equal(arrives(FROM(1), "accept-volume"), 4);
	was = rig->pins->state[rate].finish_bytes;
	for (unsigned i = 0; i < 100; i++)
		assert_string_equal(uplink(FROM(1)), "accept-volume");
	assert_int_equal(rig->pins->state[rate].finish_bytes, was);
	assert_int_equal(rig->pins->state[volume].used_bytes, 50 * 64);
}

static void nothing_an_operator_does_gives_it_back(void **state)
{
	static const char *const window[] = { "", " per 1h" };
	struct bwl_change authorise = { .set = BWL_SET_AUTHORISE };
	struct bwl_change rate = { .set = BWL_SET_RATE, .lim = { .rate_bps = 2000000000 } };
	struct bwl_change accept = { .set = BWL_SET_ACCEPT,
				     .accept = { .present = true, .rate_bps = 3000000000 } };
	struct bwl_err e = { 0 };

	(void)state;
	for (int w = 0; w < 2; w++) {
		const char *spec = w ? FROM(2) : FROM(1);
		char text[4][500];

		for (int i = 0; i < 2; i++)
			snprintf(
				text[i], sizeof(text[i]),
				HEAD
				"peers:\n"
				"  - { name: %s%d, addresses: [10.1.0.%d], path: clear, via: 192.0.2.1, grant: { rate: 1gbit }, accept: { rate: 1gbit, volume: 6400b%s } }\n",
				i ? "b" : "a", w, w + 1, window[w]);
		snprintf(text[2], sizeof(text[2]), HEAD "peers: []\n");
		snprintf(
			text[3], sizeof(text[3]),
			HEAD
			"peers:\n"
			"  - { name: a%d, addresses: [10.1.0.%d], path: clear, via: 192.0.2.1, grant: { rate: 1gbit }, accept: none }\n",
			w, w + 1);
		rig_policy(rig, text[0]);
		rig_advance(RIG_SECOND);
		assert_int_equal(arrives(spec, "accept-volume"), 100);
		/* renamed, removed, without a volume for a while, back, … */
		for (int i = 0; i < 16; i++) {
			rig_policy(rig, text[(i * 5 / 2) % 4]);
			rig_advance(RIG_SECOND);
			assert_string_not_equal(uplink(spec), "pass-accept");
		}
		rig_policy(rig, text[0]);
		rig_advance(RIG_SECOND);
		assert_int_equal(bwl_revoke(rig->pins, w ? "a1" : "a0", &e), 0);
		change(w ? "a1" : "a0", &authorise);
		change(w ? "a1" : "a0", &rate);
		change(w ? "a1" : "a0", &accept);
		assert_string_equal(uplink(spec), "accept-volume");
	}
}

/* What passed before there was a volume does not count; after that it is never forgotten. */
static void a_larger_volume_is_more_by_just_that(void **state)
{
	static const char *const volume[] = { "6400b", "7040b", "6400b", "640b", "7680b" };
	static const unsigned more[] = { 100, 10, 0, 0, 10 };

	(void)state;
	for (size_t i = 0; i < 5; i++) {
		apply(HEAD "peers:\n" PEER("one", 1) "accept: { rate: 1gbit, volume: %s } }\n",
		      volume[i]);
		rig_advance(RIG_SECOND);
		assert_int_equal(arrives(FROM(1), "accept-volume"), more[i]);
	}
	apply(HEAD "peers:\n" PEER("one", 1) "contained: true }\n");
	rig_advance(RIG_SECOND);
	assert_string_equal(uplink(FROM(1)), "pass-accept");
	apply(HEAD "peers:\n" PEER("one", 1) ACCEPT("7680b"));
	rig_advance(RIG_SECOND);
	assert_int_equal(arrives(FROM(1), "accept-volume"), 0);
	apply(HEAD "peers:\n" PEER("one", 1) ACCEPT("7680b per 11s"));
	rig_advance(RIG_SECOND);
	assert_int_equal(arrives(FROM(1), "accept-volume"), 0);
	rig_advance(12 * RIG_SECOND);
	assert_int_equal(arrives(FROM(1), "accept-volume"), 120);
}

/*
 * Two peers become one: a peer with both prefixes has spent what the one that spent more had spent.
 */
static void who_takes_a_peers_place_takes_its_account(void **state)
{
	(void)state;
	apply(HEAD "peers:\n" BARE("one", "10.1.0.1") ACCEPT("6400b") BARE("two", "10.1.0.2")
		      ACCEPT("6400b"));
	rig_advance(RIG_SECOND);
	for (unsigned i = 0; i < 60; i++)
		assert_string_equal(uplink(FROM(1)), "pass-accept");
	for (unsigned i = 0; i < 90; i++)
		assert_string_equal(uplink(FROM(2)), "pass-accept");
	apply(HEAD "peers:\n" BARE("both", "10.1.0.0/24") ACCEPT("6400b"));
	rig_advance(RIG_SECOND);
	assert_int_equal(arrives(FROM(1), "accept-volume"), 10);
}

/* It reads back as in the file, so another edit keeps it. */
static void what_is_in_force_is_what_the_file_says(void **state)
{
	struct bwl_change rate = { .set = BWL_SET_RATE, .lim = { .rate_bps = 2000000000 } };
	struct bwl_policy *pol = NULL;
	const struct bwl_pol_peer *q;
	struct bwl_err e = { 0 };
	uint8_t digest[32];
	struct bwl_gen g;

	(void)state;
	apply(HEAD "peers:\n" PEER(
		"one",
		1) "accept: { rate: 10mbit, volume: 1gb per 1d }, floor: { rate: 1mbit }, classes: { ssh: { rate: 1mbit } } }\n"
		   "  - { name: two, addresses: [10.1.0.2], path: clear, via: 192.0.2.1, grant: { volume: 1gb }, accept: { volume: 2gb } }\n" PEER(
			   "same",
			   3) "accept: { rate: 1001mbit, burst: 31906875b, volume: 2gb } }\n");
	assert_int_equal(bwl_policy_read(rig->pins, &pol, &e), 0);
	q = bwl_policy_peer(pol, "one");
	assert_int_equal(q->accept.volume, 1ULL << 30);
	assert_int_equal(q->accept.window_ns, 86400 * RIG_SECOND);
	assert_true(q->class_[BWL_C_SSH].present && q->floor.rate_bps == 1000000);
	assert_true(bwl_policy_peer(pol, "same")->accept.has_volume);
	assert_int_equal(bwl_policy_check(pol, "in force", &e), 0);
	assert_int_equal(bwl_policy_digest(pol, digest), 0);
	bwl_policy_free(pol);
	assert_int_equal(bwl_gen_open(rig->pins, bwl_active_slot(rig->pins), &g, NULL), 0);
	assert_memory_equal(digest, g.base->digest, 32);
	bwl_gen_close(&g);
	/* A grant that gets a rate gives it to accept, too. */
	change("two", &rate);
	assert_int_equal(bwl_policy_read(rig->pins, &pol, &e), 0);
	q = bwl_policy_peer(pol, "two");
	assert_int_equal(q->accept.rate_bps, 2002000000);
	assert_int_equal(q->accept.volume, 2ULL << 30);
	assert_int_equal(bwl_policy_check(pol, "in force", &e), 0);
	bwl_policy_free(pol);
}

static void it_is_spent_as_far_as_the_ledger_says(void **state)
{
	char key[BWL_LIMIT_KEY];
	uint32_t s;

	(void)state;
	apply(HEAD "ledger: required\npeers:\n" PEER("one", 1) ACCEPT("6400b"));
	rig_advance(RIG_SECOND);
	assert_string_equal(uplink(FROM(1)), "ledger");
	s = account_of("one");
	assert_string_equal(bwl_limit_key(rig->pins, s, key), "accept one");
	rig->pins->mark[s].spendable_bytes = 640;
	assert_int_equal(arrives(FROM(1), "ledger"), 10);
	rig->pins->mark[s].spendable_bytes = 1 << 30;
	assert_int_equal(arrives(FROM(1), "accept-volume"), 90);
}

static int setup_spent(void **state)
{
	(void)state;
	rig = rig_open(&(struct rig_opts){ .old_volume = true });
	runs = 0;
	return 0;
}

static void where_nothing_is_known_of_its_past_it_starts_spent(void **state)
{
	(void)state;
	apply(HEAD "peers:\n" PEER("one", 1) ACCEPT("6400b") PEER("two", 2)
		      ACCEPT("6400b per 11s"));
	rig_advance(RIG_SECOND);
	assert_string_equal(uplink(FROM(1)), "accept-volume");
	assert_string_equal(uplink(FROM(2)), "accept-volume");
	rig_advance(12 * RIG_SECOND);
	assert_string_equal(uplink(FROM(1)), "accept-volume");
	assert_int_equal(arrives(FROM(2), "accept-volume"), 100);
}

/* A removed peer keeps its entry only while its account is not empty. */
static void what_was_never_spent_is_forgotten(void **state)
{
	uint32_t s;

	(void)state;
	apply(HEAD "peers:\n" PEER("one", 1) ACCEPT("6400b"));
	s = account_of("one");
	apply(HEAD "peers: []\n");
	apply(HEAD "peers: []\n");
	assert_int_equal(rig->pins->extra[(s - 2 * rig->pins->schema.max_peers) / 2].kind,
			 BWL_X_FREE);
	assert_string_equal(rig->pins->name[1].name, "");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		RIG_TEST(what_arrives_ends_with_its_volume_to_the_byte),
		RIG_TEST(a_window_turns_slice_by_slice),
		RIG_TEST(each_of_rate_and_volume_refuses_for_itself),
		RIG_TEST(nothing_an_operator_does_gives_it_back),
		RIG_TEST(a_larger_volume_is_more_by_just_that),
		RIG_TEST(who_takes_a_peers_place_takes_its_account),
		RIG_TEST(what_is_in_force_is_what_the_file_says),
		RIG_TEST(it_is_spent_as_far_as_the_ledger_says),
		RIG_TEST(what_was_never_spent_is_forgotten),
		cmocka_unit_test_setup_teardown(where_nothing_is_known_of_its_past_it_starts_spent,
						setup_spent, rig_teardown),
	};

	return cmocka_run_group_tests_name("accept", tests, NULL, NULL);
}
