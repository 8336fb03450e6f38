// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Mode shape: departure times (promise 2 at the wire), the horizon, expiry (promise 4), and the
 * fallback where nothing keeps departure times (promise 10). fq itself is in tests/vm.
 */
#include "prog.h"

/* A byte a microsecond. */
#define POLICY                                                                                   \
	PORTS "heartbeat: none\nhorizon: 10ms\npeers:\n"                                          \
	"  - { name: paced, addresses: [10.1.0.1], path: clear, via: 192.0.2.1,"                 \
	" grant: { rate: 8mbit, burst: 3000b, mode: shape } }\n"
#define FRAME_BYTES 1000U
#define SPEC "eth ip4 src=10.0.7.2 dst=10.1.0.1 udp fill=958"

static void policy(bool fq)
{
	rig->pins->dev[RIG_P0].flags = fq ? BWL_DEV_FQ : 0;
	apply(POLICY);
	rig_advance(RIG_SECOND);
}

/* Nanoseconds until it departs; -1 when it was refused for its rate. */
static int64_t send(void)
{
	static struct rig_result r;
	const char *name = judge(&(struct rig_packet){ .prog = RIG_HOST, .port = RIG_H0, .spec = SPEC }, &r);

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
	/* 3000 bytes of burst, less the byte that rounding costs. */
	assert_int_equal(send(), 0);
	assert_int_equal(send(), 0);
	for (n = 2; (at = send()) >= 0; n++) {
		assert_true(at >= was + 999000 || n == 2);
		assert_true(at >= (int64_t)(n - 2) * 1000000 && at <= (int64_t)(n - 1) * 1000000 + 5000);
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

static void without_fq_shape_polices_at_the_burst(void **state)
{
	(void)state;
	policy(false);
	assert_int_equal(send(), 0);
	assert_int_equal(send(), 0);
	assert_int_equal(send(), -1);
}

/* fq is taken away while it runs: from the moment user space says so. */
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
	assert_int_equal(send(), -1);	/* 8000 bytes less 5000: 3000 of debt */
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
		const char *name = judge(&(struct rig_packet){ .prog = RIG_HOST, .port = RIG_H0,
							       .spec = SPEC }, &r);

		if (!strcmp(name, "expired"))
			break;
		assert_string_equal(name, "pass");
		assert_true(r.departs_ns < c.expiry_ns);
	}
	assert_int_equal(n, 7);
	/* The refused ones were taken back: what may still leave in time does. */
	rig_advance(1000000);
	assert_string_equal(host(SPEC), "expired");
}

static void a_lapsed_grant_polices_its_floor(void **state)
{
	struct bwl_change c = { .set = BWL_SET_EXPIRY };
	struct bwl_err e = { 0 };

	(void)state;
	rig->pins->dev[RIG_P0].flags = BWL_DEV_FQ;
	apply(PORTS "heartbeat: none\npeers:\n"
	      "  - { name: paced, addresses: [10.1.0.1], path: clear, via: 192.0.2.1,"
	      " grant: { rate: 8mbit, burst: 3000b, mode: shape }, floor: { rate: 1mbit, burst: 2000b } }\n");
	rig_advance(RIG_SECOND);
	c.expiry_ns = rig_now();
	assert_int_equal(bwl_peer_change(rig->pins, "paced", &c, &e), 0);
	assert_string_equal(host(SPEC), "pass-floor");
	assert_string_equal(host(SPEC), "floor-rate");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		RIG_TEST(what_is_over_the_burst_departs_at_the_rate),
		RIG_TEST(without_fq_shape_polices_at_the_burst),
		RIG_TEST(when_fq_goes_the_debt_stays),
		RIG_TEST(nothing_departs_after_expiry),
		RIG_TEST(a_lapsed_grant_polices_its_floor),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
