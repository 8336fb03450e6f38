// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Which events become lines of the log, with an injected clock: a budget for each kind and each
 * port.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>
#include "agent/sums.h"
#include "maps/reason.h"

#define S SUMS_SECOND_NS
#define DAY (86400 * S)

static struct {
	unsigned lines, at_once[_BWL_EVENT_MAX][4], sums[_BWL_EVENT_MAX][4];
	uint64_t events[_BWL_EVENT_MAX][4];
	struct sums_line last;
} got;

static void on_line(const struct sums_line *l, void *arg)
{
	const struct bwl_event *e = &l->example;

	(void)arg;
	got.lines++;
	got.last = *l;
	(l->sum ? got.sums : got.at_once)[e->kind][e->port]++;
	got.events[e->kind][e->port] += l->events;
}

static struct sums *fresh(void)
{
	struct sums *s = sums_new(on_line, NULL);

	memset(&got, 0, sizeof(got));
	assert_non_null(s);
	return s;
}

static struct bwl_event event(uint8_t kind, uint8_t port, uint32_t peer, uint8_t reason)
{
	return (struct bwl_event){
		.kind = kind, .port = port, .peer = peer, .reason = reason, .len = 100
	};
}

static void add(struct sums *s, struct bwl_event e, uint64_t now)
{
	sums_add(s, &e, now);
}

static void the_first_is_said_at_once_and_repeats_are_one_sum(void **state)
{
	struct bwl_event e = event(BWL_E_EXHAUSTED, 1, 7, BWL_R_PEER_VOLUME);
	struct sums *s = fresh();
	uint64_t now = 1000 * S;

	(void)state;
	add(s, e, now);
	assert_int_equal(got.lines, 1);
	assert_false(got.last.sum);
	for (unsigned i = 0; i < 500; i++)
		add(s, e, now += S);
	sums_tick(s, now);
	assert_int_equal(got.lines, 1);
	sums_tick(s, now = 1000 * S + SUMS_INTERVAL_NS);
	assert_int_equal(got.lines, 2);
	assert_true(got.last.sum && !got.last.mixed);
	assert_int_equal(got.last.events, 500);
	assert_int_equal(got.last.bytes, 50000);
	assert_int_equal(got.last.since_ns, 1000 * S);
	/* After a quiet interval the next event is logged again. */
	sums_tick(s, now += SUMS_INTERVAL_NS);
	assert_int_equal(got.lines, 2);
	add(s, e, now);
	assert_int_equal(got.lines, 3);
	assert_false(got.last.sum);
	sums_free(s);
}

static void refusals_by_a_rate_are_no_lines_at_all(void **state)
{
	static const uint8_t rate[] = { BWL_R_PEER_RATE,   BWL_R_FLOOR_RATE,     BWL_R_CLASS_RATE,
					BWL_R_ZONE_RATE,   BWL_R_PORT_RATE,      BWL_R_NODE_RATE,
					BWL_R_ACCEPT_RATE, BWL_R_NEIGHBOUR_RATE, BWL_R_CONTENDED };
	struct sums *s = fresh();

	(void)state;
	for (unsigned i = 0; i < sizeof(rate); i++)
		for (unsigned j = 0; j < 100; j++)
			add(s, event(BWL_E_DROP, 0, j, rate[i]), j * S);
	sums_tick(s, DAY);
	sums_end(s, DAY);
	assert_int_equal(got.lines, 0);
	add(s, event(BWL_E_DROP, 0, 1, BWL_R_NO_SA), DAY);
	assert_int_equal(got.lines, 1);
	sums_free(s);
}

static void a_day_of_junk_is_a_line_every_half_hour_and_nothing_is_lost(void **state)
{
	struct sums *s = fresh();
	unsigned n = 0;

	(void)state;
	for (uint64_t now = S; now < DAY; now += 10 * S) {
		for (unsigned i = 0; i < 20; i++, n++) {
			add(s, event(BWL_E_NEW_DEST, 1, 0, BWL_R_NO_PEER), now);
			add(s, event(BWL_E_SPOOF, 1, 0, i % 2 ? BWL_R_SRC_ADDR : BWL_R_SRC_MAC),
			    now);
		}
		sums_tick(s, now);
	}
	sums_end(s, DAY);
	assert_in_range(got.sums[BWL_E_NEW_DEST][1], 40, 49);
	assert_in_range(got.sums[BWL_E_SPOOF][1], 40, 49);
	assert_int_equal(got.at_once[BWL_E_NEW_DEST][1], 1);
	assert_int_equal(got.events[BWL_E_NEW_DEST][1], n);
	assert_int_equal(got.events[BWL_E_SPOOF][1], n);
	assert_true(got.last.mixed);
	sums_free(s);
}

static void junk_hides_no_other_kind_and_no_other_port(void **state)
{
	struct sums *s = fresh();
	uint64_t now = S;

	(void)state;
	for (unsigned i = 0; i < 10000; i++, now += S / 100) {
		add(s, event(BWL_E_NEW_DEST, 1, 0, BWL_R_NO_PEER), now);
		add(s, event(BWL_E_LAPSED, 1, 1 + i % 3000, BWL_R_EXPIRED), now);
	}
	assert_int_equal(got.at_once[BWL_E_LAPSED][1], SUMS_BURST);
	add(s, event(BWL_E_EXHAUSTED, 1, 7, BWL_R_PEER_VOLUME), now);
	assert_int_equal(got.at_once[BWL_E_EXHAUSTED][1], 1);
	add(s, event(BWL_E_GATE, 3, 0, BWL_R_GATE), now);
	assert_int_equal(got.at_once[BWL_E_GATE][3], 1);
	add(s, event(BWL_E_CLOCK, 1, 7, BWL_R_CLOCK), now);
	assert_int_equal(got.at_once[BWL_E_CLOCK][1], 1);
	add(s, event(BWL_E_LAPSED, 2, 7, BWL_R_EXPIRED), now);
	assert_int_equal(got.at_once[BWL_E_LAPSED][2], 1);
	add(s, event(BWL_E_NEW_DEST, 2, 0, BWL_R_NO_PEER), now);
	assert_int_equal(got.at_once[BWL_E_NEW_DEST][2], 1);
	sums_free(s);
}

static void whatever_a_host_does_a_kind_at_a_port_has_few_lines_a_day(void **state)
{
	uint64_t most = SUMS_BURST + DAY / SUMS_REFILL_NS + DAY / SUMS_INTERVAL_NS + 2;
	struct sums *s = fresh();
	uint32_t peer = 0;

	(void)state;
	for (uint64_t now = S; now < DAY; now += S) {
		for (unsigned i = 0; i < 16; i++)
			add(s, event(BWL_E_LAPSED, 1, 1 + peer++ % 4000, BWL_R_EXPIRED), now);
		sums_tick(s, now);
	}
	sums_end(s, DAY);
	assert_in_range(got.lines, SUMS_BURST, most);
	assert_int_equal(got.events[BWL_E_LAPSED][1], 16 * (DAY / S - 1));
	/* events just far enough apart that each is logged again */
	sums_free(s);
	s = fresh();
	for (uint64_t now = S; now < DAY; now += SUMS_JUNK_NS / 4) {
		add(s, event(BWL_E_SPOOF, 1, 0, BWL_R_SRC_ADDR), now);
		sums_tick(s, now + 1);
	}
	assert_in_range(got.lines, 1, 2 * DAY / SUMS_JUNK_NS);
	sums_free(s);
}

static void what_no_map_of_ours_holds_is_no_line(void **state)
{
	struct sums *s = fresh();

	(void)state;
	add(s, event(200, 1, 0, BWL_R_NO_PEER), S);
	add(s, event(BWL_E_GATE, 200, 0, BWL_R_GATE), S);
	sums_end(s, DAY);
	assert_int_equal(got.lines, 0);
	sums_free(s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_first_is_said_at_once_and_repeats_are_one_sum),
		cmocka_unit_test(refusals_by_a_rate_are_no_lines_at_all),
		cmocka_unit_test(a_day_of_junk_is_a_line_every_half_hour_and_nothing_is_lost),
		cmocka_unit_test(junk_hides_no_other_kind_and_no_other_port),
		cmocka_unit_test(whatever_a_host_does_a_kind_at_a_port_has_few_lines_a_day),
		cmocka_unit_test(what_no_map_of_ours_holds_is_no_line),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
