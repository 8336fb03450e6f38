// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A zone that is shared by weight (bpf/lib/charge.h, held.h), simulated with several CPUs that hold
 * shares: never more than the zone's rate and burst, portions by weight, and no loss within a
 * portion.
 */
#include <bwl/units.h>
#include "limiter.h"
#include "bpf/lib/share.h"

#define CPUS 4
#define MEMBERS 3

struct limited {
	struct bwl_rate r;
	struct bwl_state state;
	struct bwl_share share[CPUS];
	uint32_t owner;
};

static struct sim {
	uint64_t now, begin, burst, rate;
	struct bwl_lim lim;
	struct limited zone, portion[MEMBERS];
	uint64_t passed[MEMBERS], refused[MEMBERS], held;
	struct bound b;
} sim;

static void encode(struct limited *l, const struct bwl_lim *lim, uint32_t owner)
{
	memset(l, 0, sizeof(*l));
	l->owner = owner;
	l->state.finish_bytes = rnd();
	bwl_rate_encode_for(&l->r, lim->rate_bps, lim->burst, CPUS);
	bwl_rate_follow_for(&l->r, NULL, &l->state.finish_bytes, sim.now, CPUS);
}

static void start(uint64_t rate, uint64_t burst, const uint32_t *weight)
{
	uint64_t weights = 0;
	unsigned i;

	memset(&sim, 0, sizeof(sim));
	sim.now = sim.begin = 1000000000;
	sim.rate = rate;
	sim.burst = burst;
	sim.lim = (struct bwl_lim){ .present = true, .rate_bps = rate, .burst = burst };
	encode(&sim.zone, &sim.lim, 1);
	for (i = 0; i < MEMBERS; i++)
		weights += weight[i];
	for (i = 0; i < MEMBERS; i++) {
		struct bwl_lim lim = bwl_portion(&sim.lim, weight[i], weights);

		encode(&sim.portion[i], &lim, 2 + i);
	}
	bound_pass(&sim.b, 0, burst - 1, burst); /* in full debt */
}

static struct bwl_asked asked(struct limited *l, unsigned cpu, uint32_t len)
{
	return (struct bwl_asked){ .rate = &l->r,
				   .state = &l->state,
				   .share = cpu < CPUS ? &l->share[cpu] : NULL,
				   .now_ns = sim.now,
				   .len = len,
				   .owner = l->owner };
}

static bool has(const struct limited *l, unsigned cpu, uint32_t len)
{
	return bwl_share_has(&l->share[cpu], &l->r, l->owner, sim.now, len);
}

/* Like bwl_bill(): from the share, else from a filled share, else exactly. cpu CPUS: no share. */
static bool take(struct limited *l, unsigned cpu, uint32_t len, uint64_t slack)
{
	struct bwl_asked a = asked(l, cpu, len);
	struct bwl_taken t;
	uint32_t lost = 0, n;
	__u64 end;

	if (cpu < CPUS && has(l, cpu, len)) {
		l->share[cpu].bytes -= len;
		return true;
	}
	n = bwl_share_wants(&a);
	if (n && bwl_ask_once(&a, n, &t, &end, &lost) == BWL_OK) {
		bwl_share_fill(&a, n, &t, end);
		l->share[cpu].bytes -= len;
		return true;
	}
	a.slack = slack;
	return bwl_ask_once(&a, len, &t, &end, &lost) == BWL_OK;
}

/* Like bwl_portion_fits(). */
static bool fits(const struct limited *l, unsigned cpu, uint32_t len)
{
	__u64 next;

	return has(l, cpu, len) ||
	       bwl_rate_judge(&l->r, l->state.finish_bytes, bwl_rate_drained(&l->r, sim.now), len,
			      0, &next) != BWL_OVER_RATE;
}

/* Like bwl_charge(). */
static bool packet(unsigned member, uint32_t len)
{
	struct limited *p = &sim.portion[member];
	unsigned cpu = (unsigned)rnd_below(CPUS);
	bool passes;

	if (has(p, cpu, len) && has(&sim.zone, cpu, len)) {
		sim.held++;
		passes = take(&sim.zone, cpu, len, 0) && take(p, cpu, len, 0);
		assert_true(passes);
	} else if (fits(p, cpu, len)) {
		passes = take(&sim.zone, cpu, len, 0);
		if (passes)
			assert_true(take(p, cpu, len, UINT32_MAX));
	} else {
		passes = take(&sim.zone, CPUS, len, -bwl_rate_reserve(&sim.zone.r));
	}
	if (passes) {
		sim.passed[member] += len;
		assert_true(bound_pass(&sim.b, allowed_by(sim.rate, sim.now - sim.begin), len,
				       sim.burst) == 0);
	} else {
		sim.refused[member] += len;
	}
	return passes;
}

static uint32_t random_len(void)
{
	return 60 + (uint32_t)rnd_below(rnd_below(8) ? 1455 : 20000);
}

/* Each member in turn sends packets until one is refused. */
static void all_backlogged(unsigned members)
{
	unsigned i, full = 0;

	while (full != members)
		for (i = 0; i < MEMBERS; i++)
			if (members & 1U << i & ~full && !packet(i, random_len()))
				full |= 1U << i;
}

static uint64_t step(void)
{
	uint64_t ns = rnd_below((uint64_t)((i128)sim.burst * TICKS / (i128)sim.rate) / 20) + 1;

	sim.now += ns;
	return ns;
}

/* The part of the zone's rate that the member passes, over several bursts. */
static double part_of(unsigned member, unsigned members)
{
	uint64_t first, from;
	int i;

	for (i = 0; i < 400; i++, step())
		all_backlogged(members);
	first = sim.passed[member];
	from = sim.now;
	for (i = 0; i < 1000; i++, step())
		all_backlogged(members);
	return (double)(sim.passed[member] - first) * 8e9 /
	       ((double)(sim.now - from) * (double)sim.rate);
}

static const struct {
	uint64_t rate, burst;
} zones[] = {
	{ 100000000, 300000 }, /* too small for shares */
	{ 1000000000, 31250000 },
	{ 10000000000, 33554432 },
	{ 400000000000, 50000000 },
};
#define ZONES (sizeof(zones) / sizeof(*zones))

/* Tolerates 2 % of the zone's rate: for rounding, and for the hundredth that belongs to nobody. */
static void near(double is, double wanted)
{
	if (is < wanted - 0.02 || is > wanted + 0.02)
		fail_msg("%.4f of the zone's rate, wanted %.4f", is, wanted);
}

static void members_that_want_more_get_the_rate_by_weight(void **state)
{
	const uint32_t one_three[MEMBERS] = { 1, 3, 0 }, equal[MEMBERS] = { 7, 7, 7 };
	unsigned z;

	(void)state;
	for (z = 0; z < ZONES; z++) {
		start(zones[z].rate, zones[z].burst, one_three);
		near(part_of(0, 3), 0.25);
		near(part_of(1, 3), 0.75);
		start(zones[z].rate, zones[z].burst, equal);
		near(part_of(2, 7), 1.0 / 3);
	}
	assert_true(sim.held > 1000);
}

static void a_lone_member_gets_the_whole_rate(void **state)
{
	const uint32_t weight[MEMBERS] = { 1, 998, 1 };
	unsigned z;

	(void)state;
	for (z = 0; z < ZONES; z++) {
		start(zones[z].rate, zones[z].burst, weight);
		assert_true(part_of(0, 1) > 0.995);
	}
}

/* Nor do the other members' bursts cost it anything, however long they were silent. */
static void who_stays_within_its_portion_loses_nothing(void **state)
{
	const uint32_t weight[MEMBERS] = { 1, 1, 2 };
	i128 due = 0;
	uint64_t ns;
	unsigned z, i;

	(void)state;
	for (z = 0; z < ZONES; z++) {
		start(zones[z].rate, zones[z].burst, weight);
		for (i = 0; i < 3000; i++) { /* the burst fills up */
			step();
			all_backlogged(2);
		}
		sim.refused[0] = sim.passed[0] = 0;
		for (i = 0; i < 3000; i++) {
			ns = step();
			all_backlogged(2);
			if (!rnd_below(3))
				all_backlogged(6);
			/*
			 * a tenth less than its portion, so that its burst is never used up for
			 * long
			 */
			due += allowed_by(zones[z].rate, ns) * 9 / 40;
			for (; due >= 1000 * TICKS; due -= 1000 * TICKS) {
				packet(0, 1000);
				all_backlogged(2);
			}
		}
		assert_true(sim.passed[0] > 0);
		assert_int_equal(sim.refused[0], 0);
		assert_true(sim.refused[1] > 0);
	}
}

/* The zone's burst has room for them, whatever the number of CPUs (maps/share.h). */
static void all_portions_and_what_cpus_hold_fit_the_reserve(void **state)
{
	unsigned cpus[] = { 0, 1, 2, 16, 128, 1024 }, i, n;

	(void)state;
	for (n = 0; n < 2000; n++) {
		struct bwl_lim lim = { .rate_bps = rnd_scale(1000000, 1ULL << 40),
				       .burst = rnd_scale(100000, 1ULL << 30) };
		uint64_t weights = 1 + rnd_below(3000), w = 1 + rnd_below(1000), held;
		struct bwl_lim p = bwl_portion(&lim, (uint32_t)w, weights);
		struct bwl_rate r;

		assert_true((i128)p.rate_bps * weights <= (i128)lim.rate_bps * w);
		for (i = 0; i < sizeof(cpus) / sizeof(*cpus); i++) {
			bwl_rate_encode_for(&r, lim.rate_bps, lim.burst, cpus[i]);
			held = r.share ? (uint64_t)cpus[i] << r.share : 0;
			assert_true((i128)p.burst * 4 * weights <= (i128)lim.burst * w);
			assert_true(lim.burst / 4 + held <= bwl_rate_reserve(&r));
		}
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(members_that_want_more_get_the_rate_by_weight),
		cmocka_unit_test(a_lone_member_gets_the_whole_rate),
		cmocka_unit_test(who_stays_within_its_portion_loses_nothing),
		cmocka_unit_test(all_portions_and_what_cpus_hold_fit_the_reserve),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
