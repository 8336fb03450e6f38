// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Promise 3 with shares (bpf/lib/share.h): several simulated CPUs take from a volume in advance.
 * With it they stay idle, are unplugged or are interrupted in the middle. Never one byte more than
 * the volume passes, also in any window, and 99 % of it can be used.
 */
#include <bwl/units.h>
#include "limiter.h"
#include "bpf/lib/share.h"

#define MAX_CPUS 16
#define MAX_SENT 60000
#define STATE 7
#define HOUR 3600000000000ULL

struct sent {
	uint64_t before, after; /* it passed between these times */
	uint32_t len;
};

static struct sim {
	struct bwl_limit l;
	struct bwl_state state;
	struct bwl_window window;
	uint64_t now, passed, by_share, by_ticks;
	uint32_t cpu_bits;
	unsigned ncpu, depth;
	struct {
		struct bwl_share share;
		bool busy, idle;
	} cpu[MAX_CPUS];
	struct sent sent[MAX_SENT];
	size_t n;
} sim;

static struct bwl_asked asked(struct bwl_share *s, uint64_t now, uint32_t len)
{
	bool has_volume = sim.l.volume.spendable_bytes != BWL_VOLUME_NONE;

	return (struct bwl_asked){ .rate = &sim.l.rate,
				   .limit = has_volume ? &sim.l : NULL,
				   .state = &sim.state,
				   .window = sim.l.volume.slice_ns ? &sim.window : NULL,
				   .share = s,
				   .now_ns = now,
				   .len = len,
				   .owner = STATE,
				   .cpu_bits = sim.cpu_bits };
}

/* Like bwl_own_cold() of bpf/lib/held.h. */
static bool charge_by_ticks(uint64_t now, uint32_t len)
{
	struct bwl_window *w = sim.l.volume.slice_ns ? &sim.window : NULL;
	struct bwl_cold c = { .now_ns = now + rnd_below(20000000),
			      .least_ns = now - rnd_below(20000000),
			      .len = len };
	struct bwl_taken t;

	if (!bwl_limit_try(&sim.l, &sim.state, w, &c, &t))
		return false;
	bwl_limit_commit(w, len, &t);
	sim.by_ticks++;
	return true;
}

/* Like bpf/lib/charge.h: from the share, else from a filled share, else exactly. */
static bool charge(struct bwl_share *s, uint64_t now, uint32_t len)
{
	struct bwl_asked a = asked(s, now, len);
	struct bwl_taken t;
	uint32_t lost = 0, n;
	__u64 end;

	if (s && bwl_share_has(s, a.rate, STATE, now, len)) {
		s->bytes -= len;
		sim.by_share++;
		return true;
	}
	if (sim.l.volume.spendable_bytes != BWL_VOLUME_NONE && !rnd_below(4) &&
	    charge_by_ticks(now, len))
		return true;
	n = bwl_share_wants(&a);
	if (n && bwl_ask_once(&a, n, &t, &end, &lost) == BWL_OK) {
		bwl_share_fill(&a, n, &t, end);
		s->bytes -= len;
		sim.by_share++;
		return true;
	}
	if (bwl_ask_once(&a, len, &t, &end, &lost) != BWL_OK)
		return false;
	if (t.volume)
		bwl_limit_commit(a.window, len, &t);
	return true;
}

static bool packet(unsigned c, uint32_t len)
{
	uint64_t before = sim.now;
	bool nested, passes;

	if (sim.depth >= 3 || sim.cpu[c].idle)
		return false;
	sim.depth++;
	nested = sim.cpu[c].busy;
	sim.cpu[c].busy = true;
	passes = charge(nested ? NULL : &sim.cpu[c].share, before, len);
	sim.cpu[c].busy = nested;
	sim.depth--;
	if (!passes)
		return false;
	sim.passed += len;
	if (sim.n < MAX_SENT)
		sim.sent[sim.n++] = (struct sent){ before, sim.now, len };
	return true;
}

static uint32_t random_len(void)
{
	return 60 + (uint32_t)rnd_below(rnd_below(8) ? 1455 : 65000);
}

static void start(uint64_t volume, uint64_t window)
{
	memset(&sim, 0, sizeof(sim));
	sim.now = HOUR * 100 + rnd_below(HOUR);
	sim.ncpu = 1 + (unsigned)rnd_below(MAX_CPUS);
	while (1U << sim.cpu_bits < sim.ncpu)
		sim.cpu_bits++;
	sim.l.rate.flags = BWL_RATE_UNLIMITED;
	sim.l.rate.start_ns = 1;
	sim.l.volume.spendable_bytes = volume;
	if (window)
		sim.l.volume.slice_ns = (window + BWL_WINDOW_SLICES - 1) / BWL_WINDOW_SLICES;
}

static void between(void)
{
	while (!rnd_below(4) && sim.depth < 3) {
		sim.now += rnd_below(1000);
		packet((unsigned)rnd_below(sim.ncpu), random_len());
	}
}

static void never_a_byte_above_a_volume_and_99_of_100_are_to_be_had(void **state)
{
	uint64_t by_share = 0, by_ticks = 0, volume;
	unsigned i, c;
	int n;

	(void)state;
	for (n = 0; n < 60; n++) {
		volume = rnd_scale(1 << 20, 1ULL << 33);
		start(volume, 0);
		test_between = n % 2 ? between : NULL;
		/* Each CPU takes the largest share that it gets; then some of them stay idle. */
		for (c = 0; c < sim.ncpu; c++)
			packet(c, 1000);
		for (c = 1; c < sim.ncpu; c++)
			sim.cpu[c].idle = rnd_below(2);
		/* Charges a large first part at once: a billion packets would take too long. */
		if (volume > 1 << 28) {
			uint64_t part = volume - (1 << 28) - sim.state.used_bytes;

			sim.state.used_bytes += part;
			sim.passed += part;
		}
		for (i = 0; i < 300000; i++) {
			c = rnd_below(3) ? 0 : (unsigned)rnd_below(sim.ncpu);
			if (!packet(c, random_len()) && i > 1000 && !packet(0, 60))
				break;
			assert_true(sim.passed <= volume);
		}
		test_between = NULL;
		assert_true(sim.passed <= volume && sim.state.used_bytes <= volume);
		if (i < 300000)
			assert_true(sim.passed >= volume - volume / 100 - 60);
		by_share += sim.by_share;
		by_ticks += sim.by_ticks;
	}
	assert_true(by_share > 100000 && by_ticks > 10000);
}

/* Checks everything that lies wholly within an interval as long as the window. */
static void check_windows(uint64_t window)
{
	uint64_t sum = 0;
	size_t i = 0, j;

	for (j = 0; j < sim.n; j++) {
		sum += sim.sent[j].len;
		while (sim.sent[j].after - sim.sent[i].before > window)
			sum -= sim.sent[i++].len;
		assert_true(sum <= sim.l.volume.spendable_bytes);
	}
}

static void no_interval_passes_more_than_a_windowed_volume(void **state)
{
	uint64_t by_share = 0, by_ticks = 0, window, volume;
	unsigned i, c;
	int n;

	(void)state;
	for (n = 0; n < 150; n++) {
		window = rnd_scale(1000000, HOUR);
		volume = rnd_scale(1 << 24, 1 << 27);
		start(volume, window);
		for (i = 0; i < 40000; i++) {
			c = (unsigned)rnd_below(sim.ncpu);
			if (!rnd_below(400)) /* long enough for some share to outlive its slice */
				sim.now += rnd_below(window / 8);
			else
				sim.now += rnd_below(window / 2000000 + 2);
			if (!packet(c, random_len()) && !rnd_below(20))
				sim.now += rnd_below(window / 8);
			if (!rnd_below(2000))
				sim.cpu[rnd_below(sim.ncpu)].idle ^= true;
		}
		check_windows(window);
		by_share += sim.by_share;
		by_ticks += sim.by_ticks;
	}
	assert_true(by_share > 100000 && by_ticks > 10000);
}

static void a_windowed_volume_gives_90_of_100_in_the_long_run(void **state)
{
	const uint64_t window = 11000000, volume = 1ULL << 32;
	uint64_t begin, first;
	unsigned c;

	(void)state;
	start(volume, window);
	sim.ncpu = 16;
	sim.cpu_bits = 4;
	begin = sim.now;
	while (sim.now - begin < 2 * window) { /* 64 KiB per 100 ns: more than there is */
		sim.now += 100;
		packet((unsigned)rnd_below(sim.ncpu / 2), 65000);
		if (!rnd_below(1000))
			for (c = 8; c < 16; c++) /* they lose what they hold with each slice */
				packet(c, 60);
	}
	first = sim.passed;
	begin = sim.now;
	while (sim.now - begin < 5 * window) {
		sim.now += 100;
		packet((unsigned)rnd_below(sim.ncpu / 2), 65000);
		if (!rnd_below(1000))
			for (c = 8; c < 16; c++)
				packet(c, 60);
	}
	assert_true(sim.passed - first <= 6 * volume);
	assert_true(sim.passed - first >= volume * 5 / 100 * 90);
}

static void small_volumes_are_not_shared_out_and_the_rest_of_one_is_not(void **state)
{
	struct bwl_share s = { 0 };
	struct bwl_asked a;

	(void)state;
	start(1 << 30, 0);
	sim.cpu_bits = 4;
	a = asked(&s, sim.now, 1000);
	assert_int_equal(bwl_share_most(&a), 32768); /* docs/limits.md */
	sim.state.used_bytes = (1 << 30) - (64 << 20);
	assert_int_equal(bwl_share_most(&a), 2048);
	sim.state.used_bytes++;
	assert_int_equal(bwl_share_most(&a), 0);
	sim.state.used_bytes = 0;
	a.released = 64 << 20; /* only what the ledger has released counts */
	assert_int_equal(bwl_share_most(&a), 2048);
	a.released = BWL_RELEASE_AWAITED;
	assert_int_equal(bwl_share_most(&a), 0);
}

/* Packets timed by ticks do not turn a window: the clock finds what leaves it. */
static void a_window_that_has_not_turned_is_left_to_the_clock(void **state)
{
	struct bwl_cold c = { .len = 1000 };
	struct bwl_taken t;
	uint32_t lost = 0;
	struct bwl_asked a;
	__u64 end;

	(void)state;
	start(1000000, HOUR);
	sim.now = 1000 * sim.l.volume.slice_ns;
	a = asked(NULL, sim.now, 1000);
	assert_int_equal(bwl_ask_once(&a, 1000, &t, &end, &lost), BWL_OK);
	c.now_ns = c.least_ns = sim.now;
	assert_true(bwl_limit_try(&sim.l, &sim.state, &sim.window, &c, &t));
	c.now_ns += sim.l.volume.slice_ns;
	assert_false(bwl_limit_try(&sim.l, &sim.state, &sim.window, &c, &t));
	sim.window.turn |= BWL_TURN_LOCK;
	c.now_ns = sim.now;
	assert_false(bwl_limit_try(&sim.l, &sim.state, &sim.window, &c, &t));
	assert_int_equal(sim.window.total_bytes, 2000);
}

/* By the ticks as by the clock: the volume was lowered, or the ledger has released less. */
static void what_is_spent_above_a_lowered_volume_leaves_no_room(void **state)
{
	(void)state;
	for (unsigned i = 0; i < 4; i++) {
		struct bwl_cold c = { .len = 1000 };
		struct bwl_window *w;
		struct bwl_taken t;
		struct bwl_asked a;
		uint32_t lost = 0;
		__u64 end, *used;

		start(1000000, i & 1 ? HOUR : 0);
		sim.now = i & 1 ? 1000 * sim.l.volume.slice_ns : HOUR;
		w = i & 1 ? &sim.window : NULL;
		used = w ? &sim.window.total_bytes : &sim.state.used_bytes;
		a = asked(NULL, sim.now, 1000);
		c.now_ns = c.least_ns = sim.now;
		assert_int_equal(bwl_ask_once(&a, 1000, &t, &end, &lost), BWL_OK);
		assert_true(bwl_limit_try(&sim.l, &sim.state, w, &c, &t));
		*used = 500000;
		if (i & 2)
			a.released = c.released = 400000;
		else
			sim.l.volume.spendable_bytes = 400000;
		assert_int_not_equal(bwl_ask_once(&a, 1000, &t, &end, &lost), BWL_OK);
		assert_false(bwl_limit_try(&sim.l, &sim.state, w, &c, &t));
		assert_int_equal(*used, 500000);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(never_a_byte_above_a_volume_and_99_of_100_are_to_be_had),
		cmocka_unit_test(no_interval_passes_more_than_a_windowed_volume),
		cmocka_unit_test(a_windowed_volume_gives_90_of_100_in_the_long_run),
		cmocka_unit_test(a_window_that_has_not_turned_is_left_to_the_clock),
		cmocka_unit_test(what_is_spent_above_a_lowered_volume_leaves_no_room),
		cmocka_unit_test(small_volumes_are_not_shared_out_and_the_rest_of_one_is_not),
	};

	return cmocka_run_group_tests_name("shares of volumes", tests, NULL, NULL);
}
