// SPDX-License-Identifier: GPL-2.0-or-later
/* What the journal closes: until when, since when, and how it changes a policy. */
#include "rig.h"

static void what_was_revoked_is_closed_until_it_is_granted(void **state)
{
	(void)state;
	assert_string_equal(closed_now(), "");
	assert_int_equal(write_rec(BWL_J_CLOSE, "a", "10.1.0.0/16", NULL), 0);
	assert_string_equal(closed_now(), "a");
	assert_int_equal(write_rec(BWL_J_OPEN, "a", "10.1.0.0/16", NULL), 0);
	assert_string_equal(closed_now(), "");
	/* a prefix is closed whoever has it; a name is closed wherever it is */
	assert_int_equal(write_rec(BWL_J_CLOSE, "gone", "10.2.3.0/24", NULL), 0);
	assert_string_equal(closed_now(), "bw");
	assert_int_equal(write_rec(BWL_J_OPEN, "b", "10.2.0.0/16", NULL), 0);
	assert_string_equal(closed_now(), "");
	assert_int_equal(write_rec(BWL_J_CLOSE, "b", "172.16.0.0/16", NULL), 0);
	assert_string_equal(closed_now(), "b");
	/* granted elsewhere: that opens only the name */
	assert_int_equal(write_rec(BWL_J_CLOSE, "a", "10.1.0.0/16", NULL), 0);
	assert_int_equal(write_rec(BWL_J_OPEN, "a", "172.17.0.0/16", NULL), 0);
	assert_string_equal(closed_now(), "ab");
}

static void what_was_open_within_a_revoked_prefix_stays_open(void **state)
{
	(void)state;
	assert_int_equal(write_rec(BWL_J_CLOSE, "w", "10.0.0.0/8", "10.1.0.0/16"), 0);
	assert_string_equal(closed_now(), "bw");
	assert_int_equal(write_rec(BWL_J_CLOSE, "a", "10.1.0.0/16", NULL), 0);
	assert_string_equal(closed_now(), "abw");
	assert_int_equal(write_rec(BWL_J_OPEN, "w", "10.0.0.0/8", NULL), 0);
	assert_string_equal(closed_now(), "a"); /* by its name */
}

static void stop_and_clamp_hold_until_they_are_lifted(void **state)
{
	struct bwl_journal j;

	(void)state;
	assert_int_equal(write_rec(BWL_J_STOP, "", NULL, NULL), 0);
	assert_int_equal(write_rec(BWL_J_CLAMP, "", NULL, NULL), 0);
	bwl_journal_look(dir, &j);
	assert_true(j.closed.stop && j.closed.clamp);
	assert_int_equal(write_rec(BWL_J_START, "", NULL, NULL), 0);
	bwl_journal_look(dir, &j);
	assert_true(!j.closed.stop && j.closed.clamp);
	assert_int_equal(write_rec(BWL_J_LIFT, "", NULL, NULL), 0);
	bwl_journal_look(dir, &j);
	assert_false(j.closed.clamp);
	bwl_journal_free(&j);
}

/* A rate that is set later leaves a burst that was lowered before. */
static void a_lower_burst_stays(void **state)
{
	struct bwl_journal_rec r = {
		.kind = BWL_J_PEER,
		.name = "b",
		.lim = { .set = BWL_JS_RATE | BWL_JS_BURST, .rate_bps = 1000000, .burst = 2000 }
	};
	struct bwl_policy *pol = bwl_policy_new();
	struct bwl_pol_peer *q = bwl_policy_add_peer(pol);
	struct bwl_journal j;

	(void)state;
	strcpy(q->name, "b");
	q->grant = (struct bwl_lim){ .present = true, .rate_bps = 9000000, .burst = 90000 };
	assert_int_equal(bwl_journal_append(dir, &r, 1, BWL_JOURNAL_ANY, NULL), 0);
	r.lim = (struct bwl_journal_limits){ .set = BWL_JS_RATE, .rate_bps = 8000000 };
	assert_int_equal(bwl_journal_append(dir, &r, 1, BWL_JOURNAL_ANY, NULL), 0);
	bwl_journal_look(dir, &j);
	bwl_closed_lower(&j.closed, pol, 7, 2000000040, true);
	assert_int_equal(q->grant.rate_bps, 8000000);
	assert_int_equal(q->grant.burst, 2000);
	bwl_journal_free(&j);
	bwl_policy_free(pol);
}

static void the_lower_of_file_and_journal_holds(void **state)
{
	struct bwl_journal_rec r = { .kind = BWL_J_PEER,
				     .name = "a",
				     .lim = { .set = BWL_JS_RATE | BWL_JS_VOLUME,
					      .rate_bps = 5000000,
					      .volume = 1000,
					      .window_ns = 3600000000000ULL } };
	struct bwl_policy *pol = bwl_policy_new();
	struct bwl_pol_peer *q = bwl_policy_add_peer(pol);
	struct bwl_journal j;

	(void)state;
	strcpy(q->name, "a");
	q->grant = (struct bwl_lim){ .present = true,
				     .rate_bps = 10000000,
				     .has_volume = true,
				     .volume = 500,
				     .window_ns = 60000000000ULL };
	q->mode = BWL_MODE_MONITOR;
	q->expiry_ns = BWL_NEVER_NS;
	assert_int_equal(bwl_journal_append(dir, &r, 1, BWL_JOURNAL_ANY, NULL), 0);
	r.lim = (struct bwl_journal_limits){ .set = BWL_JS_MODE | BWL_JS_EXPIRY,
					     .mode = BWL_MODE_POLICE,
					     .expiry_s = 2000000100 };
	r.wall_s = 2000000000;
	assert_int_equal(bwl_journal_append(dir, &r, 1, BWL_JOURNAL_ANY, NULL), 0);
	bwl_journal_look(dir, &j);
	assert_int_equal(bwl_closed_lower(&j.closed, pol, 7, 2000000040, true), 1);
	assert_int_equal(q->grant.rate_bps, 5000000);
	assert_int_equal(q->grant.volume, 500);
	assert_int_equal(q->grant.window_ns, 3600000000000ULL);
	assert_int_equal(q->mode, BWL_MODE_POLICE);
	assert_int_equal(q->expiry_ns, 60000000007ULL);
	/* `accept` has a volume and no rate, because the grant had none. */
	q->grant.rate_bps = BWL_NO_RATE;
	q->accept = (struct bwl_lim){ .present = true, .has_volume = true, .volume = 7 };
	bwl_closed_lower(&j.closed, pol, 7, 2000000040, true);
	assert_int_equal(q->accept.rate_bps, 5005000);
	assert_int_equal(q->accept.volume, 7);
	q->accept.rate_bps = 20000000; /* a rate of its own stays */
	bwl_closed_lower(&j.closed, pol, 7, 2000000040, true);
	assert_int_equal(q->accept.rate_bps, 20000000);
	q->expiry_ns = BWL_NEVER_NS; /* an early or doubtful clock prolongs nothing */
	bwl_closed_lower(&j.closed, pol, 7, 1999999999, true);
	assert_int_equal(q->expiry_ns, 7);
	q->expiry_ns = BWL_NEVER_NS;
	bwl_closed_lower(&j.closed, pol, 7, 2000000040, false);
	assert_int_equal(q->expiry_ns, 7);
	bwl_journal_free(&j);
	r = (struct bwl_journal_rec){ .kind = BWL_J_RAISE_PEER, .name = "a" };
	assert_int_equal(bwl_journal_append(dir, &r, 1, BWL_JOURNAL_ANY, NULL), 0);
	bwl_journal_look(dir, &j);
	assert_int_equal(j.closed.nlimits, 0);
	bwl_journal_free(&j);
	bwl_policy_free(pol);
}

/* A document signed between two closures lifts nothing: due.c compares with the last one. */
static void what_is_stopped_or_clamped_again_is_so_since_then(void **state)
{
	struct bwl_journal_rec r = { .kind = BWL_J_STOP, .wall_s = 1000 };
	struct bwl_journal j;

	(void)state;
	assert_int_equal(bwl_journal_append(dir, &r, 1, BWL_JOURNAL_ANY, NULL), 0);
	assert_int_equal(bwl_journal_again(dir, BWL_J_STOP, NULL, 1060, NULL), 0);
	assert_int_equal(bwl_journal_again(dir, BWL_J_STOP, NULL, 1030, NULL), 0);
	/* this does not clamp what is not clamped */
	assert_int_equal(bwl_journal_again(dir, BWL_J_CLAMP, NULL, 1060, NULL), 0);
	bwl_journal_look(dir, &j);
	assert_true(j.closed.stop && !j.closed.clamp);
	assert_int_equal(j.closed.stop_s, 1060);
	assert_int_equal(j.records, 3); /* including the file's first one; none for 1030 */
	bwl_journal_free(&j);
	r = (struct bwl_journal_rec){ .kind = BWL_J_CLAMP, .wall_s = 2000 };
	assert_int_equal(bwl_journal_append(dir, &r, 1, BWL_JOURNAL_ANY, NULL), 0);
	assert_int_equal(bwl_journal_again(dir, BWL_J_CLAMP, NULL, 2500, NULL), 0);
	/* the clock was set back in between */
	r.wall_s = 1500;
	assert_int_equal(bwl_journal_append(dir, &r, 1, BWL_JOURNAL_ANY, NULL), 0);
	/* a compacted file has the same times */
	bwl_journal_set_limit(1);
	for (unsigned i = 0; i < 20; i++)
		assert_int_equal(write_rec(i % 2 ? BWL_J_OPEN : BWL_J_CLOSE, "a", NULL, NULL), 0);
	bwl_journal_look(dir, &j);
	assert_true(j.records < 20);
	assert_int_equal(j.closed.stop_s, 1060);
	assert_int_equal(j.closed.clamp_s, 2500);
	bwl_journal_free(&j);
	/* opened, then closed again: the time is that of the last closure */
	assert_int_equal(write_rec(BWL_J_LIFT, "", NULL, NULL), 0);
	assert_int_equal(bwl_journal_append(dir, &r, 1, BWL_JOURNAL_ANY, NULL), 0);
	bwl_journal_look(dir, &j);
	assert_int_equal(j.closed.clamp_s, 1500);
	bwl_journal_free(&j);
}

static void close_at(const char *name, const char *where, uint64_t wall_s)
{
	struct bwl_journal_rec r = { .kind = BWL_J_CLOSE, .wall_s = wall_s };
	struct bwl_pfx p;

	snprintf(r.name, sizeof(r.name), "%s", name);
	if (where) {
		p = pfx(where);
		r.pfx = &p;
		r.npfx = 1;
	}
	assert_int_equal(bwl_journal_append(dir, &r, 1, BWL_JOURNAL_ANY, NULL), 0);
}

/* The letters of the peers that were closed at that time or later. */
static const char *closed_after(int64_t wall_s)
{
	BWL_AUTO(bwl_policy_free) struct bwl_policy *pol = three_peers();
	bool late[3] = { 0 };
	struct bwl_journal j;
	static char ret[8];
	size_t n = 0;

	bwl_journal_look(dir, &j);
	assert_int_equal(j.state, BWL_JOURNAL_OK);
	bwl_closed_after(&j.closed, wall_s, pol, late);
	bwl_journal_free(&j);
	for (unsigned i = 0; i < 3; i++)
		if (late[i])
			ret[n++] = *pol->peers[i].name;
	ret[n] = '\0';
	return ret;
}

/* A document opens what was closed before it was signed, and nothing else. */
static void a_name_and_a_prefix_are_closed_since_they_were_closed_last(void **state)
{
	(void)state;
	close_at("a", NULL, 1000);
	close_at("of-before", "10.2.0.0/16", 2000); /* b has this prefix now */
	assert_string_equal(closed_after(900), "ab");
	assert_string_equal(closed_after(1001), "b");
	assert_string_equal(closed_after(2000), "b");
	assert_string_equal(closed_after(2001), "");
	/* revoked again, alone and with all others */
	assert_int_equal(bwl_journal_again(dir, BWL_J_CLOSE, "a", 3000, NULL), 0);
	assert_string_equal(closed_after(3000), "a");
	assert_int_equal(bwl_journal_again(dir, BWL_J_CLOSE, NULL, 4000, NULL), 0);
	assert_int_equal(bwl_journal_again(dir, BWL_J_CLOSE, "w", 5000, NULL), 0); /* w is open */
	assert_string_equal(closed_after(4000), "a");
	close_at("b", NULL, 2500);
	/* a compacted file has the same times */
	bwl_journal_set_limit(1);
	for (unsigned i = 0; i < 40; i++)
		assert_int_equal(write_rec(i % 2 ? BWL_J_OPEN : BWL_J_CLOSE, "x", NULL, NULL), 0);
	assert_string_equal(closed_after(4000), "a");
	assert_string_equal(closed_after(4001), "");
	assert_string_equal(closed_after(2500), "ab");
	assert_string_equal(closed_after(2501), "a");
	assert_int_equal(write_rec(BWL_J_OPEN, "a", NULL, NULL), 0);
	assert_string_equal(closed_after(900), "b");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(what_was_revoked_is_closed_until_it_is_granted),
		T(what_was_open_within_a_revoked_prefix_stays_open),
		T(stop_and_clamp_hold_until_they_are_lifted),
		T(a_lower_burst_stays),
		T(the_lower_of_file_and_journal_holds),
		T(what_is_stopped_or_clamped_again_is_so_since_then),
		T(a_name_and_a_prefix_are_closed_since_they_were_closed_last),
	};

	return cmocka_run_group_tests_name("journal closed", tests, NULL, NULL);
}
