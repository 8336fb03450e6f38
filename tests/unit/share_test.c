// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Promise 2 with shares (bpf/lib/share.h): several simulated CPUs hold what they have taken in
 * advance. With it they stay idle, are unplugged or are interrupted in the middle, while policies
 * change. No window passes more than the limit would without shares.
 */
#include <bwl/units.h>
#include "limiter.h"
#include "bpf/lib/share.h"

#define MAX_CPUS 16
#define DEPTH 4 /* packets in progress at once */
#define STATE 7

struct sent {
	uint64_t at;
	uint32_t len;
};

static struct sim {
	struct bwl_rate r;
	struct bwl_state state;
	uint64_t rate, burst; /* as configured */
	uint64_t now, changed;
	i128 allowed; /* until changed */
	unsigned ncpu;
	struct {
		struct bwl_share share;
		bool busy, unplugged;
	} cpu[MAX_CPUS];
	struct bound b;
	uint64_t passed, packets, exactly, interrupted, by_ticks;
	int depth;
	struct sent sent[8000];
	size_t nsent;
} sim;

static i128 allowed_now(void)
{
	return sim.allowed + allowed_by(sim.rate, sim.now - sim.changed);
}

/* Like bwl_own_cold() of bpf/lib/held.h: the time is known to within a quarter of the burst. */
static bool charge_by_ticks(uint64_t now, uint32_t len)
{
	uint64_t quarter_ns = (uint64_t)((i128)sim.burst * TICKS / (i128)sim.rate) / 4;
	struct bwl_limit l = { .rate = sim.r, .volume.spendable_bytes = BWL_VOLUME_NONE };
	struct bwl_cold c = { .now_ns = now + rnd_below(quarter_ns / 2 + 1), .len = len };
	struct bwl_taken t;

	c.least_ns = now - rnd_below(quarter_ns / 2 + 1);
	if (!bwl_limit_try(&l, &sim.state, NULL, &c, &t))
		return false;
	sim.by_ticks++;
	return true;
}

/* Like bwl_bill() of bpf/lib/charge.h: from the share, else from a filled share, else exactly. */
static bool charge_with(struct bwl_share *s, uint64_t now, uint32_t len)
{
	struct bwl_asked a = { .rate = &sim.r,
			       .state = &sim.state,
			       .share = s,
			       .now_ns = now,
			       .len = len,
			       .owner = STATE };
	struct bwl_taken t;
	uint32_t lost = 0, n;
	__u64 end;

	if (s && bwl_share_has(s, &sim.r, STATE, now, len)) {
		s->bytes -= len;
		return true;
	}
	if (rnd_below(2) && charge_by_ticks(now, len))
		return true;
	n = bwl_share_wants(&a);
	if (n && bwl_ask_once(&a, n, &t, &end, &lost) == BWL_OK) {
		bwl_share_fill(&a, n, &t, end);
		s->bytes -= len;
		return true;
	}
	sim.exactly++;
	return bwl_ask_once(&a, len, &t, &end, &lost) == BWL_OK;
}

static bool charge(unsigned c, uint64_t now, uint32_t len)
{
	bool passes;

	if (sim.cpu[c].busy) {
		sim.interrupted++;
		return charge_with(NULL, now, len);
	}
	sim.cpu[c].busy = true;
	passes = charge_with(&sim.cpu[c].share, now, len);
	sim.cpu[c].busy = false;
	return passes;
}

static void one_packet(unsigned c, uint32_t len)
{
	uint64_t now = sim.now;

	if (sim.depth >= DEPTH || sim.cpu[c].unplugged)
		return;
	sim.depth++;
	sim.packets++;
	if (charge(c, now, len)) {
		sim.passed += len;
		if (!test_between)
			assert_true(bound_pass(&sim.b, allowed_now(), len, sim.burst) == 0);
		else if (sim.nsent < sizeof(sim.sent) / sizeof(sim.sent[0]))
			sim.sent[sim.nsent++] = (struct sent){ now, len };
	}
	sim.depth--;
}

static uint32_t random_len(void)
{
	uint64_t most = sim.burst / 4 < 70000 ? sim.burst / 4 : 70000;

	return 60 + (uint32_t)rnd_below(rnd_below(8) ? 1455 : most);
}

/* Rarely long enough for everything to drain: idle CPUs then still hold their shares. */
static void time_passes(void)
{
	uint64_t burst_ns = (uint64_t)((i128)sim.burst * TICKS / (i128)sim.rate);

	sim.now += rnd_below(burst_ns / (1 + rnd_below(500)) + 2);
	if (!rnd_below(30))
		sim.now += rnd_below(3 * burst_ns);
}

/* Sets any share for any number of CPUs that together hold less than the burst. */
static void random_share(struct bwl_rate *r, uint64_t burst)
{
	uint8_t most = 0;

	while (((uint64_t)sim.ncpu << (most + 1)) < burst / 2)
		most++;
	bwl_rate_encode_for(r, sim.rate, burst, 0);
	r->share = (uint8_t)rnd_below(most + 1U);
	if (r->share)
		r->burst_bytes -= (uint64_t)sim.ncpu << r->share;
}

static void start(void)
{
	memset(&sim, 0, sizeof(sim));
	sim.now = sim.changed = 1000000000;
	sim.ncpu = 1 + (unsigned)rnd_below(MAX_CPUS);
	sim.rate = rnd_scale(BWL_RATE_MIN_BPS, 1600000000000ULL);
	sim.burst = rnd_scale(40000, 1 << 26);
	random_share(&sim.r, sim.burst);
	sim.state.finish_bytes = rnd();
	bwl_rate_follow_for(&sim.r, NULL, &sim.state.finish_bytes, sim.now, sim.ncpu);
	bound_pass(&sim.b, 0, sim.burst - 1, sim.burst); /* in full debt */
}

/* One flow stays on its CPU for a while. Sometimes all CPUs send at once. */
static void some_packets(void)
{
	unsigned c = (unsigned)rnd_below(sim.ncpu), n = 1 + (unsigned)rnd_below(20), i;

	if (!rnd_below(10)) /* more than all shares and the limit have */
		for (i = 0; i < 40 * sim.ncpu; i++)
			one_packet(i % sim.ncpu, random_len());
	for (i = 0; i < n; i++)
		one_packet(c, random_len());
	if (!rnd_below(300))
		sim.cpu[rnd_below(sim.ncpu)].unplugged ^= true;
}

static void no_window_passes_more_than_rate_and_burst(void **state)
{
	uint64_t passed = 0, by_share = 0, by_ticks = 0;
	int n, i;

	(void)state;
	for (n = 0; n < 400; n++) {
		start();
		for (i = 0; i < 300; i++) {
			time_passes();
			some_packets();
		}
		passed += sim.passed;
		by_share += sim.packets - sim.exactly - sim.by_ticks;
		by_ticks += sim.by_ticks;
	}
	assert_true(by_share > 100000 && by_ticks > 100000 && passed > 0);
}

static void between(void)
{
	while (!rnd_below(3) && sim.depth < DEPTH) {
		sim.now += rnd_below(1000);
		one_packet((unsigned)rnd_below(sim.ncpu), random_len());
	}
}

static int by_time(const void *a, const void *b)
{
	const struct sent *x = a, *y = b;

	return x->at < y->at ? -1 : x->at > y->at;
}

static void other_cpus_and_interrupts_between_any_two_steps_pass_no_more(void **state)
{
	uint64_t interrupted = 0;
	size_t i;
	int n, k;

	(void)state;
	for (n = 0; n < 300; n++) {
		struct bound b = { 0 };

		start();
		test_between = between;
		for (k = 0; k < 200; k++) {
			time_passes();
			some_packets();
		}
		test_between = NULL;
		/* Checks every window of what passed, by the packets' own clock. */
		qsort(sim.sent, sim.nsent, sizeof(sim.sent[0]), by_time);
		bound_pass(&b, 0, sim.burst - 1, sim.burst);
		for (i = 0; i < sim.nsent; i++)
			assert_true(bound_pass(&b,
					       allowed_by(sim.rate, sim.sent[i].at - 1000000000),
					       sim.sent[i].len, sim.burst) == 0);
		interrupted += sim.interrupted;
	}
	assert_true(interrupted > 1000);
}

/*
 * Rates and bursts rise and fall, with or without shares. CPUs spend at each change what they held
 * before.
 */
static void changes_of_rate_and_burst_add_nothing_to_what_cpus_hold(void **state)
{
	uint64_t by_share = 0;
	int n, i;

	(void)state;
	for (n = 0; n < 300; n++) {
		start();
		bwl_rate_encode_for(&sim.r, sim.rate, sim.burst, sim.ncpu);
		bwl_rate_follow_for(&sim.r, NULL, &sim.state.finish_bytes, sim.now, sim.ncpu);
		for (i = 0; i < 300; i++) {
			struct bwl_rate old = sim.r;

			time_passes();
			some_packets();
			if (rnd_below(5))
				continue;
			sim.allowed = allowed_now();
			sim.changed = sim.now;
			if (rnd_below(2))
				sim.rate = rnd_scale(BWL_RATE_MIN_BPS, 1600000000000ULL);
			if (rnd_below(3))
				sim.burst = rnd_scale(40000, 1 << 26);
			bwl_rate_encode_for(&sim.r, sim.rate, sim.burst, sim.ncpu);
			bwl_rate_follow_for(&sim.r, &old, &sim.state.finish_bytes, sim.now,
					    sim.ncpu);
			sim.now += 1; /* no two policies at the same time (bwl_share.start_ns) */
			some_packets();
		}
		by_share += sim.packets - sim.exactly;
	}
	assert_true(by_share > 100000);
}

/*
 * The new policy is made a moment before packets use it. A charge by the old one in between is a
 * debt of that charge alone, not of all the time that the limit was idle.
 */
static void a_packet_of_the_old_policy_charges_itself_and_no_more(void **state)
{
	const uint64_t hour = 3600000000000ULL, held = 4ULL << BWL_SHARE_MAX;
	struct bwl_rate old = { 0 }, r = { 0 };
	__u64 word = 12345, was, next;
	uint64_t now = hour;

	(void)state;
	bwl_rate_encode_for(&old, 10000000000ULL, 32 << 20, 4);
	bwl_rate_follow_for(&old, NULL, &word, now, 4);
	now += hour;
	bwl_rate_encode_for(&r, 100000000, 100000, 4);
	assert_true(old.share == BWL_SHARE_MAX && !r.share);
	bwl_rate_follow_for(&r, &old, &word, now, 4);
	assert_int_equal(bwl_rate_take(&old, &word, bwl_rate_drained(&old, now + 1000), 1500, 0,
				       &was, &next),
			 BWL_OK);
	/* 1000 ns at the old rate are 1250 bytes. */
	assert_in_range(bwl_rate_debt(word, bwl_rate_drained(&r, now + 1000)), held + 1500,
			held + 1500 + 1251);
}

static void a_saturated_limit_gives_995_thousandths_whoever_holds_shares(void **state)
{
	uint64_t begin, first;
	unsigned c, i;
	int n;

	(void)state;
	for (n = 0; n < 40; n++) {
		start();
		sim.rate = rnd_scale(100000000, 100000000000ULL);
		sim.burst = 1 << 20;
		bwl_rate_encode_for(&sim.r, sim.rate, sim.burst, sim.ncpu);
		bwl_rate_follow_for(&sim.r, NULL, &sim.state.finish_bytes, sim.now, sim.ncpu);
		sim.b = (struct bound){ 0 };
		sim.now += 8000000000ULL * sim.burst / sim.rate;
		for (c = 0; c < sim.ncpu; c++) /* from here on half of them are idle */
			one_packet(c, 1000);
		for (i = 0; i < 10000; i++) /* … and the others request more than there is */
			one_packet(i % (sim.ncpu / 2 + 1), 1000);
		begin = sim.now;
		first = sim.passed;
		while (sim.passed - first < 200 * sim.burst) {
			sim.now += 1 + rnd_below(8000000000ULL * 700 / sim.rate);
			one_packet((unsigned)rnd_below(sim.ncpu / 2 + 1),
				   60 + (uint32_t)rnd_below(1455));
		}
		assert_true((i128)(sim.passed - first) * TICKS * 1000 >=
			    allowed_by(sim.rate, sim.now - begin) * 995);
	}
}

static void a_share_is_void_under_another_policy_or_limit_or_in_another_slice(void **state)
{
	struct bwl_share s = { .start_ns = 5, .until_ns = 70, .owner = STATE, .bytes = 1000 };
	struct bwl_rate r = { .start_ns = 5, .share = 12 };

	(void)state;
	assert_true(bwl_share_has(&s, &r, STATE, 69, 1000));
	assert_false(bwl_share_has(&s, &r, STATE, 70, 1000));
	assert_false(bwl_share_has(&s, &r, STATE, 69, 1001));
	assert_false(bwl_share_has(&s, &r, STATE + 2, 69, 1000));
	r.start_ns = 6;
	assert_false(bwl_share_has(&s, &r, STATE, 69, 1000));
}

/* What one peer holds never goes to another peer, and is not discarded while in use. */
static void an_entry_is_taken_over_empty_or_when_it_was_not_filled_for_a_second(void **state)
{
	struct bwl_share_entry x = { .share = { .bytes = 0 } };
	const uint64_t now = 100ULL << BWL_SHARE_IDLE_SHIFT;

	(void)state;
	assert_true(bwl_share_free(&x, now));
	x.share.bytes = 1;
	x.filled = 100;
	assert_false(bwl_share_free(&x, now));
	assert_false(bwl_share_free(&x, now + (1ULL << BWL_SHARE_IDLE_SHIFT)));
	assert_true(bwl_share_free(&x, now + (2ULL << BWL_SHARE_IDLE_SHIFT)));
}

static void small_bursts_are_not_shared_out_and_large_ones_by_at_most_an_eighth(void **state)
{
	static const struct {
		uint64_t burst;
		unsigned cpus;
		uint8_t share;
	} is[] = { /* docs/limits.md */
		   { 73728, 2, 0 },       { (1 << 20) - 1, 1, 0 }, { 1 << 20, 2, 16 },
		   { 1 << 20, 8, 14 },    { 1 << 20, 16, 13 },     { 1 << 20, 64, 11 },
		   { 1 << 20, 65, 0 },    { 32 << 20, 8, 17 },     { 32 << 20, 16, 17 },
		   { 32 << 20, 128, 15 }, { 1 << 30, 16, 17 },     { 1 << 30, 0, 0 }
	};
	struct bwl_rate r = { 0 };
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(is) / sizeof(is[0]); i++) {
		bwl_rate_encode_for(&r, 1000000000, is[i].burst, is[i].cpus);
		assert_int_equal(r.share, is[i].share);
		assert_true(r.burst_bytes + 1 +
				    (is[i].share ? (uint64_t)is[i].cpus << r.share : 0) ==
			    is[i].burst);
		assert_true(r.burst_bytes + 1 >= is[i].burst / 8 * 7);
	}
	bwl_rate_encode_for(&r, BWL_NO_RATE, 1 << 30, 4);
	assert_int_equal(r.share, 0);
	for (i = 0; i < 1000; i++) { /* the configured value is read back */
		uint64_t burst = rnd_scale(BWL_MIN_BURST, BWL_MAX_BURST);

		bwl_rate_encode(&r, 1000000000, burst);
		assert_true(bwl_rate_burst(&r) == burst);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(no_window_passes_more_than_rate_and_burst),
		cmocka_unit_test(other_cpus_and_interrupts_between_any_two_steps_pass_no_more),
		cmocka_unit_test(changes_of_rate_and_burst_add_nothing_to_what_cpus_hold),
		cmocka_unit_test(a_packet_of_the_old_policy_charges_itself_and_no_more),
		cmocka_unit_test(a_saturated_limit_gives_995_thousandths_whoever_holds_shares),
		cmocka_unit_test(a_share_is_void_under_another_policy_or_limit_or_in_another_slice),
		cmocka_unit_test(
			an_entry_is_taken_over_empty_or_when_it_was_not_filled_for_a_second),
		cmocka_unit_test(
			small_bursts_are_not_shared_out_and_large_ones_by_at_most_an_eighth),
	};

	return cmocka_run_group_tests_name("shares", tests, NULL, NULL);
}
