// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Promises 3 and 9 across renames of every kind: whatever takes over from a peer, a zone or a host
 * port takes over what is spent and what is revoked; if nothing is known, it starts spent.
 */
#define RIG_HOST_ONLY
#include "prog.h"

#define HEAD PORTS "heartbeat: none\n"
#define PEER(name, addresses)                                                                      \
	"  - { name: " name ", addresses: [" addresses "], path: clear,"                           \
	" via: 192.0.2.1, via6: 'fe80::1', "
#define TO(addr) "eth ip4 src=10.0.7.2 dst=" addr " udp"
#define TO6(addr) "eth ip6 src=fd00:7::2 dst=" addr " udp"
#define AWAY HEAD "peers:\n" PEER("far", "10.9.0.9") "grant: { rate: 1mbit } }\n"

static unsigned drain(const char *spec)
{
	unsigned n = 0;

	while (!strncmp(host(spec), "pass", 4) && n < 1000)
		n++;
	return n;
}

/* Spends 6400 bytes of "one"; then nothing is left for any of its heirs. */
static void spend_one(const char *grant)
{
	rig_policy(rig, AWAY);
	rig_advance(100000 * RIG_SECOND);
	apply(HEAD
	      "peers:\n" PEER("one", "10.1.0.0/24, 'fd00:1::/64'") "grant: { rate: 1gbit, %s } }\n",
	      grant);
	rig_advance(RIG_SECOND);
	assert_int_equal(drain(TO("10.1.0.1")), 100);
}

static void who_covers_what_another_covered_takes_what_it_spent(void **state)
{
	static const char *const grant[] = { "volume: 6400b", "volume: 6400b per 1h" };
	static const char *const next[] = {
		PEER("low", "10.1.0.0/25") "grant: { rate: 1gbit, volume: 6400b } }\n" PEER(
			"high",
			"10.1.0.128/25, 'fd00:1::1'") "grant: { rate: 1gbit, volume: 6400b per 1h } }\n",
		PEER("wide",
		     "10.1.0.0/23, 'fd00:1::/48'") "grant: { rate: 1gbit, volume: 6400b } }\n",
		PEER("exact",
		     "10.1.0.0/24, 'fd00:1::/64'") "grant: { rate: 1gbit, volume: 6400b per 2h } }\n",
		PEER("one", "10.1.0.0/25, 10.8.0.1") "grant: { rate: 1gbit, volume: 6400b } }\n" PEER(
			"rest",
			"10.1.0.128/25, 'fd00:1::/64'") "grant: { rate: 1gbit, volume: 6400b } }\n",
		PEER("host", "10.1.0.1, 10.1.0.200") "grant: { rate: 1gbit, volume: 6400b } }\n" PEER(
			"host6", "'fd00:1::1'") "grant: { rate: 1gbit, volume: 6400b } }\n",
	};
	size_t i, j, k;

	(void)state;
	for (i = 0; i < 5; i++) {
		for (j = 0; j < 4; j++) { /* both kinds, at once or after an absence */
			rig_teardown(NULL);
			rig_setup(NULL);
			spend_one(grant[j / 2]);
			if (j % 2)
				rig_policy(rig, AWAY);
			for (k = 0; k < 2; k++) { /* applied again it is the same */
				apply(HEAD "peers:\n%s", next[i]);
				rig_advance(RIG_SECOND);
				assert_int_equal(drain(TO("10.1.0.1")), 0);
				assert_int_equal(drain(TO("10.1.0.200")), 0);
				assert_int_equal(drain(TO6("fd00:1::1")), 0);
			}
		}
	}
}

static void who_takes_in_a_peer_that_left_takes_what_it_spent(void **state)
{
	(void)state;
	apply(HEAD
	      "peers:\n" PEER("a", "10.1.0.0/25") "grant: { rate: 1gbit, volume: 6400b } }\n" PEER(
		      "b", "10.1.0.128/25") "grant: { rate: 1gbit, volume: 6400b } }\n");
	rig_advance(RIG_SECOND);
	assert_int_equal(drain(TO("10.1.0.200")), 100);
	apply(HEAD "peers:\n" PEER("a", "10.1.0.0/24") "grant: { rate: 1gbit, volume: 6400b } }\n");
	rig_advance(RIG_SECOND);
	assert_int_equal(drain(TO("10.1.0.200")), 0);
	assert_int_equal(drain(TO("10.1.0.1")), 0);
	/* An account that nobody took over belongs to nobody. */
	apply(HEAD "peers:\n" PEER("c", "10.1.1.0/24") "grant: { rate: 1gbit, volume: 6400b } }\n");
	rig_advance(RIG_SECOND);
	assert_int_equal(drain(TO("10.1.1.1")), 100);
}

/* Its own account has kept its id, so it is not new; but the prefix was another's. */
static void a_name_that_comes_back_takes_what_was_spent_where_it_comes_to(void **state)
{
#define GRANT "grant: { rate: 1gbit, volume: 6400b } }\n"
	(void)state;
	rig->pins->ctl->fresh_volume = 1;
	apply(HEAD "peers:\n" PEER("one", "10.1.0.0/24") GRANT PEER("two", "10.2.0.1") GRANT);
	rig_advance(RIG_SECOND);
	assert_string_equal(host(TO("10.2.0.1")), "pass");
	apply(HEAD "peers:\n" PEER("one", "10.1.0.0/24") GRANT);
	rig_advance(RIG_SECOND);
	assert_int_equal(drain(TO("10.1.0.200")), 100);
	apply(HEAD "peers:\n" PEER("one", "10.1.0.0/25") GRANT PEER("two", "10.1.0.128/25") GRANT);
	rig_advance(RIG_SECOND);
	assert_string_equal(host(TO("10.1.0.200")), "peer-volume");
	/* Control: where nobody was it still has what it had. */
	apply(HEAD "peers:\n" PEER("one", "10.1.0.0/24") GRANT);
	apply(HEAD "peers:\n" PEER("one", "10.1.0.0/24") GRANT PEER("three", "10.3.0.1") GRANT);
	rig_advance(RIG_SECOND);
	assert_int_equal(drain(TO("10.3.0.1")), 100);
}

/* The longest prefix is used: a peer with a wider one takes nothing from those who stay. */
static void a_wider_prefix_takes_nothing_from_those_who_stay(void **state)
{
	struct bwl_err e = { 0 };

	(void)state;
	apply(HEAD
	      "peers:\n" PEER("a", "10.1.0.0/24") "grant: { rate: 1gbit, volume: 6400b } }\n" PEER(
		      "b", "10.1.1.0/24") "grant: { rate: 1gbit } }\n");
	rig_advance(RIG_SECOND);
	assert_int_equal(drain(TO("10.1.0.1")), 100);
	assert_int_equal(bwl_revoke(rig->pins, "b", &e), 0);
	apply(HEAD "peers:\n" PEER("a", "10.1.0.0/24") "grant: { rate: 1gbit, volume: 6400b } }\n" PEER(
		"b",
		"10.1.1.0/24") "grant: { rate: 1gbit } }\n" PEER("all",
								 "10.0.0.0/9") "grant: { rate: 1gbit, volume: 6400b } }\n");
	rig_advance(RIG_SECOND);
	assert_int_equal(drain(TO("10.2.0.1")), 100);
	assert_string_equal(host(TO("10.1.0.1")), "peer-volume");
	assert_string_equal(host(TO("10.1.1.1")), "revoked");
}

static void classes_and_floors_are_taken_over_too(void **state)
{
#define SUBS                                                                                       \
	"grant: { rate: 1gbit }, classes: { other: { volume: 6400b }, ssh: { rate: 1mbit } } }\n"
	(void)state;
	apply(HEAD "peers:\n" PEER("c", "10.1.0.0/24") SUBS);
	rig_advance(RIG_SECOND);
	assert_int_equal(drain(TO("10.1.0.1")), 100);
	apply(HEAD "peers:\n" PEER("c1", "10.1.0.0/25") SUBS PEER("c2", "10.1.0.128/25") SUBS);
	rig_advance(RIG_SECOND);
	assert_int_equal(drain(TO("10.1.0.1")), 0);
	assert_int_equal(drain(TO("10.1.0.200")), 0);
}

static void who_takes_the_place_of_the_revoked_is_revoked(void **state)
{
	static const char *const next[] = {
		PEER("low", "10.1.0.0/25") "grant: { rate: 1gbit } }\n" PEER(
			"high", "10.1.0.128/25") "grant: { rate: 1gbit } }\n",
		PEER("wide", "10.1.0.0/23") "grant: { rate: 1gbit } }\n",
		PEER("old", "10.1.0.0/25") "grant: { rate: 1gbit } }\n" PEER(
			"off", "10.1.0.128/25") "grant: { rate: 1gbit } }\n",
	};
	struct bwl_change c = { .set = BWL_SET_AUTHORISE };
	struct bwl_publish_report rep;
	struct bwl_err e = { 0 };
	size_t i, j;

	(void)state;
	for (i = 0; i < 3; i++) {
		for (j = 0; j < 4; j++) {
			char *text;

			rig_teardown(NULL);
			rig_setup(NULL);
			apply(HEAD
			      "peers:\n" PEER("old", "10.1.0.0/24") "grant: { rate: 1gbit } }\n");
			assert_int_equal(bwl_revoke(rig->pins, j < 2 ? "old" : NULL, &e), 0);
			if (j % 2)
				rig_policy(rig, AWAY);
			assert_true(asprintf(&text, HEAD "peers:\n%s", next[i]) > 0);
			assert_int_equal(rig_try_policy(rig, text, NULL, &rep, &e), 0);
			assert_true(rep.kept_revoked >= 1);
			rig_policy(rig, AWAY); /* and comes back */
			rig_policy(rig, text);
			free(text);
			rig_advance(RIG_SECOND);
			assert_string_equal(host(TO("10.1.0.1")), "revoked");
			assert_string_equal(host(TO("10.1.0.200")), "revoked");
			assert_int_equal(bwl_peer_change(rig->pins,
							 i == 0   ? "high"
							 : i == 1 ? "wide"
								  : "off",
							 &c, &e),
					 0);
			rig_advance(RIG_SECOND);
			assert_string_equal(host(TO("10.1.0.200")), "pass");
			assert_string_equal(host(TO("10.1.0.1")), i == 1 ? "pass" : "revoked");
		}
	}
}

/* Nobody has closed it again: not by leaving it out, for good or on trial, nor by another name. */
static void what_grant_has_lifted_does_not_come_back(void **state)
{
	const struct bwl_change c = { .set = BWL_SET_AUTHORISE };
	const char *opens[] = { "lifted" },
		   *lifted = HEAD
		   "peers:\n" PEER("lifted", "10.1.0.1") "grant: { rate: 1gbit } }\n";
	const struct bwl_publish_opts glass = { .confirm_ns = 10 * RIG_SECOND,
						.opens = opens,
						.nopens = 1 };
	struct bwl_err e = { 0 };
	unsigned i;

	(void)state;
	for (i = 0; i < 4; i++) {
		rig_teardown(NULL);
		rig_setup(NULL);
		rig->pins->ctl->fresh_volume = 1;
		apply(HEAD "peers:\n" PEER("lifted", "10.1.0.1") "grant: { rate: 1gbit%s } }\n",
		      i == 2 ? ", volume: 1gb" : "");
		rig_advance(RIG_SECOND);
		assert_int_equal(bwl_revoke(rig->pins, "lifted", &e), 0);
		if (i < 3) {
			assert_int_equal(bwl_peer_change(rig->pins, "lifted", &c, &e), 0);
			assert_string_equal(host(TO("10.1.0.1")), "pass");
		}
		if (i == 1) {
			assert_int_equal(rig_try_policy(rig, AWAY, &short_trial, NULL, &e), 0);
			assert_int_equal(bwl_confirm(rig->pins, &e), 0);
		} else {
			rig_policy(
				rig,
				i == 2 ? HEAD
					"peers:\n" PEER(
						"b",
						"10.1.0.1") "grant: { rate: 1gbit, volume: 1gb } }\n"
				       : AWAY);
		}
		/* What only an emergency opens, and only for its time, is not lifted. */
		if (i == 3) {
			assert_int_equal(rig_try_policy(rig, lifted, &glass, NULL, &e), 0);
			rig_advance(RIG_SECOND);
			assert_string_equal(host(TO("10.1.0.1")), "pass");
			assert_int_equal(bwl_rollback(rig->pins, &e), 0);
			rig_policy(rig, AWAY);
			/* neither by its prefix nor by its name */
			apply(HEAD
			      "peers:\n" PEER("lifted", "10.1.0.2") "grant: { rate: 1gbit } }\n");
			rig_advance(RIG_SECOND);
			assert_string_equal(host(TO("10.1.0.2")), "revoked");
			rig_policy(rig, AWAY);
		}
		rig_policy(rig, lifted);
		rig_advance(RIG_SECOND);
		assert_string_equal(host(TO("10.1.0.1")), i < 3 ? "pass" : "revoked");
		assert_int_equal(bwl_revoke(rig->pins, "lifted", &e), 0);
		rig_policy(rig, AWAY);
		rig_policy(rig, lifted);
		rig_advance(RIG_SECOND);
		assert_string_equal(host(TO("10.1.0.1")), "revoked");
	}
}

#define ALPHA(addresses) PEER("alpha", addresses) "grant: { rate: 1gbit } }\n"
#define BETA(addresses) PEER("beta", addresses) "grant: { rate: 1gbit } }\n"
#define ONE "10.1.0.0/24, 'fd00:1::/64'"

/* Tests what is sent to the prefixes that alpha had when it was revoked. */
static void closed_until_granted(const char *name)
{
	struct bwl_change c = { .set = BWL_SET_AUTHORISE };
	struct bwl_err e = { 0 };

	rig_advance(RIG_SECOND);
	assert_string_equal(host(TO("10.1.0.1")), "revoked");
	assert_string_equal(host(TO6("fd00:1::1")), "revoked");
	assert_int_equal(bwl_peer_change(rig->pins, name, &c, &e), 0);
	rig_advance(RIG_SECOND);
	assert_string_equal(host(TO("10.1.0.1")), "pass");
	assert_string_equal(host(TO6("fd00:1::1")), "pass");
}

static void a_revoked_prefix_stays_revoked_in_however_many_steps_it_changes_hands(void **state)
{
	static const char *const ways[][4] = {
		/*
		 * alpha moves away, then a new peer comes; at once; or after a policy without
		 * either
		 */
		{ HEAD "peers:\n" ALPHA("10.5.0.0/24"),
		  HEAD "peers:\n" ALPHA("10.5.0.0/24") BETA(ONE) },
		{ HEAD "peers:\n" ALPHA("10.5.0.0/24") BETA(ONE) },
		{ AWAY, HEAD "peers:\n" ALPHA("10.5.0.0/24"),
		  HEAD "peers:\n" ALPHA("10.5.0.0/24") BETA(ONE) },
		{ HEAD "peers:\n" ALPHA("10.5.0.0/24"), AWAY, HEAD "peers:\n" BETA(ONE) },
		/* wider and narrower than the closed prefix */
		{ HEAD "peers:\n" ALPHA("10.5.0.0/24"),
		  HEAD "peers:\n" BETA("10.1.0.0/16, 'fd00:1::/48'") },
		{ HEAD "peers:\n" ALPHA("10.5.0.0/24"),
		  HEAD "peers:\n" BETA("10.1.0.1, 'fd00:1::/120'") },
		/*
		 * beta exists already, and takes the prefix from alpha, which stays; or a part of
		 * it
		 */
		{ HEAD "peers:\n" ALPHA(ONE) BETA("10.6.0.0/24"),
		  HEAD "peers:\n" ALPHA("10.5.0.0/24") BETA("10.6.0.0/24, " ONE) },
		{ HEAD "peers:\n" ALPHA(ONE) BETA("10.6.0.0/24"),
		  HEAD "peers:\n" ALPHA(ONE) BETA("10.6.0.0/24, 10.1.0.0/25, 'fd00:1::/80'") },
	};
	struct bwl_err e = { 0 };
	size_t i, j;

	(void)state;
	for (i = 0; i < 2 * sizeof(ways) / sizeof(ways[0]); i++) {
		rig_teardown(NULL);
		rig_setup(NULL);
		apply(HEAD "peers:\n" ALPHA(ONE) BETA("10.6.0.0/24"));
		if (i / 2 < 6) /* only alpha was there */
			apply(HEAD "peers:\n" ALPHA(ONE));
		assert_int_equal(bwl_revoke(rig->pins, "alpha", &e), 0);
		if (i % 2 && i / 2 < 6)
			assert_int_equal(bwl_revoke(rig->pins, NULL, &e), 0);
		for (j = 0; j < 4 && ways[i / 2][j]; j++)
			rig_policy(rig, ways[i / 2][j]);
		closed_until_granted("beta");
	}
}

static void a_revoked_name_stays_revoked_when_another_took_its_prefix(void **state)
{
	struct bwl_err e = { 0 };

	(void)state;
	apply(HEAD "peers:\n" ALPHA("10.5.0.0/24"));
	assert_int_equal(bwl_revoke(rig->pins, "alpha", &e), 0);
	apply(HEAD "peers:\n" BETA("10.5.0.0/24"));
	apply(HEAD "peers:\n" BETA("10.5.0.0/24") ALPHA(ONE));
	closed_until_granted("alpha");
}

/* A peer that had a part of a wide prefix before another one's was revoked keeps it. */
static void what_was_open_within_or_around_a_revoked_prefix_stays_open(void **state)
{
	struct bwl_err e = { 0 };

	(void)state;
	apply(HEAD "peers:\n" ALPHA("0.0.0.0/0, '::/0'") BETA(ONE));
	assert_int_equal(bwl_revoke(rig->pins, "alpha", &e), 0);
	apply(HEAD "peers:\n" ALPHA("10.5.0.0/24") BETA(ONE)); /* no peer has the closed prefix */
	apply(HEAD "peers:\n" ALPHA("10.5.0.0/24") BETA("10.1.0.0/25, 'fd00:1::/64'"));
	rig_advance(RIG_SECOND);
	assert_string_equal(host(TO("10.1.0.1")), "pass");
	assert_string_equal(host(TO6("fd00:1::1")), "pass");
	rig_teardown(NULL);
	rig_setup(NULL);
	apply(HEAD "peers:\n" ALPHA("10.1.0.0/25") BETA(ONE));
	assert_int_equal(bwl_revoke(rig->pins, "alpha", &e), 0);
	apply(HEAD "peers:\n" ALPHA("10.1.0.0/25") BETA(ONE ", 10.6.0.0/24"));
	rig_advance(RIG_SECOND);
	assert_string_equal(host(TO("10.1.0.200")), "pass");
	assert_string_equal(host(TO6("fd00:1::1")), "pass");
}

static void a_zone_of_another_name_takes_what_was_spent(void **state)
{
#define ZONES(z) HEAD "zones: { " z " }\npeers:\n"
#define M1(n, z) PEER(n, "10.2.0.1") "zone: " z ", grant: { rate: 1gbit } }\n"
#define M2(n, z) PEER(n, "10.2.0.2") "zone: " z ", grant: { rate: 1gbit } }\n"
	static const char *const next[] = {
		ZONES("y: { volume: 6400b }") M1("m1", "y") M2("m2", "y"),
		ZONES("y: { volume: 6400b per 1h }") M1("n1", "y") M2("n2", "y"),
		ZONES("z: { volume: 6400b }, y: { volume: 6400b }") M1("m1", "z") M2("m2", "y"),
		ZONES("y: { volume: 6400b }, x: { volume: 6400b }") M1("m1", "y") M2("m2", "x"),
		ZONES("kept: { volume: 6400b }") M1("m1", "kept") M2("m2", "kept"),
	};
	size_t i;

	(void)state;
	for (i = 0; i < 5; i++) {
		rig_teardown(NULL);
		rig_setup(NULL);
		apply(ZONES("z: { volume: 6400b }, kept: { volume: 6400b }") M1("m1", "z")
			      M2("m2", "z"));
		rig_advance(RIG_SECOND);
		assert_int_equal(drain(TO("10.2.0.1")), 100);
		apply("%s", next[i]);
		rig_advance(RIG_SECOND);
		assert_string_equal(host(TO("10.2.0.1")), "zone-volume");
		assert_string_equal(host(TO("10.2.0.2")), "zone-volume");
	}
	/* A zone whose members were never in it takes over nothing. */
	apply(ZONES("new: { volume: 6400b }")
		      PEER("n", "10.3.0.1") "zone: new, grant: { rate: 1gbit } }\n");
	rig_advance(RIG_SECOND);
	assert_int_equal(drain(TO("10.3.0.1")), 100);
}

/* Nor do those who stay, and whose prefixes are around or within each other. */
static void a_new_zone_takes_what_was_spent_where_its_members_come_to(void **state)
{
#define WIDE(z) PEER("wide", "10.4.0.0/16, 'fd00:4::/32'") "zone: " z ", grant: { rate: 1gbit } }\n"
#define OLD(volume) "old: { " volume " }, kept: { volume: 6400b }"
#define BOTH ZONES("new: { volume: 6400b }, kept: { volume: 6400b }")
#define HERE "10.4.0.1, 'fd00:4::1'"
	static const char *const next[] = {
		/* by one who stays, from one who stays, and from one who leaves */
		BOTH PEER("far", "10.2.0.9, " HERE) "zone: new, grant: { rate: 1gbit } }\n" M1(
			"m1", "kept"),
		BOTH PEER("far", "10.2.0.9, " HERE) "zone: new, grant: { rate: 1gbit } }\n",
	};

	(void)state;
	for (unsigned i = 0; i < 4; i++) {
		rig_teardown(NULL);
		rig_setup(NULL);
		apply(ZONES(OLD("volume: 6400b"))
			      PEER("m1", "10.2.0.1, " HERE) "zone: old, grant: { rate: 1gbit } }\n" PEER(
				      "far", "10.2.0.9") "zone: kept, grant: { rate: 1gbit } }\n");
		rig_advance(RIG_SECOND);
		assert_int_equal(drain(TO("10.4.0.1")), 100);
		if (i / 2) /* its volume is taken out in between */
			apply(ZONES(OLD("rate: 1gbit"))
				      PEER("m1", "10.2.0.1, " HERE) "zone: old, grant: { rate: 1gbit } }\n" PEER(
					      "far",
					      "10.2.0.9") "zone: kept, grant: { rate: 1gbit } }\n");
		apply("%s", next[i % 2]);
		rig_advance(RIG_SECOND);
		assert_string_equal(host(TO("10.4.0.1")), "zone-volume");
		assert_string_equal(host(TO6("fd00:4::1")), "zone-volume");
	}
	/* Control: who stays where he was brings only what is his. */
	for (unsigned i = 0; i < 2; i++) {
		rig_teardown(NULL);
		rig_setup(NULL);
		apply(ZONES(OLD("volume: 6400b")) WIDE("old")
			      PEER("m1", HERE) "zone: kept, grant: { rate: 1gbit } }\n");
		rig_advance(RIG_SECOND);
		assert_int_equal(drain(i ? TO("10.4.0.1") : TO("10.4.0.2")), 100);
		apply(ZONES("new: { volume: 6400b }, old: { volume: 6400b }") "%s" PEER(
			      "m1", HERE) "zone: %s, grant: { rate: 1gbit } }\n",
		      i ? WIDE("new") : WIDE("old"), i ? "old" : "new");
		rig_advance(RIG_SECOND);
		assert_int_equal(drain(i ? TO("10.4.0.2") : TO("10.4.0.1")), 100);
	}
}

static void a_host_port_of_another_name_takes_what_was_spent(void **state)
{
#define ONE_PORT(dev)                                                                              \
	"version: 1\nnode: rig\nuplinks: [p0]\nheartbeat: none\nhost_ports:\n"                     \
	"  - { dev: " dev ", sources: [10.0.7.0/24], limit: { volume: 6400b } }\npeers:\n" PEER(   \
		"any", "10.1.0.1") "grant: { rate: 1gbit } }\n"
	(void)state;
	apply(ONE_PORT("h0"));
	rig_advance(RIG_SECOND);
	assert_int_equal(drain(TO("10.1.0.1")), 100);
	apply(ONE_PORT("h1"));
	rig_advance(RIG_SECOND);
	assert_string_equal(from(RIG_H1, TO("10.1.0.1")), "port-volume");
}

static int setup_unknown(void **state)
{
	(void)state;
	rig = rig_open(&(struct rig_opts){ .host_only = true, .old_volume = true });
	runs = 0;
	return 0;
}

/* clang-format off */
#define LATER \
	PEER("total", "10.1.0.1") \
	"grant: { rate: 1gbit, volume: 6400b } }\n" PEER("window", "10.1.0.2") "grant: { rate: 1gbit, volume: 6400b per 11s } }\n" PEER( \
		"class", \
		"10.1.0.3") "grant: { rate: 1gbit }, classes: { other: { volume: 6400b } } }\n" PEER("zone", \
												     "10.1.0.4") "grant: { rate: 1gbit }, zone: z }\n"
/* clang-format on */

static void a_volume_that_comes_later_starts_spent_as_well(void **state)
{
	struct bwl_change more = { .set = BWL_ADD_VOLUME, .lim = { .volume = 640 } };
	struct bwl_change said = { .set = BWL_SET_VOLUME | BWL_SET_AUTHORISE,
				   .lim = { .volume = 1280, .has_volume = true } };
	const struct bwl_publish_opts fresh = { .fresh_volume = true };
	struct bwl_publish_report rep;
	struct bwl_err e = { 0 };
	int i;

	(void)state;
	apply(HEAD "peers:\n" PEER("bare", "10.1.0.9") "grant: { rate: 1gbit } }\n");
	rig_advance(RIG_SECOND);
	assert_string_equal(host(TO("10.1.0.9")), "pass");
	for (i = 0; i < 2; i++) {
		assert_int_equal(
			rig_try_policy(rig,
				       HEAD "zones: { z: { volume: 6400b } }\npeers:\n" LATER PEER(
					       "bare", "10.1.0.9") "grant: { rate: 1gbit } }\n",
				       NULL, &rep, &e),
			0);
		assert_int_equal(rep.exhausted, i ? 0 : 4);
		rig_advance(RIG_SECOND);
		assert_string_equal(host(TO("10.1.0.1")), "peer-volume");
		assert_string_equal(host(TO("10.1.0.2")), "peer-volume");
		assert_string_equal(host(TO("10.1.0.3")), "class-volume");
		assert_string_equal(host(TO("10.1.0.4")), "zone-volume");
	}
	rig_advance(12 * RIG_SECOND);
	assert_string_equal(host(TO("10.1.0.1")), "peer-volume");
	assert_int_equal(drain(TO("10.1.0.2")), 100); /* its window has passed */
	/* An explicit order is obeyed: V, and V more. */
	assert_int_equal(bwl_peer_change(rig->pins, "total", &more, &e), 0);
	assert_int_equal(drain(TO("10.1.0.1")), 10);
	assert_int_equal(bwl_peer_change(rig->pins, "bare", &said, &e), 0);
	assert_int_equal(drain(TO("10.1.0.9")), 20);
	assert_int_equal(bwl_peer_change(rig->pins, "bare", &said, &e), 0);
	assert_int_equal(drain(TO("10.1.0.9")), 0);
	assert_int_equal(
		rig_try_policy(rig,
			       HEAD "peers:\n" PEER(
				       "new",
				       "10.1.0.8") "grant: { rate: 1gbit, volume: 6400b } }\n",
			       &fresh, &rep, &e),
		0);
	assert_int_equal(rep.exhausted, 0);
	rig_advance(RIG_SECOND);
	assert_int_equal(drain(TO("10.1.0.8")), 100);
}

/* Lowered below what is used, then +V: V. */
static void more_volume_is_on_top_of_what_is_spent(void **state)
{
	struct bwl_change c = { .set = BWL_SET_VOLUME,
				.lim = { .volume = 640, .has_volume = true } };
	struct bwl_err e = { 0 };

	(void)state;
	spend_one("volume: 6400b");
	assert_int_equal(bwl_peer_change(rig->pins, "one", &c, &e), 0);
	c.set = BWL_ADD_VOLUME;
	assert_int_equal(bwl_peer_change(rig->pins, "one", &c, &e), 0);
	assert_int_equal(drain(TO("10.1.0.1")), 10);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		RIG_TEST(who_covers_what_another_covered_takes_what_it_spent),
		RIG_TEST(who_takes_in_a_peer_that_left_takes_what_it_spent),
		RIG_TEST(a_name_that_comes_back_takes_what_was_spent_where_it_comes_to),
		RIG_TEST(a_wider_prefix_takes_nothing_from_those_who_stay),
		RIG_TEST(classes_and_floors_are_taken_over_too),
		RIG_TEST(who_takes_the_place_of_the_revoked_is_revoked),
		RIG_TEST(a_revoked_prefix_stays_revoked_in_however_many_steps_it_changes_hands),
		RIG_TEST(a_revoked_name_stays_revoked_when_another_took_its_prefix),
		RIG_TEST(what_was_open_within_or_around_a_revoked_prefix_stays_open),
		RIG_TEST(a_zone_of_another_name_takes_what_was_spent),
		RIG_TEST(a_new_zone_takes_what_was_spent_where_its_members_come_to),
		RIG_TEST(a_host_port_of_another_name_takes_what_was_spent),
		cmocka_unit_test_setup_teardown(a_volume_that_comes_later_starts_spent_as_well,
						setup_unknown, rig_teardown),
		RIG_TEST(more_volume_is_on_top_of_what_is_spent),
		RIG_TEST(what_grant_has_lifted_does_not_come_back),
	};

	return cmocka_run_group_tests_name("heirs", tests, NULL, NULL);
}
