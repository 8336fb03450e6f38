// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Zones that are shared by weight, in the real programs: a peer within its portion loses nothing to
 * the others, what nobody uses is shared out, and the zone never passes more than before.
 */
#define RIG_HOST_ONLY
#include "hammer.h"

#define MODEST TO(1) "udp fill=1458"
#define GREEDY TO(2) "udp fill=1458"
#define LEN 1500U

/* Frames to a peer: passed and refused. */
static struct bwl_peer_count count_of(const char *name)
{
	struct bwl_peer_count *all = calloc(rig->pins->schema.max_peers, sizeof(*all)), n;

	assert_non_null(all);
	assert_int_equal(bwl_peercnt_read(rig->pins, all, NULL), 0);
	n = all[id_of(name)];
	free(all);
	return n;
}

static void fire(const char *spec, uint32_t n)
{
	struct rig_packet k = { .spec = spec };

	if (!n)
		return;
	rig_fire(rig, &k, n);
	runs += n;
}

static void two(const char *zone, const char *mode, unsigned weight)
{
	char w[32] = "";

	if (weight)
		snprintf(w, sizeof(w), "weight: %u, ", weight);
	apply(HEAD
	      "zones: { z: { %s } }\npeers:\n" DEST("modest", 1) "zone: z, grant: { rate: 1gbit, mode: %s } }\n" DEST(
		      "greedy", 2) "zone: z, %sgrant: { rate: 1gbit, mode: %s } }\n",
	      zone, mode, w, mode);
	rig_advance(RIG_SECOND);
}

/* Other limits that peers may have before or after their portion. */
#define MORE(port)                                                                                 \
	"floor: { rate: 1kbit }, classes: { ssh: { rate: 1mbit }, other: { rate: 2gbit } }, "      \
	"accept: { rate: 1gbit, volume: 1gb }, ports: { h1: { rate: 1mbit }, h0: { " port " } }"

static void two_with_all_limits(const char *zone, const char *port)
{
	apply(HEAD
	      "zones: { z: { %s } }\npeers:\n" DEST("modest", 1) "zone: z, grant: { rate: 1gbit }, " MORE(
		      "%s") " }\n" DEST("greedy",
					2) "zone: z, weight: 5, grant: { rate: 1gbit }, " MORE("rate: 2gbit") " }\n",
	      zone, port);
	rig_advance(RIG_SECOND);
}

/* For ms milliseconds at 100 Mbit/s: one sends 48 Mbit/s, the other ten times the whole rate. */
static void greedy_beside_modest(unsigned ms)
{
	unsigned i;

	for (i = 0; i < ms; i++) {
		fire(GREEDY, 42);
		fire(MODEST, 2);
		fire(GREEDY, 42);
		fire(MODEST, 2);
		rig_advance(1000000);
	}
}

static const char *const bursts[] = { "600kb", "3mb" }; /* without shares of CPUs, and with them */

static void who_stays_within_its_portion_loses_nothing_to_a_greedy_one(void **state)
{
	static const char *const modes[] = { "police", "shape", "mark", "monitor" };
	struct bwl_peer_count was, is, other;
	uint64_t refused = 0;
	char zone[80];
	unsigned b, m;

	(void)state;
	for (b = 0; b < 2; b++) {
		for (m = 0; m < 4; m++) {
			snprintf(zone, sizeof(zone), "rate: 100mbit, burst: %s, share: weighted",
				 bursts[b]);
			two(zone, modes[m], 0);
			was = count_of("modest");
			other = count_of("greedy");
			greedy_beside_modest(600);
			is = count_of("modest");
			assert_int_equal(is.drop_frames, was.drop_frames);
			assert_int_equal(is.frames - was.frames, 4 * 600);
			was = other;
			other = count_of("greedy");
			assert_true(other.drop_frames - was.drop_frames > 600 * 84 / 2);
		}
		snprintf(zone, sizeof(zone), "rate: 100mbit, burst: %s", bursts[b]);
		two(zone, "police", 0);
		was = count_of("modest");
		greedy_beside_modest(600);
		is = count_of("modest");
		refused += is.drop_frames - was.drop_frames;
	}
	assert_true(refused > 600); /* first come, first served */
}

static void both_that_want_more_get_the_rate_by_weight(void **state)
{
	uint64_t a = 0, b = 0, begin = 0;
	char zone[80];
	unsigned i, n;

	(void)state;
	for (n = 0; n < 2; n++) {
		snprintf(zone, sizeof(zone), "rate: 100mbit, burst: %s, share: weighted",
			 bursts[n]);
		two(zone, "police", 3);
		for (i = 0; i < 1000; i++) {
			if (i == 400) {
				a = count_of("modest").bytes;
				b = count_of("greedy").bytes;
				begin = rig_now();
			}
			fire(MODEST, 20);
			fire(GREEDY, 20);
			rig_advance(1000000);
		}
		a = count_of("modest").bytes - a;
		b = count_of("greedy").bytes - b;
		if (a * 1000 < b * 1000 / 3 * 97 / 100 || a * 1000 > b * 1000 / 3 * 108 / 100)
			fail_msg("%llu to %llu", (unsigned long long)a, (unsigned long long)b);
		/* nothing is wasted */
		if ((double)(a + b) * 8e9 < 0.99 * 1e8 * (double)(rig_now() - begin))
			fail_msg("%.4f of the rate",
				 (double)(a + b) * 80 / (double)(rig_now() - begin));
	}
}

static void a_lone_member_has_the_whole_rate(void **state)
{
	uint64_t was = 0, begin = 0;
	unsigned i;

	(void)state;
	two("rate: 100mbit, burst: 3mb, share: weighted", "police", 99);
	for (i = 0; i < 1000; i++) {
		if (i == 400) {
			was = passed_bytes();
			begin = rig_now();
		}
		fire(MODEST, 20);
		rig_advance(1000000);
	}
	assert_true((double)(passed_bytes() - was) * 8e9 >=
		    0.995 * 1e8 * (double)(rig_now() - begin));
}

static void all_cpus_together_keep_a_zone_shared_by_weight_to_its_rate(void **state)
{
	static const char *const spec[] = { TO(1) "udp fill=958", TO(2) "udp fill=958",
					    TO(2) "udp fill=958" };
	unsigned i;

	(void)state;
	for (i = 0; i < 2; i++) {
		apply(HEAD
		      "zones: { z%u: { rate: 10gbit, burst: %u, share: weighted } }\npeers:\n" DEST(
			      "a",
			      1) "zone: z%u, grant: { rate: 20gbit } }\n" DEST("b",
									       2) "zone: z%u, weight: 9, grant: { rate: 20gbit, volume: 1pb per 1d } }\n",
		      i, i ? 8 << 20 : 900000, i, i);
		rig_advance(RIG_SECOND);
		saturate(spec, 3, BWL_R_ZONE_RATE, 10000000000, i ? 8 << 20 : 900000, 100000, 80);
	}
}

static void portions_hold_beside_all_other_limits_of_a_peer(void **state)
{
	struct bwl_peer_count was, is;
	struct bwl_policy *pol;
	struct bwl_err e = { 0 };
	char zone[80];
	unsigned b;

	(void)state;
	for (b = 0; b < 2; b++) {
		snprintf(zone, sizeof(zone), "rate: 300mbit, burst: %s, share: weighted",
			 b ? "9mb" : "1800kb");
		two_with_all_limits(zone, "rate: 2gbit");
		was = count_of("modest");
		greedy_beside_modest(600);
		is = count_of("modest");
		assert_int_equal(is.drop_frames, was.drop_frames);
		assert_int_equal(is.frames - was.frames, 4 * 600);
		assert_true(count_of("greedy").drop_frames > 600 * 84 / 2);
	}
	assert_int_equal(bwl_policy_read(rig->pins, &pol, &e), 0);
	assert_int_equal(bwl_policy_peer(pol, "greedy")->weight, 5);
	assert_int_equal(bwl_policy_peer(pol, "greedy")->accept.volume, 1ULL << 30);
	assert_true(bwl_policy_peer(pol, "greedy")->floor.present);
	assert_int_equal(bwl_policy_peer(pol, "greedy")->ntenants, 2);
	bwl_policy_free(pol);
}

/* What passes within a portion is also charged to its host port. */
static void a_packet_within_its_portion_is_charged_to_its_port(void **state)
{
	(void)state;
	two_with_all_limits("rate: 300mbit, burst: 1800kb, share: weighted",
			    "rate: 2gbit, volume: 60000b");
	fire(MODEST, 50);
	assert_int_equal(count_of("modest").bytes, 60000);
	assert_string_equal(host(MODEST), "port-volume");
}

/*
 * A port over its limit to a peer is refused whatever is left of the zone, but may use its whole
 * burst.
 */
static void a_port_has_all_of_its_burst_in_a_zone_shared_by_weight(void **state)
{
	(void)state;
	two_with_all_limits("rate: 300mbit, burst: 1800kb, share: weighted",
			    "rate: 1mbit, burst: 30001b");
	fire(MODEST, 50);
	assert_int_equal(count_of("modest").bytes, 30000);
	assert_string_equal(host(MODEST), "port-rate");
}

/* Weights apply to the rate. */
static void a_volume_is_for_who_comes_first(void **state)
{
	(void)state;
	two("rate: 100mbit, volume: 90000b, share: weighted", "police", 0);
	fire(GREEDY, 60);
	assert_int_equal(count_of("greedy").bytes, 90000);
	assert_string_equal(host(MODEST), "zone-volume");
}

/* A new portion has no burst; nor has the zone, if it stays. */
static void no_change_of_weights_adds_a_burst(void **state)
{
	static const char *const share[] = { "", ", share: weighted" };
	uint64_t begin, first, passed;
	int64_t under, lowest = 0;
	char zone[96];
	unsigned i;

	(void)state;
	two("rate: 100mbit, burst: 2000000b", "police", 0);
	begin = rig_now();
	first = passed_bytes();
	for (i = 0; i < 60; i++) {
		rig_advance(1 + i % 5 * 3000000);
		snprintf(zone, sizeof(zone), "rate: 100mbit, burst: 2000000b%s", share[i % 3 != 0]);
		apply(HEAD "zones: { z: { %s } }\npeers:\n" DEST(
			      "modest",
			      1) "zone: z, grant: { rate: 1gbit } }\n" DEST("greedy",
									    2) "zone: z, %s grant: { rate: 1gbit } }\n",
		      zone, i % 3 ? i % 2 ? "weight: 90," : "weight: 2," : "");
		do {
			passed = passed_bytes();
			fire(i % 2 ? GREEDY : MODEST, 16);
			fire(MODEST, 16);
		} while (passed_bytes() != passed);
		under = (int64_t)(passed - first) - (int64_t)((rig_now() - begin) / 80);
		assert_true(under - lowest <= 2000000);
		if (under < lowest)
			lowest = under;
	}
}

/* The agent and the tools read a policy back from the maps. */
static void the_policy_in_force_has_the_weights(void **state)
{
	struct bwl_policy *pol;
	struct bwl_err e = { 0 };

	(void)state;
	two("rate: 100mbit, share: weighted", "police", 7);
	assert_int_equal(bwl_policy_read(rig->pins, &pol, &e), 0);
	assert_true(pol->zones[0].weighted);
	assert_int_equal(bwl_policy_peer(pol, "modest")->weight, 0);
	assert_int_equal(bwl_policy_peer(pol, "greedy")->weight, 7);
	bwl_policy_free(pol);
	two("rate: 100mbit", "police", 0);
	assert_int_equal(bwl_policy_read(rig->pins, &pol, &e), 0);
	assert_false(pol->zones[0].weighted);
	bwl_policy_free(pol);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		RIG_TEST(who_stays_within_its_portion_loses_nothing_to_a_greedy_one),
		RIG_TEST(both_that_want_more_get_the_rate_by_weight),
		RIG_TEST(a_lone_member_has_the_whole_rate),
		RIG_TEST(all_cpus_together_keep_a_zone_shared_by_weight_to_its_rate),
		RIG_TEST(portions_hold_beside_all_other_limits_of_a_peer),
		RIG_TEST(a_packet_within_its_portion_is_charged_to_its_port),
		RIG_TEST(a_port_has_all_of_its_burst_in_a_zone_shared_by_weight),
		RIG_TEST(a_volume_is_for_who_comes_first),
		RIG_TEST(no_change_of_weights_adds_a_burst),
		RIG_TEST(the_policy_in_force_has_the_weights),
	};

	/*
	 * Without this, what is held on a CPU that the thread left would be missing from the
	 * measurement.
	 */
	stay_on_cpu(0);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
