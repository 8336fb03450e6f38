// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Promises 2 and 3 in the real programs, on several CPUs at once, and across everything that an
 * operator can do to a policy: none of it yields a burst or a volume.
 */
#define RIG_HOST_ONLY
#include "hammer.h"
#include "history.h"

static void all_cpus_together_keep_a_peer_to_its_rate(void **state)
{
	static const char *const spec[] = { TO(1) "udp fill=958", TO(1) "udp fill=458",
					    TO(1) "udp fill=258" };

	(void)state;
	apply(HEAD "peers:\n" DEST("busy", 1) "grant: { rate: 1gbit, burst: 100kb } }\n");
	rig_advance(RIG_SECOND);
	saturate(spec, 3, BWL_R_PEER_RATE, 1000000000, 102400, 400000, 150);
}

/* The clock stands still: hundreds of thousands of charges race for one word. */
static void all_cpus_together_spend_a_burst_once(void **state)
{
	static const char *const spec[] = { TO(1) "udp fill=958", TO(1) "udp fill=958" };
	const uint64_t burst = 500000000;

	(void)state;
	apply(HEAD "peers:\n" DEST("once", 1) "grant: { rate: 10gbit, burst: 500000000b } }\n");
	rig_advance(RIG_SECOND);
	hammers_start(spec, 2);
	while (rig_frames(rig, RIG_H0, BWL_R_PEER_RATE) < 1000)
		sched_yield();
	hammers_stop();
	assert_true(passed_bytes() < burst);
	/*
	 * What CPUs may hold is not part of what the limit itself has, which had no time to refill;
	 * and one CPU may still hold some of that when another was refused.
	 */
	assert_true(passed_bytes() >= burst - 2 * ((uint64_t)rig->cpus << BWL_SHARE_MAX) - 1000);
}

static void all_cpus_together_keep_a_zone_to_its_rate(void **state)
{
	static const char *const spec[] = { TO(1) "udp fill=958", TO(2) "udp fill=958",
					    TO(3) "tcp fill=946" };

	(void)state;
	apply(HEAD "zones: { z: { rate: 1gbit, burst: 100kb } }\npeers:\n" DEST("a", 1) "zone: z, grant: { rate: 10gbit } }\n" DEST(
		"b",
		2) "zone: z, grant: { rate: 10gbit, volume: 100gb per 1d } }\n" DEST("c",
										     3) "zone: z, grant: { rate: 10gbit }, classes: { other: { rate: 9gbit } } }\n");
	rig_advance(RIG_SECOND);
	saturate(spec, 3, BWL_R_ZONE_RATE, 1000000000, 102400, 400000, 150);
}

static void all_cpus_together_keep_the_node_to_its_rate(void **state)
{
	static const char *const spec[] = { TO(1) "udp fill=958", TO(2) "udp fill=958" };

	(void)state;
	apply(HEAD "node_limit: { rate: 100mbit, burst: 20kb }\npeers:\n" DEST(
		"a", 1) "grant: { rate: 10gbit } }\n" DEST("b", 2) "grant: { rate: 10gbit } }\n");
	rig_advance(RIG_SECOND);
	saturate(spec, 2, BWL_R_NODE_RATE, 100000000, 20480, 1000000, 150);
}

static void all_cpus_together_spend_a_volume_to_the_byte(void **state)
{
#define TWO(n)                                                                                     \
	"eth ip4 src=10.0.7.2 dst=10.1." #n ".1 udp fill=958",                                     \
		"eth ip4 src=10.0.7.2 dst=10.1." #n ".2 udp fill=58"
	static const char *const spec[][4] = { { TWO(0), TWO(0) }, { TWO(1), TWO(1) } };
	static const char *const volume[] = { "4000000b", "4000000b per 1h" };
	uint64_t first, refused;
	int i;

	(void)state;
	for (i = 0; i < 2; i++) {
		/* Two peers of one zone; the zone's volume is what is spent. */
		apply(HEAD
		      "zones: { z%d: { volume: %s } }\npeers:\n"
		      "  - { name: a%d, addresses: [10.1.%d.1], path: clear, via: 192.0.2.1, zone: z%d, grant: { rate: 1tbit, volume: 3990000b } }\n"
		      "  - { name: b%d, addresses: [10.1.%d.2], path: clear, via: 192.0.2.1, zone: z%d, grant: { rate: 1tbit, volume: 3990000b per 1d } }\n",
		      i, volume[i], i, i, i, i, i, i);
		first = passed_bytes();
		rig_advance(RIG_SECOND);
		refused = rig_frames(rig, RIG_H0, BWL_R_ZONE_VOLUME);
		hammers_start(spec[i], 4);
		while (passed_bytes() - first < 4000000 ||
		       rig_frames(rig, RIG_H0, BWL_R_ZONE_VOLUME) < refused + 10000) {
			rig_advance(1000);
			sched_yield();
		}
		hammers_stop();
		assert_int_equal(passed_bytes() - first, 4000000);
	}
}

static void nothing_an_operator_does_adds_a_burst(void **state)
{
	const char *a = HEAD "peers:\n" DEST("name", 1) "grant: { rate: 1mbit, burst: 30000b } }\n";
	const char *renamed = HEAD
		"peers:\n" DEST("other", 1) "grant: { rate: 1mbit, burst: 30000b } }\n";
	const char *empty = HEAD "peers:\n" DEST("far", 9) "grant: { rate: 1mbit } }\n";
	const char *smaller = HEAD
		"peers:\n" DEST("name", 1) "grant: { rate: 1mbit, burst: 2000b } }\n";
	const char *classes = HEAD "peers:\n" DEST(
		"name",
		1) "grant: { rate: 1mbit, burst: 30000b }, classes: { other: { rate: 1mbit, burst: 30000b } } }\n";
	const char *order[] = {
		a, a, renamed, a, empty, a, smaller, a, classes, a, renamed, empty
	};
	struct bwl_change authorise = { .set = BWL_SET_AUTHORISE };
	const struct bwl_publish_opts o = { .confirm_ns = 10000000 };
	struct bwl_err e = { 0 };
	size_t i;

	(void)state;
	nhistory = 0;
	apply("%s", a);
	assert_int_equal(drain(TO(1) "udp"), 0); /* it starts in debt */
	rig_advance(RIG_SECOND);
	drain_and_note(TO(1) "udp");
	assert_int_equal(history[0].bytes, 29999 / 64 * 64);
	for (i = 0; i < 60; i++) {
		rig_policy(rig, order[i % 12]);
		drain_and_note(TO(1) "udp");
		rig_advance(i % 4 * 10000000);
	}
	apply("%s", a);
	for (i = 0; i < 20; i++) {
		assert_int_equal(bwl_revoke(rig->pins, i % 2 ? "name" : NULL, &e), 0);
		assert_int_equal(bwl_peer_change(rig->pins, "name", &authorise, &e), 0);
		drain_and_note(TO(1) "udp");
		rig_advance(10000000);
	}
	for (i = 0; i < 10; i++) { /* back and forth, by rollback and by time */
		assert_int_equal(rig_try_policy(rig, i % 3 ? smaller : a, &o, NULL, &e), 0);
		drain_and_note(TO(1) "udp");
		if (i % 2)
			rig_advance(o.confirm_ns);
		drain_and_note(TO(1) "udp");
		assert_int_equal(bwl_rollback(rig->pins, &e), 0);
		drain_and_note(TO(1) "udp");
	}
	check_history(1000000, 30000);
}

static void flood_meanwhile(void)
{
	drain_and_note(TO(1) "udp");
	rig_advance(20000000);
	drain_and_note(TO(1) "udp");
}

/* From the first wait for packets in flight to the last one. */
static void nor_does_the_time_until_a_policy_is_in_force(void **state)
{
	static const char *const word[] = {
		"peers:\n" DEST("a%u", 1) "grant: { rate: 10mbit, burst: 30000b } }\n",
		"zones: { z%u: { rate: 10mbit, burst: 30000b } }\n"
		"peers:\n" DEST("a", 1) "zone: z%u, grant: { rate: 1tbit, burst: 100mb } }\n",
	};
	char text[1000];
	unsigned w, i;

	(void)state;
	for (w = 0; w < 2; w++) {
		nhistory = 0;
		for (i = 0; i < 20; i++) {
			snprintf(text, sizeof(text), word[w], i, i);
			rig_on_grace = i ? flood_meanwhile : NULL;
			apply(HEAD "%s", text);
			rig_on_grace = NULL;
			if (!i)
				rig_advance(RIG_SECOND);
			drain_and_note(TO(1) "udp");
		}
		check_history(10000000, 30000);
		rig_advance(RIG_SECOND);
		drain_and_note(TO(1) "udp"); /* control: the last name passes packets */
		assert_int_equal(history[nhistory - 1].bytes, 29999 / 64 * 64);
	}
}

static void changes_of_a_limit_pass_no_more_than_its_rate(void **state)
{
	struct bwl_change c = { .set = BWL_SET_RATE | BWL_SET_BURST };
	uint64_t begin, passed = 0, may = 0;
	struct bwl_err e = { 0 };
	unsigned i;

	(void)state;
	apply(HEAD "peers:\n" DEST("flip", 1) "grant: { rate: 1mbit, burst: 3000b } }\n");
	begin = rig_now();
	for (i = 0; i < 200; i++) {
		c.lim.rate_bps = i % 3 ? 1000000 : 8000000;
		c.lim.burst = i % 2 ? 3000 : 20000;
		assert_int_equal(bwl_peer_change(rig->pins, "flip", &c, &e), 0);
		passed += 64 * drain(TO(1) "udp");
		rig_advance(1000000);
		may += c.lim.rate_bps * 1000000;
	}
	passed += 64 * drain(TO(1) "udp");
	assert_true(rig_now() > begin);
	assert_true(passed * 8000000000ULL <= may + 20000 * 8000000000ULL);
	assert_true(passed * 8000000000ULL >= may * 9 / 10);
}

/* Bytes pass until the very switch; the clock stands still, so no window turns. */
static void another_kind_of_volume_under_fire_keeps_what_is_spent(void **state)
{
	static const char *const spec[] = { TO(1) "udp fill=958", TO(1) "udp fill=58" };
	struct bwl_change c = { .set = BWL_SET_VOLUME, .lim = { .has_volume = true } };
	struct bwl_err e = { 0 };
	uint64_t first = passed_bytes(), was;
	unsigned i;

	(void)state;
	apply(HEAD "peers:\n" DEST("fire", 1) "grant: { rate: 1tbit, volume: 0b } }\n");
	rig_advance(RIG_SECOND);
	hammers_start(spec, 2);
	for (i = 1; i <= 40; i++) {
		c.lim.window_ns = i % 2 ? 3600 * RIG_SECOND : 0;
		c.lim.volume = i * 20000000ULL;
		was = passed_bytes();
		if (i % 4 < 2)
			assert_int_equal(bwl_peer_change(rig->pins, "fire", &c, &e), 0);
		else
			apply(HEAD "peers:\n" DEST("fire",
						   1) "grant: { rate: 1tbit, volume: %llub%s } }\n",
			      (unsigned long long)c.lim.volume, c.lim.window_ns ? " per 1h" : "");
		while (passed_bytes() <
		       was + 1000000) /* the next change comes in the middle of it */
			rig_advance(100);
		assert_true(passed_bytes() - first <= c.lim.volume);
	}
	c.lim.window_ns = 3600 * RIG_SECOND;
	i = 0;
	/*
	 * until it is in force before as much has passed: this thread may have to wait for the CPU
	 */
	do {
		c.lim.volume = ++i * 4000000ULL + passed_bytes() - first;
		assert_int_equal(bwl_peer_change(rig->pins, "fire", &c, &e), 0);
	} while (passed_bytes() - first >= c.lim.volume);
	was = rig_frames(rig, RIG_H0, BWL_R_PEER_VOLUME);
	while (rig_frames(rig, RIG_H0, BWL_R_PEER_VOLUME) < was + 10000)
		rig_advance(100);
	hammers_stop();
	/* Each of the twenty policies that were replaced may lose 128 KiB on each of two CPUs. */
	assert_true(passed_bytes() - first <= c.lim.volume);
	assert_true(passed_bytes() - first + 20 * 2 * (128 << 10) >= c.lim.volume);
}

static void no_packet_sees_half_a_change(void **state)
{
	static const char *const spec[] = { TO(1) "udp fill=958", TO(1) "udp fill=58" };
	/*
	 * Expired without a volume, or live with nothing left: only a mixture of the two would
	 * pass.
	 */
	const struct bwl_change dead = { .set = BWL_SET_EXPIRY | BWL_SET_VOLUME, .expiry_ns = 1 };
	const struct bwl_change spent = { .set = BWL_SET_EXPIRY | BWL_SET_VOLUME,
					  .expiry_ns = BWL_NEVER_NS,
					  .lim = { .has_volume = true, .volume = 0 } };
	struct bwl_err e = { 0 };
	unsigned i;

	(void)state;
	apply(HEAD "peers:\n" DEST("torn", 1) "grant: { rate: 1tbit } }\n");
	rig_advance(RIG_SECOND);
	assert_int_equal(bwl_peer_change(rig->pins, "torn", &dead, &e), 0);
	hammers_start(spec, 2);
	for (i = 0; i < 60; i++)
		assert_int_equal(bwl_peer_change(rig->pins, "torn", i % 2 ? &dead : &spent, &e), 0);
	for (i = 0; i < 10; i++)
		apply(HEAD
		      "peers:\n"
		      "  - { name: torn, addresses: [10.1.0.1], path: clear, via: 192.0.2.1, from: [%s], grant: { rate: 1tbit, volume: %s } }\n",
		      i % 2 ? "h0" : "h1", i % 2 ? "0b" : "1gb");
	hammers_stop();
	assert_int_equal(rig_frames(rig, RIG_H0, BWL_R_PASS), 0);
	assert_true(rig_frames(rig, RIG_H0, BWL_R_EXPIRED) > 0);
	assert_true(rig_frames(rig, RIG_H0, BWL_R_PEER_VOLUME) > 0);
	assert_true(rig_frames(rig, RIG_H0, BWL_R_FROM) > 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		RIG_TEST(all_cpus_together_keep_a_peer_to_its_rate),
		RIG_TEST(all_cpus_together_spend_a_burst_once),
		RIG_TEST(all_cpus_together_keep_a_zone_to_its_rate),
		RIG_TEST(all_cpus_together_keep_the_node_to_its_rate),
		RIG_TEST(all_cpus_together_spend_a_volume_to_the_byte),
		RIG_TEST(nothing_an_operator_does_adds_a_burst),
		RIG_TEST(nor_does_the_time_until_a_policy_is_in_force),
		RIG_TEST(changes_of_a_limit_pass_no_more_than_its_rate),
		RIG_TEST(another_kind_of_volume_under_fire_keeps_what_is_spent),
		RIG_TEST(no_packet_sees_half_a_change),
	};

	return cmocka_run_group_tests_name("limits", tests, NULL, NULL);
}
