// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The stages of a rollout: what passes a stage, what stops the rollout, and how another leader
 * continues it.
 */
#include <stdlib.h>
#include <string.h>
#include "rollout.h"
#include "test.h"

#define S 1000000000ULL
#define TRAYS 40

static const struct rollout_rules rules = ROLLOUT_RULES;

struct world {
	struct rollout r;
	struct rollout_seat seat[TRAYS];
	struct tray_status says[TRAYS];
	unsigned n;
	uint64_t now, since;
};

static void world_begin(struct world *w, unsigned n)
{
	memset(w, 0, sizeof(*w));
	w->r = (struct rollout){ .name = "base", .has_from = true, .to_version = 5, .percent = 10 };
	memset(w->r.from, 1, 32);
	memset(w->r.to, 2, 32);
	strcpy(w->r.salt, "salt");
	w->n = n;
	w->now = w->since = 1000 * S;
	for (unsigned i = 0; i < n; i++) {
		snprintf(w->seat[i].tray, sizeof(w->seat[i].tray), "tray-%u", i);
		/* places in order: the first tenth is the first stage */
		w->seat[i].place = i * 100 / n;
		w->says[i].has_policy = true;
		memcpy(w->says[i].policy, w->r.from, 32);
		rollout_seat_begin(&w->seat[i], w->now);
	}
}

/*
 * Every tray sends a status. Trays that the rollout reaches have taken the policy and pass packets.
 */
static void everybody_says(struct world *w)
{
	for (unsigned i = 0; i < w->n; i++) {
		if (w->seat[i].place < w->r.percent)
			memcpy(w->says[i].policy, w->r.to, 32);
		w->says[i].passed += 10000;
		rollout_hear(&w->seat[i], &w->r, &w->says[i], w->now);
	}
}

static struct rollout_verdict judge(const struct world *w)
{
	return rollout_judge(&w->r, &rules, w->seat, w->n, w->since, w->now);
}

static void pass_time(struct world *w, unsigned seconds)
{
	for (; seconds >= 30; seconds -= 30) {
		w->now += 30 * S;
		everybody_says(w);
	}
	w->now += seconds * S;
}

static void next(struct world *w, unsigned percent)
{
	w->r.percent = percent;
	w->since = w->now;
	for (unsigned i = 0; i < w->n; i++)
		rollout_seat_begin(&w->seat[i], w->now);
}

static void a_place_is_what_the_tray_itself_computes(void **state)
{
	unsigned below[4] = { 0 };

	(void)state;
	/*
	 * the first 4 bytes of SHA-256("salttray-7"), big-endian, modulo 100; computed with
	 * sha256sum
	 */
	assert_int_equal(rollout_place("salt", "tray-7"), 45);
	for (unsigned i = 0; i < 10000; i++) {
		char tray[20];
		unsigned p;

		snprintf(tray, sizeof(tray), "t%u", i);
		p = rollout_place("x", tray);
		assert_true(p < 100);
		for (unsigned s = 0; s < 4; s++)
			below[s] += p < rules.stage[s];
	}
	/* each stage contains the one before and has about its part of the fleet */
	assert_in_range(below[0], 900, 1100);
	assert_in_range(below[1], 2350, 2650);
	assert_in_range(below[2], 4800, 5200);
	assert_int_equal(below[3], 10000);
}

static void healthy_trays_pass_every_stage_after_its_soak(void **state)
{
	static const unsigned stages[] = { 25, 50, 100 };
	struct world w;

	(void)state;
	world_begin(&w, TRAYS);
	for (unsigned i = 0; i < 3; i++) {
		pass_time(&w, 599);
		assert_int_equal(judge(&w).word, ROLLOUT_WAIT);
		pass_time(&w, 1);
		assert_int_equal(judge(&w).word, ROLLOUT_NEXT);
		assert_int_equal(judge(&w).percent, stages[i]);
		next(&w, stages[i]);
	}
	pass_time(&w, 600);
	assert_int_equal(judge(&w).word, ROLLOUT_FINISHED);
}

static void a_tray_that_drops_more_than_before_stops_it(void **state)
{
	struct world w;

	(void)state;
	world_begin(&w, TRAYS);
	w.seat[1].before_ppm = 30000; /* 3 % */
	pass_time(&w, 60);
	w.says[1].dropped += 700; /* 3.4 % of 20000 and these */
	pass_time(&w, 30);
	assert_int_equal(judge(&w).word, ROLLOUT_WAIT);
	w.says[1].dropped += 4000;
	pass_time(&w, 30);
	assert_int_equal(judge(&w).word, ROLLOUT_GO_BACK);
	assert_non_null(strstr(judge(&w).why, "tray-1 drops"));
}

static void what_the_rollout_does_not_reach_does_not_stop_it(void **state)
{
	struct world w;

	(void)state;
	world_begin(&w, TRAYS);
	w.says[TRAYS - 1].dropped = 1U << 30;
	w.says[TRAYS - 1].sas_down = 9;
	pass_time(&w, 600);
	assert_int_equal(judge(&w).word, ROLLOUT_NEXT);
}

static void a_tray_that_refuses_it_stops_it_at_once(void **state)
{
	struct world w;

	(void)state;
	world_begin(&w, TRAYS);
	strcpy(w.says[0].refused[0].what, "policy/base");
	w.says[0].refused[0].version = 4; /* another version */
	w.says[0].nrefused = 1;
	rollout_hear(&w.seat[0], &w.r, &w.says[0], w.now);
	assert_int_equal(judge(&w).word, ROLLOUT_WAIT);
	w.says[0].refused[0].version = 5;
	rollout_hear(&w.seat[0], &w.r, &w.says[0], w.now);
	assert_int_equal(judge(&w).word, ROLLOUT_GO_BACK);
	assert_non_null(strstr(judge(&w).why, "refuses"));
}

static void a_tray_that_is_lost_stops_it(void **state)
{
	struct world w;

	(void)state;
	world_begin(&w, TRAYS);
	pass_time(&w, 300);
	for (unsigned i = 1; i < w.n; i++)
		w.seat[i].heard_ns = w.now + 45 * S;
	w.now += 90 * S;
	assert_int_not_equal(judge(&w).word, ROLLOUT_GO_BACK);
	w.now += S;
	assert_int_equal(judge(&w).word, ROLLOUT_GO_BACK);
	assert_non_null(strstr(judge(&w).why, "tray-0 no longer reports"));
}

static void what_is_heard_in_the_middle_of_a_step_is_not_old(void **state)
{
	struct world w;

	(void)state;
	world_begin(&w, TRAYS);
	pass_time(&w, 60);
	w.now -= S; /* the step began before the statuses were heard */
	assert_int_equal(judge(&w).word, ROLLOUT_WAIT);
	w.since = w.now + S;
	assert_int_equal(judge(&w).word, ROLLOUT_WAIT);
}

static void a_tray_that_was_lost_before_is_not_waited_for(void **state)
{
	struct world w;

	(void)state;
	world_begin(&w, TRAYS);
	w.seat[0].absent = true;
	pass_time(&w, 600);
	w.seat[0].heard_ns = w.since;
	assert_int_equal(judge(&w).word, ROLLOUT_NEXT);
	for (unsigned i = 0; i < w.n; i++)
		w.seat[i].absent = true;
	assert_int_equal(judge(&w).word, ROLLOUT_WAIT);
	assert_non_null(strstr(judge(&w).why, "no tray"));
}

static void a_tray_that_came_later_is_looked_at_once_it_has_the_policy(void **state)
{
	struct world w;

	(void)state;
	world_begin(&w, TRAYS);
	w.seat[0].late = true;
	w.seat[0].refuses = true; /* it never had the policy `from` that the rollout names */
	w.now += 1;
	assert_int_equal(judge(&w).word, ROLLOUT_WAIT);
	assert_int_equal(judge(&w).judged, 3);
	pass_time(&w, 60);
	assert_int_equal(judge(&w).judged, 4);
	w.says[0].dropped += 100000;
	pass_time(&w, 30);
	assert_int_equal(judge(&w).word, ROLLOUT_GO_BACK);
}

static void an_sa_that_stays_down_stops_it(void **state)
{
	struct world w;

	(void)state;
	world_begin(&w, TRAYS);
	w.seat[0].before_sas_down = 1;
	w.says[0].sas_down = 1;
	w.says[1].sas_down = 1;
	pass_time(&w, 90);
	assert_int_equal(judge(&w).word, ROLLOUT_WAIT);
	assert_non_null(strstr(judge(&w).why, "tray-1"));
	pass_time(&w, 60);
	assert_int_equal(judge(&w).word, ROLLOUT_GO_BACK);
}

static void a_tray_that_does_not_take_it_stops_it(void **state)
{
	struct world w;

	(void)state;
	world_begin(&w, TRAYS);
	for (unsigned i = 0; i < 4; i++) { /* its status still shows the old policy */
		w.now += 30 * S;
		rollout_hear(&w.seat[0], &w.r, &w.says[0], w.now);
		for (unsigned j = 1; j < w.n; j++)
			w.seat[j].heard_ns = w.now;
	}
	assert_int_equal(judge(&w).word, ROLLOUT_GO_BACK);
	assert_non_null(strstr(judge(&w).why, "has not taken it"));
}

static void a_stage_that_reaches_nobody_new_needs_no_soak(void **state)
{
	struct world w;

	(void)state;
	world_begin(&w, 3); /* places 0, 33, 66 */
	pass_time(&w, 600);
	assert_int_equal(judge(&w).percent, 25);
	next(&w, 25);
	assert_int_equal(judge(&w).word, ROLLOUT_WAIT); /* its trays must first be heard again */
	pass_time(&w, 60);
	assert_int_equal(judge(&w).percent, 50);
	next(&w, 50); /* reaches the second tray */
	pass_time(&w, 60);
	assert_int_equal(judge(&w).word, ROLLOUT_WAIT);
}

/*
 * Whatever trays say, and whenever: no stage is passed while one of its trays that was there is
 * silent, has not taken the policy, refuses it, drops too much or has more SAs down.
 */
static void no_stage_is_passed_with_an_unwell_tray(void **state)
{
	uint64_t seed = 4711;
	unsigned passed = 0, back = 0;

	(void)state;
	for (unsigned run = 0; run < 3000; run++) {
		struct rollout_rules some = rules;
		struct world w;
		bool is_ill = test_random(&seed) % 2;

		world_begin(&w, 1 + (unsigned)(test_random(&seed) % TRAYS));
		w.r.percent = rules.stage[test_random(&seed) % 4];
		some.tolerate = test_random(&seed) % 2 ? 0 : (unsigned)(test_random(&seed) % 40);
		for (unsigned i = 0; i < w.n; i++)
			w.seat[i].absent = test_random(&seed) % 8 == 0;
		for (unsigned step = 0; step < 60; step++) {
			struct rollout_verdict v;
			unsigned reached = 0, unwell = 0;

			w.now += test_random(&seed) % 40 * S;
			for (unsigned i = 0; i < w.n; i++) {
				struct tray_status *s = &w.says[i];

				if (is_ill && test_random(&seed) % 16 == 0)
					continue; /* a silent tray */
				if (w.seat[i].place < w.r.percent &&
				    (!is_ill || test_random(&seed) % 16))
					memcpy(s->policy, w.r.to, 32);
				s->passed += 1000;
				if (is_ill && test_random(&seed) % 64 == 0)
					s->dropped += 1000;
				s->sas_down = is_ill && test_random(&seed) % 16 == 0;
				rollout_hear(&w.seat[i], &w.r, s, w.now);
			}
			v = rollout_judge(&w.r, &some, w.seat, w.n, w.since, w.now);
			for (unsigned i = 0; i < w.n; i++) {
				const struct rollout_seat *s = &w.seat[i];

				if (s->absent || s->place >= w.r.percent)
					continue;
				reached++;
				unwell += w.now - s->heard_ns > some.silent_ns ||
					  memcmp(w.says[i].policy, w.r.to, 32) ||
					  w.says[i].sas_down > s->before_sas_down ||
					  (s->packets >= 100 &&
					   s->now_ppm > s->before_ppm + some.drops_more * 10000);
			}
			if (v.word == ROLLOUT_NEXT || v.word == ROLLOUT_FINISHED) {
				passed++;
				assert_true(unwell <= reached * some.tolerate / 100);
				assert_true(v.percent > w.r.percent || v.word == ROLLOUT_FINISHED);
				break;
			}
			if (v.word == ROLLOUT_GO_BACK) {
				back++;
				assert_true(v.bad > reached * some.tolerate / 100);
				assert_true(*v.why);
				break;
			}
		}
	}
	/* both outcomes occurred */
	assert_true(passed > 500);
	assert_true(back > 500);
}

static void the_next_leader_reads_what_the_last_one_wrote(void **state)
{
	struct rollout r = { .name = "base",
			     .phase = ROLLOUT_BACK,
			     .has_from = true,
			     .to_version = 5,
			     .from_lease_s = 30,
			     .version = 1800000000,
			     .percent = 25,
			     .salt = "0011",
			     .why = "tray-1 \"x\"",
			     .since_s = 1800000123 };
	struct bwl_err e = { 0 };
	struct rollout q;
	char *text;

	(void)state;
	memset(r.from, 1, 32);
	memset(r.to, 2, 32);
	text = rollout_text(&r);
	assert_int_equal(rollout_parse(text, strlen(text), &q, &e), 0);
	free(text);
	text = rollout_text(&q);
	assert_string_equal(q.why, r.why);
	assert_int_equal(q.phase, ROLLOUT_BACK);
	assert_int_equal(q.from_lease_s, 30);
	assert_int_equal(q.since_s, 1800000123);
	assert_memory_equal(q.to, r.to, 32);
	assert_memory_equal(q.from, r.from, 32);
	assert_int_equal(rollout_parse(text, strlen(text) - 1, &q, &e), -EBADMSG);
	free(text);
}

static void how_it_stands_is_read_as_it_was_written(void **state)
{
	static const char *const bad[] = {
		"",
		"{}",
		"{\"version\":1,\"said_s\":1,\"soak_until_s\":1,\"stages\":[101],\"judged\":1,\"unwell\":0,\"bad\":0,\"why\":\"\",\"waits\":[]}",
		"{\"version\":1,\"said_s\":1,\"soak_until_s\":1,\"stages\":[1,2,3,4,5,6,7,8,9],\"judged\":1,\"unwell\":0,\"bad\":0,\"why\":\"\",\"waits\":[]}",
		"{\"version\":1,\"said_s\":1,\"soak_until_s\":1,\"stages\":[],\"judged\":-1,\"unwell\":0,\"bad\":0,\"why\":\"\",\"waits\":[]}",
		"{\"version\":1,\"said_s\":1,\"soak_until_s\":1,\"stages\":[],\"judged\":1,\"unwell\":0,\"bad\":0,\"why\":\"\",\"waits\":[\"a/b\"]}",
	};
	struct rollout_health h = { .version = 1800000000,
				    .said_s = 1800000060,
				    .soak_until_s = 1800000600,
				    .stage = { 10, 100 },
				    .nstages = 2,
				    .judged = 20,
				    .unwell = 2,
				    .bad = 1,
				    .why = "tray-1 has not taken it",
				    .nwaits = 2,
				    .waits = { "tray-1", "tray-7" } };
	struct rollout_health q;
	struct bwl_err e = { 0 };
	char *text = rollout_health_text(&h);

	(void)state;
	assert_int_equal(rollout_health_parse(text, strlen(text), &q, &e), 0);
	assert_memory_equal(&q, &h, sizeof(q));
	free(text);
	for (unsigned i = 0; i < sizeof(bad) / sizeof(*bad); i++)
		assert_int_equal(rollout_health_parse(bad[i], strlen(bad[i]), &q, &e), -EBADMSG);
}

static void a_verdict_names_who_is_waited_for(void **state)
{
	struct rollout r = { .percent = 100, .phase = ROLLOUT_GOING };
	struct rollout_seat seat[12] = { 0 };
	struct rollout_verdict v;

	(void)state;
	for (unsigned i = 0; i < 12; i++)
		snprintf(seat[i].tray, sizeof(seat[i].tray), "tray-%u", i);
	/* The first two are well: both have been heard twice. */
	seat[0].heard = seat[1].heard = 2;
	for (unsigned i = 0; i < 12; i++)
		seat[i].heard_ns = 1;
	v = rollout_judge(&r, &rules, seat, 12, 1, 2);
	assert_int_equal(v.word, ROLLOUT_WAIT);
	assert_int_equal(v.judged, 12);
	assert_int_equal(v.unwell, 10);
	assert_int_equal(v.nwaits, ROLLOUT_WAITS);
	assert_string_equal(v.waits[0], "tray-2");
	assert_string_equal(v.waits[ROLLOUT_WAITS - 1], "tray-9");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_place_is_what_the_tray_itself_computes),
		cmocka_unit_test(healthy_trays_pass_every_stage_after_its_soak),
		cmocka_unit_test(a_tray_that_drops_more_than_before_stops_it),
		cmocka_unit_test(what_the_rollout_does_not_reach_does_not_stop_it),
		cmocka_unit_test(a_tray_that_refuses_it_stops_it_at_once),
		cmocka_unit_test(a_tray_that_is_lost_stops_it),
		cmocka_unit_test(what_is_heard_in_the_middle_of_a_step_is_not_old),
		cmocka_unit_test(a_tray_that_was_lost_before_is_not_waited_for),
		cmocka_unit_test(a_tray_that_came_later_is_looked_at_once_it_has_the_policy),
		cmocka_unit_test(an_sa_that_stays_down_stops_it),
		cmocka_unit_test(a_tray_that_does_not_take_it_stops_it),
		cmocka_unit_test(a_stage_that_reaches_nobody_new_needs_no_soak),
		cmocka_unit_test(no_stage_is_passed_with_an_unwell_tray),
		cmocka_unit_test(the_next_leader_reads_what_the_last_one_wrote),
		cmocka_unit_test(how_it_stands_is_read_as_it_was_written),
		cmocka_unit_test(a_verdict_names_who_is_waited_for),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
