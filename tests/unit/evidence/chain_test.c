// SPDX-License-Identifier: GPL-2.0-or-later
/* Intervals follow on one another, and what their peers say of themselves is told. */
#include "rig.h"
#include "evidence/chain.h"

#define DAY 20717 /* the day on which all intervals end */

static unsigned bad_seen, between_seen, unfollowed;
static char last_bad[300], last_note[300];
static void count_bad(bool bad, const char *text, void *arg)
{
	(void)arg;
	bad_seen += bad;
	between_seen += bad && strstr(text, "entries between");
	unfollowed += bad && strstr(text, "does not follow");
	snprintf(bad ? last_bad : last_note, sizeof(last_bad), "%s", text);
}

/* Checks the intervals in this order; 0 ends the list. */
static unsigned chain_of(struct ev_entry *x, struct ev_interval *v, const int *order)
{
	struct ev_chain c = { .fn = count_bad };

	bad_seen = between_seen = unfollowed = 0;
	for (; *order; order++)
		ev_chain_next(&c, &x[*order], v[*order].peer, v[*order].slots);
	ev_chain_free(&c);
	return bad_seen;
}

static void intervals_follow_on_one_another(void **state)
{
	struct ev_interval v[6];
	struct ev_entry x[6] = { 0 };
	uint32_t slot;

	(void)state;
	memset(counter, 0, sizeof(counter));
	for (unsigned i = 1; i < 6; i++) {
		v[i] = interval_of(file_of(i, 3, 4, false, i == 5));
		assert_true(ev_entry_of(&v[i], DAY, i > 1 ? &x[i - 1].root : NULL, &x[i]));
	}
	assert_int_equal(chain_of(x, v, (int[]){ 1, 2, 3, 4, 0 }), 0);
	assert_int_not_equal(chain_of(x, v, (int[]){ 1, 3, 4, 0 }), 0); /* 2 is left out */
	assert_int_not_equal(chain_of(x, v, (int[]){ 1, 2, 2, 3, 0 }), 0);
	assert_non_null(strstr(last_bad, "counter")); /* found by the second one's counters */
	assert_int_not_equal(chain_of(x, v, (int[]){ 2, 1, 3, 0 }), 0);
	assert_int_equal(chain_of(x, v, (int[]){ 1, 2, 3, 4, 5, 0 }), 0);
	assert_int_not_equal(chain_of(x, v, (int[]){ 1, 2, 3, 5, 0 }), 0); /* 5 has `gap` */
	assert_int_equal(between_seen, 1); /* although the log has entry 4 */
	x[4].previous = x[2].root;         /* 3 was never entered, and 4 does not say so */
	assert_int_not_equal(chain_of(x, v, (int[]){ 1, 2, 4, 0 }), 0);
	assert_int_equal(unfollowed, 1);
	x[4].previous = x[3].root;
	/* a counter that moved in between, of a peer that claims to balance */
	slot = slot_of(&v[3], "p2");
	v[3].peer[slot].cpu[0].before.v[EV_BYTES] += 7;
	assert_int_equal(chain_of(x, v, (int[]){ 1, 2, 3, 4, 0 }), 1);
	assert_non_null(strstr(last_bad, "counter"));
	v[3].peer[slot].balanced = false; /* or that does not claim it */
	assert_int_equal(chain_of(x, v, (int[]){ 1, 2, 3, 4, 0 }), 0);
	for (unsigned i = 1; i < 6; i++)
		ev_interval_free(&v[i]);
}

/*
 * A log that changes pseudonyms at will is found; and counters that appear and disappear are
 * counted.
 */
static void what_is_not_followed_is_said(void **state)
{
	struct ev_interval v[6];
	struct ev_entry x[6] = { 0 };
	struct ev_chain c = { .fn = count_bad };

	(void)state;
	memset(counter, 0, sizeof(counter));
	for (unsigned i = 1; i < 6; i++) {
		v[i] = interval_of(file_of(i, 3, 4, false, false));
		assert_true(ev_entry_of(&v[i], DAY, i > 1 ? &x[i - 1].root : NULL, &x[i]));
	}
	assert_int_equal(chain_of(x, v, (int[]){ 1, 2, 3, 0 }), 0); /* control */
	x[2].epoch = DAY + 1;
	assert_int_not_equal(chain_of(x, v, (int[]){ 1, 2, 0 }), 0);
	assert_non_null(strstr(last_bad, "day when it ended"));
	/*
	 * an interval of one minute that ends one minute before midnight may have the next day's
	 * epoch
	 */
	strcpy(x[2].id.begin, "2026-09-21T23:58:00.000Z");
	strcpy(x[2].id.end, "2026-09-21T23:59:00.000Z");
	assert_int_equal(chain_of(x, v, (int[]){ 1, 2, 0 }), 0);
	assert_int_equal(chain_of(x, v, (int[]){ 1, 2, 3, 0 }), 0); /* 3 ended before 2 */
	strcpy(x[3].id.end, "2026-09-21T23:59:10.000Z");
	assert_int_not_equal(chain_of(x, v, (int[]){ 1, 2, 3, 0 }), 0);
	assert_non_null(strstr(last_bad, "earlier day than the last"));
	x[2].epoch = DAY;
	/* traffic of no peer may be of all that are absent, but of no more than it is */
	for (uint32_t i = 0; i < v[3].slots; i++)
		v[3].peer[i].ncpus = 0;
	x[3].id.other = (struct ev_sum){ { 30, 2999, 0, 0 } };
	assert_int_equal(chain_of(x, v, (int[]){ 1, 2, 3, 4, 0 }), 1);
	assert_non_null(strstr(last_bad, "does not begin where"));
	x[3].id.other.v[EV_BYTES] = 3000; /* of three peers */
	bad_seen = 0;
	for (int i = 1; i < 4; i++)
		ev_chain_next(&c, &x[i], v[i].peer, v[i].slots);
	assert_true(ev_chain_has_gap(&c)); /* no record has those 3000 */
	assert_int_equal(c.jumps, 0);
	ev_chain_next(&c, &x[4], v[4].peer, v[4].slots);
	assert_int_equal(bad_seen, 0);
	assert_int_equal(c.counters, 3);
	assert_int_equal(c.appeared, 0);
	assert_int_equal(c.other_seen, 1);
	assert_int_equal(c.other.v[EV_FRAMES], 30);
	assert_int_equal(c.boots, 1);
	assert_int_equal(c.first.id.interval, 1);
	assert_int_equal(c.jumps, 3); /* whose of that traffic it was is not known */
	assert_int_equal(c.grown.v[EV_BYTES], 3000);
	assert_true(ev_chain_has_gap(&c));
	strcpy(x[5].id.boot, "another");
	x[5].id.gap = true;
	ev_chain_next(&c, &x[5], v[5].peer, v[5].slots);
	assert_int_equal(c.boots, 2);
	assert_int_equal(c.appeared, 3); /* nothing says when these passed */
	assert_true(ev_chain_has_gap(&c));
	assert_int_equal(bad_seen, 0);
	ev_chain_next(&c, &x[2], v[2].peer, v[2].slots); /* of the first boot again */
	assert_non_null(strstr(last_bad, "boot that was over"));
	assert_int_equal(bad_seen, 2);
	ev_chain_free(&c);
	for (unsigned i = 1; i < 6; i++)
		ev_interval_free(&v[i]);
}

/*
 * Counters are followed up to midnight, and anew from there. A changed clock is reported, but is
 * not an error.
 */
static void midnight_and_clocks_that_are_set_are_told(void **state)
{
	static const uint8_t tomorrow[32] = "the secret of the day after it.";
	static const struct {
		unsigned day;
		const char *begin, *end;
	} at[] = { { 0, "", "" },
		   { DAY, "", "2026-09-21T23:59:45.000Z" },
		   { DAY, "2026-09-21T23:59:45.000Z", "2026-09-21T23:59:55.000Z" },
		   { DAY + 1, "2026-09-21T23:59:55.004Z", "2026-09-22T00:00:05.004Z" },
		   { DAY + 1, "2026-09-22T00:00:05.004Z", "2026-09-22T00:00:15.004Z" },
		   /* set back by a minute, and ahead by an hour */
		   { DAY, "2026-09-21T23:59:15.000Z", "2026-09-21T23:59:25.000Z" },
		   { DAY + 1, "2026-09-22T00:59:25.000Z", "2026-09-22T00:59:35.000Z" } };
	struct ev_chain c = { .fn = count_bad };
	struct ev_interval v[7];
	struct ev_entry x[7] = { 0 };

	(void)state;
	memset(counter, 0, sizeof(counter));
	for (unsigned i = 1; i < 7; i++) {
		v[i] = interval_by(at[i].day == DAY ? master : tomorrow,
				   file_of(i, 3, 4, false, false));
		strcpy(v[i].id.begin, at[i].begin);
		strcpy(v[i].id.end, at[i].end);
		assert_true(ev_entry_of(&v[i], at[i].day, i > 1 ? &x[i - 1].root : NULL, &x[i]));
	}
	bad_seen = 0;
	for (unsigned i = 1; i < 5; i++)
		ev_chain_next(&c, &x[i], v[i].peer, v[i].slots);
	assert_int_equal(bad_seen, 0);
	assert_int_equal(c.epochs, 1);
	assert_int_equal(c.counters, 9); /* three peers, over midnight by their values */
	assert_int_equal(c.appeared, 0);
	assert_int_equal(c.clock_steps, 0);
	ev_chain_next(&c, &x[5], v[5].peer, v[5].slots);
	assert_int_equal(c.clock_steps, 1);
	assert_non_null(strstr(last_note, "set back by 60 s"));
	assert_int_equal(c.epochs, 2);
	ev_chain_next(&c, &x[6], v[6].peer, v[6].slots);
	assert_int_equal(c.clock_steps, 2);
	assert_non_null(strstr(last_note, "set ahead by 3600 s"));
	assert_int_equal(bad_seen, 0);
	ev_chain_free(&c);
	/* if something is missing between them, time has passed */
	x[6].id.gap = true;
	*last_note = '\0';
	chain_of(x, v, (int[]){ 5, 6, 0 });
	assert_null(strstr(last_note, "clock"));
	/* and no interval may end before it begins */
	strcpy(x[2].id.end, "2026-09-21T23:59:40.000Z");
	assert_int_equal(chain_of(x, v, (int[]){ 1, 2, 0 }), 1);
	assert_non_null(strstr(last_bad, "before it begins"));
	for (unsigned i = 1; i < 7; i++)
		ev_interval_free(&v[i]);
}

/* Five intervals of three peers; in the third, a middle one, the tests change something. */
static struct ev_interval five[6];
static struct ev_entry entry_of[6];
static void make_five(const uint8_t middle[32], unsigned day)
{
	memset(counter, 0, sizeof(counter));
	for (unsigned i = 1; i < 6; i++) {
		five[i] = interval_by(i == 3 ? middle : master, file_of(i, 3, 4, false, false));
		assert_true(ev_entry_of(&five[i], i == 3 ? day : DAY, NULL, &entry_of[i]));
		if (i > 1)
			entry_of[i].previous = entry_of[i - 1].root;
	}
}

static void free_five(void)
{
	for (unsigned i = 1; i < 6; i++)
		ev_interval_free(&five[i]);
}

static void add_to(struct ev_interval *v, const char *name, uint64_t before, uint64_t after)
{
	struct ev_cpu *cpu = &v->peer[slot_of(v, name)].cpu[0];

	cpu->before.v[EV_BYTES] += before;
	cpu->after.v[EV_BYTES] += after;
}

#define LEFT_OUT 500000000000ULL

/*
 * A middle interval of another day, without an end: its pseudonyms are others, so nothing that it
 * says can be compared by name. What is left out around it is found by the counters' values.
 */
static void a_middle_interval_of_another_day_hides_nothing(void **state)
{
	static const uint8_t tomorrow[32] = "the secret of the day after it.";
	static const int all[] = { 1, 2, 3, 4, 5, 0 };
	struct ev_chain c = { .fn = count_bad };

	(void)state;
	make_five(tomorrow, DAY + 1);
	*entry_of[3].id.end = '\0'; /* it waited until the day was over: honest */
	assert_int_equal(chain_of(entry_of, five, all), 0);
	add_to(&five[4], "p1", LEFT_OUT, LEFT_OUT); /* after it, before it, and beside it */
	add_to(&five[5], "p1", LEFT_OUT, LEFT_OUT);
	assert_int_equal(chain_of(entry_of, five, all), 1);
	assert_non_null(strstr(last_bad, "does not begin where"));
	add_to(&five[3], "p1", LEFT_OUT, LEFT_OUT);
	assert_int_equal(chain_of(entry_of, five, all), 1);
	five[3].peer[slot_of(&five[3], "p1")].ncpus = 0;
	assert_int_equal(chain_of(entry_of, five, all), 1);
	/* nor does it help to say that its clock was wrong */
	strcpy(entry_of[3].id.end, "2026-09-22T14:13:20.000Z");
	assert_int_equal(chain_of(entry_of, five, all), 1);
	/* if nothing goes back to the day before, it is not known when those bytes passed */
	add_to(&five[4], "p1", -LEFT_OUT, -LEFT_OUT);
	for (int i = 1; i < 4; i++) {
		five[i].peer[slot_of(&five[i], "p1")].ncpus = i > 2;
		ev_chain_next(&c, &entry_of[i], five[i].peer, five[i].slots);
	}
	assert_int_equal(c.appeared, 1);
	assert_true(ev_chain_has_gap(&c));
	ev_chain_free(&c);
	free_five();
	/* a value that one counter was left at is not that of two */
	make_five(tomorrow, DAY + 1);
	c = (struct ev_chain){ .fn = count_bad };
	for (int i = 1; i < 3; i++)
		five[i].peer[slot_of(&five[i], "p0")].ncpus = 0;
	for (int i = 1; i < 4; i++)
		ev_chain_next(&c, &entry_of[i], five[i].peer, five[i].slots);
	assert_int_equal(c.appeared, 1);
	ev_chain_free(&c);
	free_five();
}

static void an_earlier_day_needs_an_earlier_end(void **state)
{
	static const int all[] = { 1, 2, 3, 4, 0 };

	(void)state;
	make_five(master, DAY - 1);
	*entry_of[3].id.end = '\0'; /* not known, so it is not earlier */
	assert_int_equal(chain_of(entry_of, five, all), 1);
	assert_non_null(strstr(last_bad, "earlier day"));
	entry_of[3].epoch = DAY;
	assert_int_equal(chain_of(entry_of, five, all), 0); /* control */
	strcpy(entry_of[3].id.begin, "2026-09-22T14:13:10.000Z");
	assert_int_equal(chain_of(entry_of, five, all), 1);
	assert_non_null(strstr(last_bad, "before it began"));
	free_five();
}

/* The disk was full: an interval was not written, and the next one says so. That is no lie. */
static void an_honest_gap_is_told_and_not_bad(void **state)
{
	struct ev_chain c = { .fn = count_bad };

	(void)state;
	make_five(master, DAY);
	entry_of[4].previous = entry_of[2].root; /* 3 was lost */
	assert_int_not_equal(chain_of(entry_of, five, (int[]){ 1, 2, 4, 5, 0 }), 0); /* unsaid */
	entry_of[4].id.gap = true;
	bad_seen = 0;
	ev_chain_next(&c, &entry_of[1], five[1].peer, five[1].slots);
	ev_chain_next(&c, &entry_of[2], five[2].peer, five[2].slots);
	assert_false(ev_chain_has_gap(&c));
	ev_chain_next(&c, &entry_of[4], five[4].peer, five[4].slots);
	ev_chain_next(&c, &entry_of[5], five[5].peer, five[5].slots);
	assert_int_equal(bad_seen, 0);
	assert_int_equal(c.gaps, 1);
	assert_int_equal(c.grown.v[EV_BYTES], 3000); /* what 3 had */
	assert_true(ev_chain_has_gap(&c));
	ev_chain_free(&c);
	/* a gap makes no counter smaller, and nothing after it may move */
	add_to(&five[4], "p1", -1500, 0);
	assert_int_equal(chain_of(entry_of, five, (int[]){ 1, 2, 4, 5, 0 }), 1);
	add_to(&five[4], "p1", 1500, 0);
	add_to(&five[5], "p1", 1, 1);
	assert_int_equal(chain_of(entry_of, five, (int[]){ 1, 2, 4, 5, 0 }), 1);
	free_five();
}

static void an_interval_that_balances_has_no_peer_that_does_not(void **state)
{
	struct ev_interval v = interval_of(file_of(1, 3, 5, false, false));
	uint32_t slot = slot_of(&v, "p1");
	struct ev_chain c = { .fn = count_bad };
	struct ev_entry x;
	char *line, *proof;
	json_t *doc;

	(void)state;
	v.peer[slot].balanced = false;
	v.peer[slot].cpu[0].after.v[EV_BYTES] += 1000000; /* bytes that are in no record */
	strcpy(v.peer[slot].why, "it\x1b[2J says");
	commit_again(&v);
	assert_true(ev_entry_of(&v, 1, NULL, &x));
	assert_false(x.id.balanced); /* control: an honest statement is valid */
	assert_null(ev_entry_wrong(&x, v.peer, v.slots));
	ev_chain_next(&c, &x, v.peer, v.slots);
	assert_int_equal(c.unbalanced_peers, 1);
	assert_non_null(strstr(last_note, "it?[2J says"));
	x.id.balanced = true;
	assert_non_null(strstr(ev_entry_wrong(&x, v.peer, v.slots), "balances"));
	enter(&x, &line, &proof);
	doc = json_pack("{s:i,s:s,s:[o]}", "version", 1, "kind", EV_OPENING_KIND, "intervals",
			ev_open_interval(line, proof, json_pack("[o]", ev_open_peer(&v, slot))));
	assert_false(holds(doc));
	json_decref(doc);
	free(line);
	free(proof);
	ev_chain_free(&c);
	ev_interval_free(&v);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(intervals_follow_on_one_another),
		cmocka_unit_test(what_is_not_followed_is_said),
		cmocka_unit_test(midnight_and_clocks_that_are_set_are_told),
		cmocka_unit_test(a_middle_interval_of_another_day_hides_nothing),
		cmocka_unit_test(an_earlier_day_needs_an_earlier_end),
		cmocka_unit_test(an_honest_gap_is_told_and_not_bad),
		cmocka_unit_test(an_interval_that_balances_has_no_peer_that_does_not),
	};

	return cmocka_run_group_tests(tests, make_key, NULL);
}
