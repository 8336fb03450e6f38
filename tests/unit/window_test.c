// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Promise 3 for volumes with a window: any interval as long as the window passes at most the
 * volume, at least 90 % of it can be used, and neither a change of policy nor a clock refills it.
 */
#include <pthread.h>
#include "limiter.h"

#define MAX_SENT 40000

/* The packet passed between these two times. */
struct sent {
	uint64_t before, after;
	uint64_t window; /* the shortest since the previous packet */
	uint64_t volume; /* in force when it passed */
	uint32_t len;
};

static struct sim {
	struct bwl_limit l;
	struct bwl_state s;
	struct bwl_window w;
	uint64_t now, window, shortest;
	struct sent sent[MAX_SENT];
	size_t n;
	uint64_t passed;
	int depth;
} sim;

static void set_window(uint64_t window)
{
	sim.window = window;
	if (!sim.shortest || window < sim.shortest)
		sim.shortest = window;
	sim.l.volume.slice_ns = (window + BWL_WINDOW_SLICES - 1) / BWL_WINDOW_SLICES;
}

static void start(uint64_t window, uint64_t volume)
{
	memset(&sim, 0, sizeof(sim));
	sim.l.rate.flags = BWL_RATE_UNLIMITED;
	sim.l.volume.spendable_bytes = volume;
	set_window(window);
	sim.now = rnd_scale(1, 1ULL << 60);
}

static bool pass(struct bwl_limit *l, uint64_t now, uint64_t len)
{
	struct bwl_taken t = { 0 };

	if (limit_take(l, &sim.s, &sim.w, BWL_RELEASE_NONE, now, len, &t) != BWL_OK)
		return false;
	if (!rnd_below(8)) { /* another limit refuses it */
		assert_int_equal(bwl_limit_undo(l, &sim.s, &sim.w, now, len, &t), 0);
		return false;
	}
	bwl_limit_commit(&sim.w, len, &t);
	return true;
}

static bool offer(uint64_t len)
{
	uint64_t now = sim.now;

	sim.depth++;
	if (!pass(&sim.l, now, len)) {
		sim.depth--;
		return false;
	}
	sim.depth--;
	sim.passed += len;
	if (sim.n < MAX_SENT)
		sim.sent[sim.n++] = (struct sent){ now, sim.now, sim.shortest,
						   sim.l.volume.spendable_bytes, (uint32_t)len };
	sim.shortest = sim.window;
	return true;
}

/*
 * Checks everything that lies wholly within an interval that ends with packet j. If the window was
 * shorter in between, nothing older is remembered.
 */
static void check_intervals(void)
{
	size_t i, j;

	for (j = 0; j < sim.n; j++) {
		const struct sent *x = &sim.sent[j];
		uint64_t sum = 0, window = ~0ULL;

		for (i = j + 1; i-- > 0;) {
			const struct sent *y = &sim.sent[i];

			if (y->after <= x->after && x->after - y->before <= sim.sent[j].window &&
			    x->after - y->before <= window)
				sum += y->len;
			if (y->window < window)
				window = y->window;
		}
		assert_true(sum <= x->volume);
	}
}

/*
 * Promise 3 after a reboot: while the release is closed, the agent writes the window
 * (agent/ledger/release_adopt.c). A packet that turned the window meanwhile would subtract what was
 * just written from the total, which gives volume back.
 */
static void a_packet_that_reads_a_closed_release_leaves_the_window_alone(void **state)
{
	struct bwl_state s = { 0 };
	struct bwl_window w, was;
	struct bwl_taken t = { 0 };
	struct bwl_limit l = {
		.rate.flags = BWL_RATE_UNLIMITED,
		.volume = { .spendable_bytes = 1000000, .slice_ns = 1000000000, .epoch = 3 },
	};

	(void)state;
	memset(&w, 0, sizeof(w));
	w.turn = 5 | 2ULL << BWL_TURN_EPOCH_SHIFT; /* an old turn of another window */
	w.total_bytes = 700000;
	w.slice_bytes[5] = 700000;
	was = w;
	assert_int_equal(limit_take(&l, &s, &w, BWL_RELEASE_CLOSED, 100000000000ULL, 60, &t),
			 BWL_OVER_LEDGER);
	assert_memory_equal(&w, &was, sizeof(w));
	/* The agent, or a process that died, holds the lock: the packet does not wait for it. */
	w.turn |= BWL_TURN_LOCK;
	was = w;
	assert_int_equal(limit_take(&l, &s, &w, BWL_RELEASE_CLOSED, 100000000000ULL, 60, &t),
			 BWL_OVER_LEDGER);
	assert_memory_equal(&w, &was, sizeof(w));
	/* Control: a packet that may pass turns the window. */
	w.turn &= ~BWL_TURN_LOCK;
	assert_int_equal(limit_take(&l, &s, &w, BWL_RELEASE_NONE, 100000000000ULL, 60, &t), BWL_OK);
	assert_int_not_equal(w.turn, was.turn & ~BWL_TURN_LOCK);
}

static void no_interval_of_window_length_passes_more(void **state)
{
	int n, i;

	(void)state;
	for (n = 0; n < 100; n++) {
		uint64_t window = rnd_scale(BWL_WINDOW_MIN_NS, 1ULL << 55);
		uint64_t volume = rnd_scale(10000, 300000);

		start(window, volume);
		for (i = 0; i < 4000 && sim.n < 2000; i++) {
			/* Often around the turns of slices, and anywhere else. */
			if (rnd_below(3))
				sim.now += rnd_below(window / 30);
			else if (rnd_below(2))
				sim.now += sim.l.volume.slice_ns - sim.now % sim.l.volume.slice_ns;
			else
				sim.now += sim.l.volume.slice_ns - 1 -
					   sim.now % sim.l.volume.slice_ns;
			if (!rnd_below(100))
				sim.now += rnd_below(3 * window);
			offer(1 + rnd_below(9000));
		}
		check_intervals();
	}
}

static void at_least_nine_tenths_can_be_used(void **state)
{
	int n;

	(void)state;
	for (n = 0; n < 30; n++) {
		uint64_t window = rnd_scale(BWL_WINDOW_MIN_NS, 1ULL << 50), begin;
		uint64_t volume = 1000000;

		start(window, volume);
		begin = sim.now;
		while (sim.now - begin < 20 * window) {
			sim.now += window / 1000;
			offer(1 + rnd_below(3000));
		}
		/* The last window, which is not over, does not count. */
		assert_true(sim.passed * 10 >= 19 * volume * 9);
		assert_true(sim.passed <= 21 * volume);
	}
}

static void another_window_never_refills(void **state)
{
	struct bwl_limit old;
	uint64_t k;
	int n, i;

	(void)state;
	for (n = 0; n < 100; n++) {
		start(rnd_scale(BWL_WINDOW_MIN_NS, 1ULL << 45), rnd_scale(10000, 300000));
		for (i = 0; i < 3000 && sim.n < 2000; i++) {
			sim.now += rnd_below(sim.window / 20);
			offer(1 + rnd_below(9000));
			if (rnd_below(60))
				continue;
			old = sim.l;
			set_window(rnd_scale(BWL_WINDOW_MIN_NS, 1ULL << 45));
			sim.l.volume.epoch = (sim.l.volume.epoch + 1) & 0x7f;
			if (rnd_below(2))
				sim.l.volume.spendable_bytes = rnd_scale(10000, 300000);
			/* A packet of the old policy may still be in progress. */
			for (k = rnd_below(4); k; k--) {
				old.volume.spendable_bytes = 0;
				pass(rnd_below(2) ? &old : &sim.l, sim.now, 400000);
			}
		}
		check_intervals();
	}
}

static void a_raised_volume_keeps_what_is_used(void **state)
{
	uint64_t sent = 0;

	(void)state;
	start(11000000000, 100000);
	while (sent < 100000)
		sent += offer(1000) ? 1000 : 0;
	assert_false(offer(1));
	sim.l.volume.spendable_bytes = 150000;
	for (sent = 0; sent < 50000;)
		sent += offer(1000) ? 1000 : 0;
	assert_false(offer(1));
	sim.l.volume.spendable_bytes = 100000;
	sim.now += 11000000000;
	assert_false(offer(1)); /* at most 11 slices have passed */
	sim.now += 1000000000;
	while (!offer(1000))
		;
}

static void a_clock_that_goes_back_never_refills(void **state)
{
	int i;

	(void)state;
	start(11000000000, 100000);
	sim.now = 1ULL << 50;
	for (i = 0; i < 1000; i++)
		offer(1000);
	assert_int_equal(sim.passed, 100000);
	for (i = 0; i < 100000; i++) {
		sim.now = rnd_below(1ULL << 50);
		assert_false(offer(1));
	}
}

static void years_of_idleness_read_as_an_empty_window(void **state)
{
	int i;

	(void)state;
	start(11000000000, 100000);
	for (i = 0; i < 1000; i++)
		offer(1000);
	sim.now += 100ULL * 365 * 86400 * 1000000000;
	sim.passed = 0;
	for (i = 0; i < 1000; i++)
		offer(1000);
	assert_int_equal(sim.passed, 100000);
}

static void between(void)
{
	while (!rnd_below(3) && sim.depth < 4) {
		sim.now += rnd_below(1000000);
		offer(1 + rnd_below(9000));
	}
}

static void packets_between_any_two_steps_pass_no_more(void **state)
{
	int n, i;

	(void)state;
	for (n = 0; n < 100; n++) {
		start(BWL_WINDOW_MIN_NS, rnd_scale(10000, 300000));
		test_between = between;
		for (i = 0; i < 2000 && sim.n < 2000; i++) {
			sim.now += rnd_below(sim.window / 20);
			if (!rnd_below(10))
				sim.now += sim.l.volume.slice_ns - 1000 -
					   sim.now % sim.l.volume.slice_ns;
			offer(1 + rnd_below(9000));
		}
		test_between = NULL;
		check_intervals();
	}
}

#define THREADS 4
#define PER_THREAD 20000

static struct race {
	uint64_t now;
	struct sent sent[THREADS][PER_THREAD];
	size_t n[THREADS];
	pthread_barrier_t go;
} race;

static void *racer(void *arg)
{
	unsigned me = (unsigned)(uintptr_t)arg;
	uint64_t x = 88172645463325252ULL + me;
	int i;

	pthread_barrier_wait(&race.go);
	for (i = 0; i < PER_THREAD; i++) {
		struct bwl_taken t = { 0 };
		uint64_t len, now;

		x ^= x << 13, x ^= x >> 7, x ^= x << 17;
		len = 1 + x % 9000;
		now = __atomic_add_fetch(&race.now, x % 20000000, __ATOMIC_SEQ_CST);
		if (limit_take(&sim.l, &sim.s, &sim.w, BWL_RELEASE_NONE, now, len, &t) != BWL_OK)
			continue;
		if (!(x >> 32 & 7)) {
			bwl_limit_undo(&sim.l, &sim.s, &sim.w, now, len, &t);
			continue;
		}
		bwl_limit_commit(&sim.w, len, &t);
		race.sent[me][race.n[me]++] =
			(struct sent){ now, __atomic_load_n(&race.now, __ATOMIC_SEQ_CST),
				       sim.window, sim.l.volume.spendable_bytes, (uint32_t)len };
	}
	return NULL;
}

static int by_end(const void *a, const void *b)
{
	const struct sent *x = a, *y = b;

	return x->after < y->after ? -1 : x->after > y->after;
}

static void threads_that_race_pass_no_more(void **state)
{
	pthread_t t[THREADS];
	uint64_t total = 0;
	unsigned i;

	(void)state;
	start(BWL_WINDOW_MIN_NS, 200000);
	race.now = sim.now;
	pthread_barrier_init(&race.go, NULL, THREADS);
	for (i = 0; i < THREADS; i++)
		assert_int_equal(pthread_create(&t[i], NULL, racer, (void *)(uintptr_t)i), 0);
	for (i = 0; i < THREADS; i++)
		pthread_join(t[i], NULL);
	pthread_barrier_destroy(&race.go);
	for (i = 0; i < THREADS; i++) {
		memcpy(sim.sent + sim.n, race.sent[i], race.n[i] * sizeof(struct sent));
		sim.n += race.n[i];
	}
	assert_true(sim.n > 1000 && sim.n < MAX_SENT);
	qsort(sim.sent, sim.n, sizeof(sim.sent[0]), by_end);
	check_intervals();
	/* With no packet in progress, the total is the sum of the slices. */
	for (i = 0; i < BWL_SLICES_KEPT; i++)
		total += sim.w.slice_bytes[i];
	assert_true(total == sim.w.total_bytes);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(no_interval_of_window_length_passes_more),
		cmocka_unit_test(a_packet_that_reads_a_closed_release_leaves_the_window_alone),
		cmocka_unit_test(at_least_nine_tenths_can_be_used),
		cmocka_unit_test(another_window_never_refills),
		cmocka_unit_test(a_raised_volume_keeps_what_is_used),
		cmocka_unit_test(a_clock_that_goes_back_never_refills),
		cmocka_unit_test(years_of_idleness_read_as_an_empty_window),
		cmocka_unit_test(packets_between_any_two_steps_pass_no_more),
		cmocka_unit_test(threads_that_race_pass_no_more),
	};

	return cmocka_run_group_tests_name("windows", tests, NULL, NULL);
}
