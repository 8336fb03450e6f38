// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Modes shape and mark: departure times (promise 2 at the wire), the horizon, expiry (promise 4),
 * and the fallback if nothing keeps departure times (promise 10). fq itself is in tests/vm.
 */
#define RIG_HOST_ONLY
#include <inttypes.h>
#include "prog.h"

/* One byte per microsecond. */
#define POLICY                                                                                     \
	PORTS "heartbeat: none\nhorizon: 10ms\npeers:\n"                                           \
	      "  - { name: paced, addresses: [10.1.0.1], path: clear, via: 192.0.2.1,"             \
	      " grant: { rate: 8mbit, burst: 3000b, mode: shape } }\n"
#define FRAME_BYTES 1000U
#define SPEC "eth ip4 src=10.0.7.2 dst=10.1.0.1 udp fill=958"

static void apply_with(__u8 flags, const char *yaml)
{
	rig->pins->dev[RIG_P0].flags = flags;
	apply("%s", yaml);
	rig_advance(RIG_SECOND);
}

/* Skips the test on kernels before 5.18, where nothing is paced. */
static void apply_paced(const char *yaml)
{
	if (!rig_keeps_times())
		skip();
	apply_with(BWL_DEV_FQ, yaml);
}

/* The same peer under another name. */
static void apply_as(unsigned name)
{
	char yaml[512];

	rig->pins->dev[RIG_P0].flags = BWL_DEV_FQ;
	snprintf(
		yaml, sizeof(yaml),
		PORTS
		"heartbeat: none\nhorizon: 10ms\npeers:\n"
		"  - { name: paced%u, addresses: [10.1.0.1], path: clear, via: 192.0.2.1, grant: { rate: 8mbit, burst: 3000b, mode: shape } }\n",
		name);
	apply("%s", yaml);
}

static void policy(bool fq)
{
	if (fq)
		apply_paced(POLICY);
	else
		apply_with(0, POLICY);
}

/* Nanoseconds until it departs; -1: refused for its rate. */
static int64_t send(void)
{
	static struct rig_result r;
	const char *name =
		judge(&(struct rig_packet){ .prog = RIG_HOST, .port = RIG_H0, .spec = SPEC }, &r);

	if (!strcmp(name, "peer-rate"))
		return -1;
	assert_string_equal(name, "pass");
	return r.departs_ns ? (int64_t)(r.departs_ns - rig_now()) : 0;
}

static void what_is_over_the_burst_departs_at_the_rate(void **state)
{
	int64_t at, was = 0;
	unsigned n, late = 0;

	(void)state;
	policy(true);
	/* 3000 bytes of burst, less the byte lost to rounding. */
	assert_int_equal(send(), 0);
	assert_int_equal(send(), 0);
	for (n = 2; (at = send()) >= 0; n++) {
		assert_true(at >= was + 999000 || n == 2);
		assert_true(at >= (int64_t)(n - 2) * 1000000 &&
			    at <= (int64_t)(n - 1) * 1000000 + 5000);
		was = at;
		late++;
	}
	/* The horizon: 10 000 bytes ahead of the burst. */
	assert_int_equal(late, 10);
	assert_true(was <= 10000000 + 20000);
	rig_advance(1000000);
	assert_true(send() > 8900000);
	assert_int_equal(send(), -1);
	/* Idle again: at once. */
	rig_advance(RIG_SECOND);
	assert_int_equal(send(), 0);
}

/* Frames of 1000 bytes that pass at once, and those that pass later, until one is refused. */
static void count(const char *rate, unsigned *ret_now, unsigned *ret_later, int64_t *ret_last)
{
	char yaml[512];
	int64_t at;

	snprintf(
		yaml, sizeof(yaml),
		PORTS
		"heartbeat: none\npeers:\n"
		"  - { name: paced, addresses: [10.1.0.1], path: clear, via: 192.0.2.1, grant: { rate: %s, mode: shape } }\n",
		rate);
	apply_paced(yaml);
	rig_advance(3 * RIG_SECOND); /* the previous burst drains */
	for (*ret_now = *ret_later = 0; (at = send()) >= 0; *ret_last = at)
		++*(at ? ret_later : ret_now);
}

static void the_horizon_holds_four_gso_packets_in_250_ms_at_most_and_10_ms_at_least(void **state)
{
	unsigned now, later;
	int64_t last;

	(void)state;
	count("20mbit", &now, &later, &last);
	assert_int_equal(now, BWL_GSO_BURST / FRAME_BYTES);
	assert_in_range(later, 294, 295); /* and what was left of the burst */
	assert_in_range(last, 117400000, 118000000);
	count("2mbit", &now, &later, &last);
	assert_in_range(later, 62, 63); /* 62 500 bytes in 250 ms */
	assert_in_range(last, 248000000, 250000000);
	count("1gbit", &now, &later, &last);
	assert_in_range(later, 1250, 1251); /* 1 250 000 bytes in 10 ms */
	assert_in_range(last, 9980000, 10000000);
}

static void what_waits_beyond_a_quarter_of_the_horizon_is_marked(void **state)
{
	struct rig_packet ect = { .prog = RIG_HOST,
				  .port = RIG_H0,
				  .spec = "eth ip4 src=10.0.7.2 dst=10.1.0.1 tos=2 udp fill=958" };
	static struct rig_result r;
	const char *name;
	unsigned n, marked = 0;
	bool late;

	(void)state;
	policy(true);
	for (n = 0; n < 12; n++) {
		name = judge(&ect, &r);
		late = r.departs_ns > rig_now() + 2500000;
		assert_string_equal(name, late ? "pass-marked" : "pass");
		assert_int_equal(r.data[15] & 3, late ? 3 : 2);
		marked += late;
	}
	assert_int_equal(marked, 7);
	assert_string_equal(judge(&ect, &r), "peer-rate");
	/* Not set for a transport that would not understand it. */
	rig_advance(1000000);
	assert_true(send() > 8900000);
	/* Not set any more once the queue is short again. */
	rig_advance(9000000);
	assert_string_equal(judge(&ect, &r), "pass");
}

/* Mode mark: CE from a part of the burst on; what is over the burst waits as in mode shape. */
static void mark_marks_within_the_burst_and_paces_above_it(void **state)
{
	struct rig_packet ect = { .prog = RIG_HOST,
				  .port = RIG_H0,
				  .spec = "eth ip4 src=10.0.7.2 dst=10.1.0.1 tos=2 udp fill=958" };
	static struct rig_result r;
	const char *name;
	unsigned n, late;

	(void)state;
	apply_paced(
		PORTS
		"heartbeat: none\nhorizon: 10ms\npeers:\n"
		"  - { name: marked, addresses: [10.1.0.1], path: clear, via: 192.0.2.1, grant: { rate: 8mbit, burst: 4003b, mode: mark, mark: 50 } }\n");
	for (n = late = 0; strcmp(name = judge(&ect, &r), "peer-rate"); n++) {
		assert_string_equal(name, n < 2 ? "pass" : "pass-marked");
		late += r.departs_ns > rig_now();
		assert_int_equal(late, n < 4 ? 0 : n - 3);
		if (late)
			assert_in_range(r.departs_ns - rig_now(), (late - 1) * 1000000,
					late * 1000000);
	}
	assert_int_equal(late, 10);
	rig->pins->dev[RIG_P0].flags = 0;
	rig_advance(RIG_SECOND);
	for (n = 0; n < 4; n++)
		assert_string_equal(judge(&ect, &r), n < 2 ? "pass" : "pass-marked");
	assert_string_equal(judge(&ect, &r), "peer-rate");
}

static void without_fq_nothing_is_marked(void **state)
{
	static struct rig_result r;
	unsigned n;

	(void)state;
	policy(false);
	for (n = 0; n < 2; n++) {
		assert_string_equal(
			judge(
				&(struct rig_packet){
					.prog = RIG_HOST,
					.port = RIG_H0,
					.spec = "eth ip4 src=10.0.7.2 dst=10.1.0.1 tos=2 udp fill=958" },
				&r),
			"pass");
		assert_int_equal(r.data[15] & 3, 2);
	}
}

static void without_fq_shape_polices_at_the_burst(void **state)
{
	(void)state;
	policy(false);
	assert_int_equal(send(), 0);
	assert_int_equal(send(), 0);
	assert_int_equal(send(), -1);
}

static void on_a_kernel_that_forgets_departure_times_shape_polices_and_says_so(void **state)
{
	(void)state;
	policy(false);
	rig->pins->dev[RIG_P0].flags = rig_keeps_times() ? BWL_DEV_UNTIMED : BWL_DEV_FQ;
	assert_int_equal(send(), 0);
	assert_int_equal(send(), 0);
	assert_int_equal(send(), -1);
	rig->pins->dev[RIG_P0].flags = BWL_DEV_UNTIMED;
	assert_non_null(strstr(bwl_not_paced(rig->pins), "departure times"));
}

/* fq is removed while it runs: effective when user space reports it. */
static void when_fq_goes_the_debt_stays(void **state)
{
	unsigned n;

	(void)state;
	policy(true);
	for (n = 0; n < 8; n++)
		assert_true(send() >= 0);
	rig->pins->dev[RIG_P0].flags = 0;
	assert_int_equal(send(), -1);
	rig_advance(5000000);
	assert_int_equal(send(), -1); /* 8000 bytes less 5000: 3000 of debt */
	rig_advance(1100000);
	assert_int_equal(send(), 0);
}

static void nothing_departs_after_expiry(void **state)
{
	struct bwl_change c = { .set = BWL_SET_EXPIRY };
	static struct rig_result r;
	struct bwl_err e = { 0 };
	unsigned n;

	(void)state;
	policy(true);
	c.expiry_ns = rig_now() + 5000000;
	assert_int_equal(bwl_peer_change(rig->pins, "paced", &c, &e), 0);
	for (n = 0;; n++) {
		const char *name = judge(
			&(struct rig_packet){ .prog = RIG_HOST, .port = RIG_H0, .spec = SPEC }, &r);

		if (!strcmp(name, "expired"))
			break;
		assert_string_equal(name, "pass");
		assert_true(r.departs_ns < c.expiry_ns);
	}
	assert_int_equal(n, 7);
	/* Refusals were undone: what can still leave in time does. */
	rig_advance(1000000);
	assert_string_equal(host(SPEC), "expired");
}

static void a_lapsed_grant_polices_its_floor(void **state)
{
	struct bwl_change c = { .set = BWL_SET_EXPIRY };
	struct bwl_err e = { 0 };

	(void)state;
	rig->pins->dev[RIG_P0].flags = BWL_DEV_FQ;
	apply(PORTS
	      "heartbeat: none\npeers:\n"
	      "  - { name: paced, addresses: [10.1.0.1], path: clear, via: 192.0.2.1, grant: { rate: 8mbit, burst: 3000b, mode: shape }, floor: { rate: 1mbit, burst: 2000b } }\n");
	rig_advance(RIG_SECOND);
	c.expiry_ns = rig_now();
	assert_int_equal(bwl_peer_change(rig->pins, "paced", &c, &e), 0);
	assert_string_equal(host(SPEC), "pass-floor");
	assert_string_equal(host(SPEC), "floor-rate");
}

/*
 * What one name let wait leaves by the clock of that name, whatever it is called by then. So the
 * next name owes as much: of all of them together at most rate * T + burst departs in any T
 * (promise 2).
 */
static void new_names_let_no_more_depart_than_one_name(void **state)
{
	static uint64_t left[1000];
	unsigned n = 0, name, i, j, k;

	(void)state;
	if (!rig_keeps_times())
		skip();
	for (name = 0; name < 20; name++) {
		int64_t at;

		apply_as(name);
		rig_advance(name ? 5000000 : RIG_SECOND);
		while (n < 1000 && (at = send()) >= 0)
			left[n++] = (uint64_t)at + rig_now();
	}
	assert_in_range(n, 30, 999); /* it can be seen */
	for (i = 0; i < n; i++)
		for (j = 0; j < n; j++) {
			unsigned bytes = 0;

			for (k = 0; k < n; k++)
				if (left[k] >= left[i] && left[k] <= left[j])
					bytes += FRAME_BYTES;
			if (bytes && bytes > (left[j] - left[i]) / 1000 + 3000)
				fail_msg("%u bytes depart in %" PRIu64 " us", bytes,
					 (left[j] - left[i]) / 1000);
		}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		RIG_TEST(what_is_over_the_burst_departs_at_the_rate),
		RIG_TEST(the_horizon_holds_four_gso_packets_in_250_ms_at_most_and_10_ms_at_least),
		RIG_TEST(what_waits_beyond_a_quarter_of_the_horizon_is_marked),
		RIG_TEST(mark_marks_within_the_burst_and_paces_above_it),
		RIG_TEST(without_fq_nothing_is_marked),
		RIG_TEST(without_fq_shape_polices_at_the_burst),
		RIG_TEST(on_a_kernel_that_forgets_departure_times_shape_polices_and_says_so),
		RIG_TEST(when_fq_goes_the_debt_stays),
		RIG_TEST(nothing_departs_after_expiry),
		RIG_TEST(a_lapsed_grant_polices_its_floor),
		RIG_TEST(new_names_let_no_more_depart_than_one_name),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
