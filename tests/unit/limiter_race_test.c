// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Promises 2 and 3 with several CPUs: packets that come between any two atomic operations of
 * another packet (simulated, so that every run is the same), and threads that really race. There
 * are several levels, with refusals by the outer one and refunds by the inner ones.
 */
#include <pthread.h>
#include "limiter.h"

#define LEVELS 3
#define DEPTH 4 /* packets in progress at once */

struct level {
	struct bwl_limit l;
	struct bwl_state s;
	struct bwl_window w; /* used when the volume has a window */
	uint64_t rate, burst;
	struct bound b;
	i128 allowed; /* up to sim.changed */
	uint64_t passed;
};

struct sent {
	uint64_t at;
	uint32_t len;
};

static struct sim {
	struct level level[LEVELS];
	uint64_t now, changed;
	uint64_t lost; /* refunds that were not possible */
	uint64_t undone;
	uint64_t step; /* most time that may pass between two atomic operations */
	uint32_t min_len;
	int depth;
	struct sent sent[20000];
	size_t nsent;
} sim;

/* Like bpf/lib/charge.h: charges all levels, and refunds on a refusal. */
static bool charge(struct level *level, uint64_t now, uint64_t len, uint64_t *lost)
{
	struct bwl_taken t[LEVELS] = { 0 };
	struct bwl_window *w[LEVELS];
	int i, j = BWL_OK;

	for (i = 0; i < LEVELS; i++)
		w[i] = level[i].l.volume.slice_ns ? &level[i].w : NULL;
	for (i = 0; j == BWL_OK && i < LEVELS; i++)
		j = limit_take(&level[i].l, &level[i].s, w[i], BWL_RELEASE_NONE, now, len, &t[i]);
	if (j == BWL_OK) {
		for (i = 0; i < LEVELS; i++)
			bwl_limit_commit(w[i], len, &t[i]);
		return true;
	}
	for (i = 0; i < LEVELS; i++)
		*lost += bwl_limit_undo(&level[i].l, &level[i].s, w[i], now, len, &t[i]);
	return false;
}

static i128 allowed_now(const struct level *x)
{
	return x->allowed + allowed_by(x->rate, sim.now - sim.changed);
}

static int by_time(const void *a, const void *b)
{
	const struct sent *x = a, *y = b;

	return x->at < y->at ? -1 : x->at > y->at;
}

/* Checks every window of what passed, by the packets' own clock. */
static void check_windows(struct level *level, struct sent *sent, size_t n, uint64_t begin)
{
	size_t i;
	int k;

	qsort(sent, n, sizeof(*sent), by_time);
	for (k = 0; k < LEVELS; k++) {
		struct bound b = { 0 };

		bound_pass(&b, 0, level[k].burst - 1, level[k].burst);
		for (i = 0; i < n; i++)
			assert_true(bound_pass(&b, allowed_by(level[k].rate, sent[i].at - begin),
					       sent[i].len, level[k].burst) == 0);
	}
}

static void one_packet(void)
{
	uint64_t len = sim.min_len + rnd_below(1455), now = sim.now;
	int i;

	if (sim.depth >= DEPTH)
		return;
	sim.depth++;
	if (charge(sim.level, now, len, &sim.lost)) {
		for (i = 0; i < LEVELS; i++) {
			struct level *x = &sim.level[i];

			x->passed += len;
			if (!sim.step)
				assert_true(bound_pass(&x->b, allowed_now(x), len, x->burst) == 0);
		}
		if (sim.nsent < sizeof(sim.sent) / sizeof(sim.sent[0]))
			sim.sent[sim.nsent++] = (struct sent){ now, (uint32_t)len };
	} else {
		sim.undone++;
	}
	sim.depth--;
}

static void between(void)
{
	while (!rnd_below(4) && sim.depth < DEPTH) {
		sim.now += rnd_below(sim.step);
		one_packet();
	}
}

static void start(uint64_t rate)
{
	int i;

	memset(&sim, 0, sizeof(sim));
	sim.now = sim.changed = 1000000000;
	sim.min_len = 60;
	for (i = 0; i < LEVELS; i++) {
		struct level *x = &sim.level[i];

		x->rate = rate / 2 + rnd_below(rate);
		x->burst = 2 * BWL_MIN_BURST + rnd_below(20000);
		bwl_rate_encode(&x->l.rate, x->rate, x->burst);
		x->l.volume.spendable_bytes = BWL_VOLUME_NONE;
		x->s.finish_bytes = rnd();
		bwl_rate_follow(&x->l.rate, NULL, &x->s.finish_bytes, sim.now);
		bound_pass(&x->b, 0, x->burst - 1, x->burst);
	}
}

static uint64_t gap(uint64_t rate)
{
	return rnd_below(2 * (uint64_t)(700.0 * 8e9 / (double)rate) + 2);
}

static void packets_between_any_two_steps_pass_no_more(void **state)
{
	uint64_t lost = 0, undone = 0, rate, begin;
	int n, i;

	(void)state;
	test_between = between;
	for (n = 0; n < 300; n++) {
		rate = rnd_scale(1000000, 1600000000000ULL);
		start(rate);
		begin = sim.now;
		sim.step = gap(rate) + 1;
		for (i = 0; i < 2000; i++) {
			sim.now += gap(rate);
			one_packet();
		}
		check_windows(sim.level, sim.sent, sim.nsent, begin);
		lost += sim.lost;
		undone += sim.undone;
	}
	test_between = NULL;
	assert_true(undone > 10000 && lost > 1000); /* both occurred often */
}

static void policy_changes_between_any_two_packets_pass_no_more(void **state)
{
	uint64_t rate;
	int n, i, k;

	(void)state;
	test_between = between;
	for (n = 0; n < 300; n++) {
		rate = rnd_scale(1000000, 1600000000000ULL);
		start(rate);
		for (i = 0; i < 1000; i++) {
			sim.now += gap(rate);
			one_packet();
			for (k = 0; !rnd_below(10) && k < LEVELS; k++) {
				struct level *x = &sim.level[k];
				struct bwl_rate old = x->l.rate;
				int j;

				for (j = 0; j < LEVELS; j++)
					sim.level[j].allowed = allowed_now(&sim.level[j]);
				sim.changed = sim.now;
				x->rate = rate / 2 + rnd_below(rate);
				x->burst = 2 * BWL_MIN_BURST + rnd_below(20000);
				bwl_rate_encode(&x->l.rate, x->rate, x->burst);
				bwl_rate_follow(&x->l.rate, &old, &x->s.finish_bytes, sim.now);
			}
		}
	}
	test_between = NULL;
}

static void alone_a_refusal_leaves_every_limit_as_it_was(void **state)
{
	struct bwl_state before[LEVELS];
	uint64_t lost = 0, refused = 0;
	int i, k;

	(void)state;
	start(1000000000);
	for (k = 0; k < LEVELS; k++) {
		sim.level[k].l.volume.spendable_bytes = 1000000;
		if (k == 1) {
			sim.level[k].l.volume.slice_ns = 1000000000;
			sim.level[k].l.volume.window = 0;
		}
	}
	for (i = 0; i < 100000; i++) {
		uint64_t total = sim.level[1].w.total_bytes;

		sim.now += gap(1500000000);
		for (k = 0; k < LEVELS; k++)
			before[k] = sim.level[k].s;
		if (charge(sim.level, sim.now, 60 + rnd_below(1455), &lost))
			continue;
		refused++;
		for (k = 0; k < LEVELS; k++)
			assert_memory_equal(&before[k], &sim.level[k].s, sizeof(before[k]));
		/* The window may have turned, but nothing was added. */
		assert_true(sim.level[1].w.total_bytes <= total);
	}
	assert_int_equal(lost, 0);
	assert_true(refused > 1000);
}

static void a_saturated_limit_between_racing_packets_still_gives_995(void **state)
{
	uint64_t begin;
	int n;

	(void)state;
	test_between = between;
	for (n = 0; n < 20; n++) {
		struct level *x = &sim.level[0];

		start(1000000000);
		sim.level[1].rate = sim.level[2].rate = 20000000000ULL;
		for (int k = 1; k < LEVELS; k++) {
			bwl_rate_encode(&sim.level[k].l.rate, sim.level[k].rate,
					sim.level[k].burst);
			bwl_rate_follow(&sim.level[k].l.rate, NULL, &sim.level[k].s.finish_bytes,
					sim.now);
		}
		begin = sim.now;
		while (x->passed < 500 * x->burst) {
			sim.now += gap(2000000000);
			one_packet();
		}
		assert_true((i128)x->passed * TICKS * 1000 >=
			    allowed_by(x->rate, sim.now - begin) * 995);
	}
	test_between = NULL;
}

static void volume_is_exact_between_any_two_steps(void **state)
{
	int n, k, i;

	(void)state;
	test_between = between;
	for (n = 0; n < 200; n++) {
		start(1000000000);
		sim.min_len = sim.step = 1;
		for (k = 0; k < LEVELS; k++) {
			sim.level[k].l.rate.flags = BWL_RATE_UNLIMITED;
			sim.level[k].l.volume.spendable_bytes = 90000 + rnd_below(3000);
		}
		/* The inner levels charge and refund all the time; the outermost one decides. */
		sim.level[2].l.volume.spendable_bytes = 90000;
		for (i = 0; i < 1000000 && sim.level[2].s.used_bytes != 90000; i++)
			one_packet();
		for (k = 0; k < LEVELS; k++) {
			assert_int_equal(sim.level[k].passed, 90000);
			assert_int_equal(sim.level[k].s.used_bytes, 90000);
		}
	}
	test_between = NULL;
}

/* Real threads: all advance one clock, and each has its own random numbers. */
#define THREADS 4
#define PER_THREAD 150000

static struct race {
	struct level level[LEVELS];
	uint64_t now;
	pthread_barrier_t go;
	struct sent *sent[THREADS];
	size_t nsent[THREADS];
	uint64_t passed[THREADS];
	bool one_byte;
} race;

static uint64_t thread_rnd(uint64_t *s)
{
	*s ^= *s << 13;
	*s ^= *s >> 7;
	*s ^= *s << 17;
	return *s;
}

static void *racer(void *arg)
{
	unsigned me = (unsigned)(uintptr_t)arg;
	uint64_t mine = 88172645463325252ULL + me, lost = 0;
	int i;

	pthread_barrier_wait(&race.go);
	for (i = 0; i < PER_THREAD; i++) {
		uint64_t len = race.one_byte ? 1 + thread_rnd(&mine) % 7
					     : 60 + thread_rnd(&mine) % 1455;
		uint64_t now = __atomic_add_fetch(&race.now, thread_rnd(&mine) % 1000,
						  __ATOMIC_SEQ_CST);

		if (!charge(race.level, now, len, &lost))
			continue;
		race.passed[me] += len;
		race.sent[me][race.nsent[me]++] = (struct sent){ now, (uint32_t)len };
	}
	return NULL;
}

static void run_race(void)
{
	pthread_t t[THREADS];
	unsigned i;

	pthread_barrier_init(&race.go, NULL, THREADS);
	for (i = 0; i < THREADS; i++) {
		race.sent[i] = calloc(PER_THREAD, sizeof(struct sent));
		race.nsent[i] = race.passed[i] = 0;
		assert_non_null(race.sent[i]);
		assert_int_equal(pthread_create(&t[i], NULL, racer, (void *)(uintptr_t)i), 0);
	}
	for (i = 0; i < THREADS; i++)
		pthread_join(t[i], NULL);
	pthread_barrier_destroy(&race.go);
}

/* Returns everything that passed, and frees the threads' lists. */
static struct sent *collect(size_t *ret_n)
{
	struct sent *all = calloc((size_t)THREADS * PER_THREAD, sizeof(*all));
	size_t n = 0, i;

	assert_non_null(all);
	for (i = 0; i < THREADS; i++) {
		memcpy(all + n, race.sent[i], race.nsent[i] * sizeof(*all));
		n += race.nsent[i];
		free(race.sent[i]);
	}
	*ret_n = n;
	return all;
}

static void threads_that_race_pass_no_more(void **state)
{
	struct sent *all;
	uint64_t begin;
	size_t n;

	(void)state;
	start(1000000000);
	memcpy(race.level, sim.level, sizeof(race.level));
	race.now = begin = sim.now;
	race.one_byte = false;
	run_race();
	all = collect(&n);
	check_windows(race.level, all, n, begin);
	free(all);
}

static void volume_is_exact_with_threads(void **state)
{
	uint64_t passed = 0;
	size_t n;
	int k;

	(void)state;
	start(1000000000);
	memcpy(race.level, sim.level, sizeof(race.level));
	for (k = 0; k < LEVELS; k++) {
		race.level[k].l.rate.flags = BWL_RATE_UNLIMITED;
		race.level[k].l.volume.spendable_bytes = k == 1 ? 777777 : 800000;
	}
	race.now = sim.now;
	race.one_byte = true; /* so that the last byte is requested */
	run_race();
	for (k = 0; k < THREADS; k++)
		passed += race.passed[k];
	free(collect(&n));
	assert_int_equal(passed, 777777);
	for (k = 0; k < LEVELS; k++)
		assert_int_equal(race.level[k].s.used_bytes, 777777);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(packets_between_any_two_steps_pass_no_more),
		cmocka_unit_test(policy_changes_between_any_two_packets_pass_no_more),
		cmocka_unit_test(alone_a_refusal_leaves_every_limit_as_it_was),
		cmocka_unit_test(a_saturated_limit_between_racing_packets_still_gives_995),
		cmocka_unit_test(volume_is_exact_between_any_two_steps),
		cmocka_unit_test(threads_that_race_pass_no_more),
		cmocka_unit_test(volume_is_exact_with_threads),
	};

	return cmocka_run_group_tests_name("limiter races", tests, NULL, NULL);
}
