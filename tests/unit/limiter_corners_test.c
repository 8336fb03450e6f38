// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The limiter where random packets hardly come: another CPU that never lets one finish, a refund
 * that comes too late, and what user space releases of a volume.
 */
#include "limiter.h"
#include "bpf/lib/share.h"

#define NOW 50000000000ULL

static struct bwl_limit limit;
static struct bwl_state state_;
static struct bwl_window window;
static __u64 *moved; /* by another CPU, before each atomic operation from the nth on */
static unsigned after;

static void between(void)
{
	if (after)
		after--;
	else if (moved)
		++*moved;
}

static void move(__u64 *word, unsigned nth)
{
	moved = word;
	after = nth - 1;
}

/* 8 Mbit/s, of which a burst is unspent, and a volume. */
static int setup(void **state)
{
	(void)state;
	memset(&limit, 0, sizeof(limit));
	memset(&state_, 0, sizeof(state_));
	memset(&window, 0, sizeof(window));
	bwl_rate_encode(&limit.rate, 8000000, 1 << 18);
	limit.volume.spendable_bytes = 10000;
	bwl_rate_follow(&limit.rate, NULL, &state_.finish_bytes, NOW - 10000000000ULL);
	state_.finish_bytes = bwl_rate_drained(&limit.rate, NOW);
	test_between = between;
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	test_between = NULL;
	moved = NULL;
	return 0;
}

static int take(uint64_t released, uint64_t len, struct bwl_taken *t)
{
	return bwl_limit_volume(&limit, &state_, limit.volume.slice_ns ? &window : NULL, released,
				NOW, len, t);
}

static void who_never_comes_to_rest_is_refused(void **state)
{
	__u64 was, next, before = state_.finish_bytes;
	struct bwl_taken t = { 0 };

	(void)state;
	move(&state_.finish_bytes, 1);
	assert_int_equal(bwl_rate_take(&limit.rate, &state_.finish_bytes,
				       bwl_rate_drained(&limit.rate, NOW), 1000, 0, &was, &next),
			 BWL_CONTENDED);
	assert_int_equal(state_.finish_bytes - before, BWL_CAS_TRIES);
	move(&state_.used_bytes, 1);
	assert_int_equal(take(BWL_RELEASE_NONE, 1000, &t), BWL_CONTENDED);
	assert_int_equal(state_.used_bytes, BWL_CAS_TRIES); /* only theirs */
	assert_false(t.volume);
}

/* Two bytes: closed. A release below the volume is user space's refusal, one above it none. */
static void what_is_released_bounds_the_volume(void **state)
{
	struct bwl_taken t = { 0 };

	(void)state;
	assert_int_equal(take(BWL_RELEASE_NONE, 10001, &t), BWL_OVER_VOLUME);
	assert_int_equal(take(20000, 10001, &t), BWL_OVER_VOLUME);
	assert_int_equal(take(2, 60, &t), BWL_OVER_LEDGER);
	assert_int_equal(take(3000, 2000, &t), BWL_OK);
	assert_int_equal(take(3000, 2000, &t), BWL_OVER_LEDGER);
	assert_int_equal(take(20000, 7000, &t), BWL_OK);
	assert_int_equal(take(20000, 2000, &t), BWL_OVER_VOLUME);
	assert_int_equal(state_.used_bytes, 9000);
	assert_int_equal(bwl_window_turn(&window, 0, 0, NOW), BWL_SLICES_KEPT); /* no window */
}

static struct bwl_cold cold(uint64_t released)
{
	return (struct bwl_cold){ NOW, NOW - 1000, released, 1000 };
}

static bool attempt(struct bwl_window *w, uint64_t released, struct bwl_taken *t)
{
	struct bwl_cold c = cold(released);

	return bwl_limit_try(&limit, &state_, w, &c, t);
}

/* An attempt that fails leaves nothing charged; only if another CPU came, the rate. */
static void an_attempt_is_for_both_or_neither(void **state)
{
	uint64_t before = state_.finish_bytes;
	struct bwl_taken t;

	(void)state;
	assert_true(attempt(NULL, BWL_RELEASE_NONE, &t));
	assert_true(attempt(NULL, 20000, &t));
	assert_true(attempt(NULL, 3000, &t));
	assert_int_equal(state_.used_bytes, 3000);
	before = state_.finish_bytes;
	assert_false(attempt(NULL, 3500, &t)); /* no room for it */
	assert_false(t.rate || t.volume);
	assert_false(attempt(NULL, 2000, &t)); /* less was released than is used */
	assert_int_equal(state_.finish_bytes, before);
	assert_int_equal(state_.used_bytes, 3000);
	move(&state_.finish_bytes, 2); /* after its own charge */
	assert_false(attempt(NULL, 3500, &t));
	assert_true(t.rate);
	moved = NULL;
	assert_true(state_.finish_bytes > before);
	before = state_.finish_bytes;
	limit.volume.slice_ns = 1000000000; /* its window is not here, or nobody has turned it */
	assert_false(attempt(NULL, BWL_RELEASE_NONE, &t));
	assert_false(attempt(&window, BWL_RELEASE_NONE, &t));
	assert_int_equal(state_.finish_bytes, before);
	limit.rate.flags = BWL_RATE_UNLIMITED;
	assert_false(attempt(NULL, BWL_RELEASE_NONE, &t));
	assert_false(t.rate);
}

static void what_did_not_pass_is_in_no_slice(void **state)
{
	struct bwl_taken t = { 0 };

	(void)state;
	limit.volume.slice_ns = 1000000000;
	assert_int_equal(take(BWL_RELEASE_NONE, 20000, &t), BWL_OVER_VOLUME);
	bwl_limit_commit(&window, 20000, &t);
	assert_int_equal(take(BWL_RELEASE_NONE, 2000, &t), BWL_OK);
	bwl_limit_commit(NULL, 2000, &t);
	assert_int_equal(bwl_limit_undo(&limit, &state_, &window, NOW, 2000, &t), 0);
	assert_int_equal(window.total_bytes, 0);
	for (unsigned i = 0; i < BWL_SLICES_KEPT; i++)
		assert_int_equal(window.slice_bytes[i], 0);
	limit.volume.slice_ns = 0;
	assert_int_equal(take(BWL_RELEASE_NONE, 2000, &t), BWL_OK);
	assert_int_equal(bwl_limit_undo(&limit, &state_, NULL, NOW, 2000, &t), 0);
	assert_int_equal(state_.used_bytes, 0);
}

/* The volume refuses: the rate gets its bytes back, unless another CPU came between. */
static void a_refused_share_gives_the_rate_back(void **state)
{
	struct bwl_asked a = { .rate = &limit.rate,
			       .limit = &limit,
			       .state = &state_,
			       .released = BWL_RELEASE_NONE,
			       .now_ns = NOW };
	__u64 before = state_.finish_bytes, end;
	struct bwl_taken t;
	uint32_t lost = 0;

	(void)state;
	assert_int_equal(bwl_ask_once(&a, 10001, &t, &end, &lost), BWL_OVER_VOLUME);
	assert_int_equal(lost, 0);
	assert_int_equal(state_.finish_bytes, before);
	move(&state_.finish_bytes, 2);
	assert_int_equal(bwl_ask_once(&a, 10001, &t, &end, &lost), BWL_OVER_VOLUME);
	assert_int_equal(lost, 10001);
	moved = NULL;
	limit.rate.flags = BWL_RATE_UNLIMITED;
	before = state_.finish_bytes;
	assert_int_equal(bwl_ask_once(&a, 10001, &t, &end, &lost), BWL_OVER_VOLUME);
	assert_int_equal(lost, 10001);
	assert_int_equal(state_.finish_bytes, before);
}

static void a_cpu_that_holds_enough_takes_no_more(void **state)
{
	struct bwl_share share = { .bytes = 1 << 20, .owner = 5 };
	struct bwl_asked a = { .rate = &limit.rate,
			       .limit = &limit,
			       .state = &state_,
			       .share = &share,
			       .released = BWL_RELEASE_NONE,
			       .now_ns = NOW,
			       .len = 100,
			       .owner = 5 };

	(void)state;
	limit.volume.spendable_bytes = 1ULL << 40;
	limit.rate.share = BWL_SHARE_MIN + 1;
	share.start_ns = limit.rate.start_ns;
	share.until_ns = ~0ULL;
	assert_int_equal(bwl_share_wants(&a), 0);
	share.bytes = 0;
	assert_int_equal(bwl_share_wants(&a), 1U << (BWL_SHARE_MIN + 1));
	a.released = 1ULL << 50; /* above the volume */
	assert_int_equal(bwl_share_wants(&a), 1U << (BWL_SHARE_MIN + 1));
	a.released = 1000;
	assert_int_equal(bwl_share_wants(&a), 0);
}

/* The slowest rate that can be written: a wait is long, but there is no division by zero. */
static void the_slowest_rate_waits_long(void **state)
{
	struct bwl_rate r = { .m = 1, .burst_bytes = 2000 };

	(void)state;
	assert_int_equal(bwl_rate_delay(&r, 100), 0);
	assert_true(bwl_rate_delay(&r, 2001) >= 1ULL << (BWL_STEP_SHIFT - 8));
}

#define T(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(who_never_comes_to_rest_is_refused),  T(what_is_released_bounds_the_volume),
		T(an_attempt_is_for_both_or_neither),   T(what_did_not_pass_is_in_no_slice),
		T(a_refused_share_gives_the_rate_back), T(a_cpu_that_holds_enough_takes_no_more),
		T(the_slowest_rate_waits_long),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
