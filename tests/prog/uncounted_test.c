// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Promise 3 where who has a prefix does not count what was spent there, as its grant has no volume
 * or it is in no zone, and a later policy lets it count: it owes what was spent before. Nothing is
 * owed twice, and nobody owes what was spent elsewhere.
 */
#define RIG_HOST_ONLY
#include "prefixes.h"

#define FREE "grant: { rate: 1gbit } }\n"

/* The limits of the one who has spent, and of the one who comes; where and how that one counts. */
static const struct {
	const char *spent, *free, *counts;
} kinds[] = {
	{ "grant: { rate: 1gbit, volume: 6400b } }\n", FREE,
	  "grant: { rate: 1gbit, volume: 6400b } }\n" },
	{ "grant: { rate: 1gbit, volume: 6400b per 1h } }\n", FREE,
	  "grant: { rate: 1gbit, volume: 6400b per 1h } }\n" },
	{ "grant: { rate: 1gbit }, classes: { other: { volume: 6400b } } }\n",
	  "grant: { rate: 1gbit }, classes: { ssh: { volume: 6400b } } }\n",
	  "grant: { rate: 1gbit }, classes: { other: { volume: 6400b } } }\n" },
	{ "grant: { rate: 1gbit }, ports: { h0: { volume: 6400b } } }\n", FREE,
	  "grant: { rate: 1gbit }, ports: { h0: { volume: 6400b } } }\n" },
};
#define NKINDS (sizeof(kinds) / sizeof(kinds[0]))

static void one_spends(const char *limits)
{
	rig_teardown(NULL);
	rig_setup(NULL);
	apply(HEAD "peers:\n" PEER("one", HOME ", " THERE) "%s", limits);
	rig_advance(RIG_SECOND);
	send(TO("10.1.0.1"), 60);
}

static void who_has_a_prefix_without_a_volume_owes_what_was_spent_once_it_has_one(void **state)
{
	(void)state;
	for (unsigned i = 0; i < 4 * NKINDS; i++) {
		const char *spent = kinds[i / 4].spent, *counts = kinds[i / 4].counts;
		const char *stays = i % 4 < 2 ? PEER("one", HOME) : PEER("three", "10.6.0.0/24");

		one_spends(spent);
		/* Who had it stays, or leaves; in that policy, or in one before. */
		if (i % 2)
			apply(HEAD "peers:\n%s%s", stays, spent);
		for (unsigned again = 0; again < 2; again++) {
			apply(HEAD "peers:\n%s%s" PEER("two", "10.1.0.0/16, 'fd00::/16'") "%s",
			      stays, spent, kinds[i / 4].free);
			rig_advance(RIG_SECOND);
			send(TO("10.1.0.1"), 7); /* it counts nothing */
		}
		apply(HEAD "peers:\n%s%s" PEER("two", "10.1.0.0/16, 'fd00::/16'") "%s" PEER(
			      "far", "10.9.0.1") "%s",
		      stays, spent, counts, counts);
		rig_advance(RIG_SECOND);
		assert_int_equal(drain(i % 3 ? TO("10.1.0.1") : TO6("fd00:1::1")), 40);
		assert_int_equal(drain(TO("10.9.0.1")), 100); /* control */
		apply(HEAD "peers:\n%s%s" PEER("two", "10.1.0.0/16, 'fd00::/16'") "%s", stays,
		      spent, counts);
		assert_int_equal(drain(TO("10.1.0.1")), 0);
		if (i % 4 < 2)
			assert_int_equal(drain(TO("10.5.0.1")), 40);
	}
}

/* It owes as much as was spent where it is, and counts on from there. */
static void it_is_owed_once(void **state)
{
	(void)state;
	one_spends(kinds[0].spent);
	apply(HEAD "peers:\n" PEER("two", "10.1.0.0/16") FREE);
	apply(HEAD "peers:\n" PEER("two", "10.1.0.0/16") "%s", kinds[0].counts);
	rig_advance(RIG_SECOND);
	send(TO("10.1.0.1"), 10);
	for (unsigned i = 0; i < 2; i++) {
		apply(HEAD "peers:\n" PEER("two", "10.1.0.0/16") FREE);
		apply(HEAD "peers:\n" PEER("two", "10.1.0.0/16") "%s", kinds[0].counts);
		rig_advance(RIG_SECOND);
	}
	send(TO("10.1.0.1"), 10);
	/* Who takes it then takes over that account. */
	apply(HEAD "peers:\n" PEER("three", THERE) "%s", kinds[0].counts);
	rig_advance(RIG_SECOND);
	assert_int_equal(drain(TO("10.1.0.1")), 20);
}

#define VOLUME ": { rate: 1gbit, volume: 6400b }"
#define OLD HEAD "zones: { old" VOLUME " }\npeers:\n"
#define BOTH HEAD "zones: { old" VOLUME ", new" VOLUME " }\npeers:\n"
#define IN(zone) "zone: " zone ", " FREE
#define M1 PEER("m1", HOME) IN("old")

static void a_new_zone_owes_what_was_spent_in_the_zone_before_none(void **state)
{
	static const char *const gone = HEAD "peers:\n", *const kept = OLD M1;

	(void)state;
	for (unsigned i = 0; i < 8; i++) {
		bool stays = i & 1, same = i & 2;

		rig_teardown(NULL);
		rig_setup(NULL);
		apply(OLD M1 PEER("one", THERE) IN("old"));
		rig_advance(RIG_SECOND);
		send(TO("10.1.0.1"), 60);
		/* The zone is still there, or not; by that name, or by another one. */
		apply("%s%s" FREE, stays ? kept : gone,
		      same ? PEER("one", THERE) : PEER("two", "10.1.0.0/16, 'fd00:1::/48'"));
		rig_advance(RIG_SECOND);
		send(TO("10.1.0.1"), 5);
		if (i & 4) /* and by yet another one */
			apply(BOTH M1 PEER("three", "10.1.0.1, 'fd00:1::1'") IN("new"));
		else
			apply(BOTH M1 "%s" IN("new"),
			      same ? PEER("one", THERE)
				   : PEER("two", "10.1.0.0/16, 'fd00:1::/48'"));
		rig_advance(RIG_SECOND);
		assert_int_equal(drain(TO6("fd00:1::1")), 40);
		assert_int_equal(drain(TO("10.5.0.1")), 40); /* control: the one before */
	}
	/* Back in the zone that still counts it, it owes nothing more. */
	rig_teardown(NULL);
	rig_setup(NULL);
	apply(OLD M1 PEER("one", THERE) IN("old"));
	rig_advance(RIG_SECOND);
	send(TO("10.1.0.1"), 60);
	apply(OLD M1 PEER("one", THERE) FREE);
	send(TO("10.5.0.1"), 10);
	apply(OLD M1 PEER("one", THERE) IN("old"));
	rig_advance(RIG_SECOND);
	assert_int_equal(drain(TO("10.1.0.1")), 30);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		RIG_TEST(who_has_a_prefix_without_a_volume_owes_what_was_spent_once_it_has_one),
		RIG_TEST(it_is_owed_once),
		RIG_TEST(a_new_zone_owes_what_was_spent_in_the_zone_before_none),
	};

	return cmocka_run_group_tests_name("uncounted", tests, NULL, NULL);
}
