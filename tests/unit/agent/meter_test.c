// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A device's counter is compared with what was let out, once a second, on a simulated device: it
 * holds frames for up to ten seconds, loses some, and its driver may report them late.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>
#include "agent/tamper/meter.h"

#define HOLDS 10 /* seconds */

struct device {
	struct tamper_meter meter;
	uint64_t seed, out, sent, said, past, lost;
	uint64_t waiting[HOLDS + 1]; /* ring: frames by the second in which they leave */
	unsigned second;
	unsigned rate, loss, hold; /* frames a second; one in so many is lost, 0: none; seconds */
	bool late;                 /* reports what it had sent at the previous look */
};

static uint64_t dice(struct device *d, uint64_t n)
{
	d->seed = d->seed * 6364136223846793005ULL + 1442695040888963407ULL;
	return (d->seed >> 33) % n;
}

static void let_out(struct device *d, unsigned n)
{
	for (unsigned i = 0; i < n; i++) {
		d->out++;
		if (d->loss && !dice(d, d->loss))
			d->lost++;
		else
			d->waiting[(d->second + dice(d, d->hold + 1)) % (HOLDS + 1)]++;
	}
}

static void leave(struct device *d)
{
	d->sent += d->waiting[d->second % (HOLDS + 1)];
	d->waiting[d->second % (HOLDS + 1)] = 0;
}

/* Lets one second pass and looks at its end, in the middle of traffic. Returns what it finds. */
static uint64_t look(struct device *d)
{
	uint64_t sent, tell;

	let_out(d, d->rate);
	leave(d);
	sent = d->sent;
	let_out(d, d->rate / 50);
	leave(d);
	tell = d->late ? d->said : sent;
	d->said = sent;
	d->second++;
	return tamper_meter_look(&d->meter, tell, d->out);
}

static void pass_by(struct device *d, unsigned frames)
{
	d->sent += frames;
	d->past += frames;
}

static void traffic_of_any_kind_is_no_sign(void **state)
{
	(void)state;
	for (uint64_t seed = 1; seed <= 300; seed++) {
		struct device d = { .seed = seed, .hold = seed % 3 ? 0 : HOLDS, .late = seed % 2 };

		d.loss = seed % 5 ? 0 : 7;
		let_out(&d, seed % 4 ? 1000 : 0); /* before the first look */
		for (unsigned i = 0; i < 200; i++) {
			if (i % 20 == 0) /* much, little, or nothing */
				d.rate = (unsigned)dice(&d, 3) * (unsigned)dice(&d, 400);
			assert_int_equal(look(&d), 0);
		}
	}
}

/* The meter starts while the device is busy; then the device is idle. */
static void what_was_on_the_way_at_the_start_is_no_sign(void **state)
{
	(void)state;
	for (unsigned hold = 0; hold <= HOLDS; hold++) {
		struct device d = {
			.seed = 5 + hold, .hold = hold, .rate = 5000, .late = hold % 2
		};

		for (unsigned i = 0; i < 20 + hold; i++) {
			let_out(&d, d.rate);
			leave(&d);
			d.second++;
		}
		for (unsigned i = 0; i < 100; i++) {
			if (i == hold)
				d.rate = 0;
			assert_int_equal(look(&d), 0);
		}
	}
}

static void one_frame_past_is_found_at_the_second_look_when_little_moves(void **state)
{
	struct device d = { .seed = 1 };

	(void)state;
	for (unsigned i = 0; i < 20; i++)
		assert_int_equal(look(&d), 0);
	pass_by(&d, 1);
	assert_int_equal(look(&d), 0);
	assert_int_equal(look(&d), 1);
	for (unsigned i = 0; i < 20; i++)
		assert_int_equal(look(&d), 0); /* reported once */
	pass_by(&d, 3);
	assert_int_equal(look(&d), 0);
	assert_int_equal(look(&d), 3);
}

/* Under load it is hidden until it is more than the frames on the way. */
static void what_goes_past_under_load_is_found_when_it_is_more_than_was_on_the_way(void **state)
{
	struct device d = { .seed = 2, .rate = 100 };
	uint64_t found = 0;

	(void)state;
	for (unsigned i = 0; i < 40; i++)
		assert_int_equal(look(&d), 0);
	for (unsigned i = 0; i < 30 && !found; i++) {
		pass_by(&d, 100); /* as many as are let out */
		found = look(&d);
	}
	assert_true(found);
	assert_true(d.past <= 102 * (METER_WAY + 4));
}

static void one_frame_past_is_found_under_load_that_began_after_the_start(void **state)
{
	struct device d = { .seed = 3 };
	uint64_t found = 0;

	(void)state;
	for (unsigned i = 0; i < 20; i++)
		look(&d);
	d.rate = 1000;
	for (unsigned i = 0; i < 20; i++)
		assert_int_equal(look(&d), 0);
	pass_by(&d, 1000 / 50 + 1); /* more frames than move during a look */
	for (unsigned i = 0; i < 3 && !found; i++)
		found = look(&d);
	assert_true(found);
}

/* Lost frames can hide as many others, but only until few are on the way. */
static void what_was_lost_makes_room_until_little_moves(void **state)
{
	struct device d = { .seed = 4 };

	(void)state;
	for (unsigned i = 0; i < 20; i++)
		look(&d);
	d.loss = 1;
	let_out(&d, 50);
	d.loss = 0;
	look(&d);
	pass_by(&d, 20);
	for (unsigned i = 0; i < METER_WAY + 2; i++)
		assert_int_equal(look(&d), 0); /* hidden */
	pass_by(&d, 1);
	assert_int_equal(look(&d), 0);
	assert_int_equal(look(&d), 1);
}

static void counters_that_begin_anew_are_no_sign(void **state)
{
	struct device d = { .seed = 6, .rate = 200 };

	(void)state;
	for (unsigned i = 0; i < 30; i++)
		assert_int_equal(look(&d), 0);
	d.sent = 0;
	for (unsigned i = 0; i < 30; i++)
		assert_int_equal(look(&d), 0);
	d.out = 0;
	for (unsigned i = 0; i < 30; i++)
		assert_int_equal(look(&d), 0);
}

/* A counter that must stay 0: RDMA. */
static void what_nobody_may_send_is_found_from_its_first_frame_on(void **state)
{
	struct tamper_meter m = { 0 };

	(void)state;
	for (unsigned i = 0; i <= METER_WAY; i++)
		assert_int_equal(tamper_meter_look(&m, 700, 0), 0);
	assert_int_equal(tamper_meter_look(&m, 701, 0), 0);
	assert_int_equal(tamper_meter_look(&m, 705, 0), 5);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(traffic_of_any_kind_is_no_sign),
		cmocka_unit_test(what_was_on_the_way_at_the_start_is_no_sign),
		cmocka_unit_test(one_frame_past_is_found_at_the_second_look_when_little_moves),
		cmocka_unit_test(
			what_goes_past_under_load_is_found_when_it_is_more_than_was_on_the_way),
		cmocka_unit_test(one_frame_past_is_found_under_load_that_began_after_the_start),
		cmocka_unit_test(what_was_lost_makes_room_until_little_moves),
		cmocka_unit_test(counters_that_begin_anew_are_no_sign),
		cmocka_unit_test(what_nobody_may_send_is_found_from_its_first_frame_on),
	};

	return cmocka_run_group_tests_name("meter", tests, NULL, NULL);
}
