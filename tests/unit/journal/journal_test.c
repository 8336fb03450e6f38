// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The journal of closures: its bytes, what truncation or a kill leaves, and how it changes a
 * policy.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "test.h"
#include "journal/journal.h"

static char dir[64];

static int setup(void **state)
{
	enum bwl_journal_state was;

	(void)state;
	strcpy(dir, "/tmp/bwl-journal-XXXXXX");
	assert_non_null(mkdtemp(dir));
	assert_int_equal(bwl_journal_make(dir, NULL, 0, &was, NULL), 0);
	assert_int_equal(was, BWL_JOURNAL_MISSING);
	bwl_journal_set_limit(1 << 20);
	return 0;
}

static int teardown(void **state)
{
	static const char *const name[] = {
		"log", "end", "log.bad", "end.bad", "log.new", "bound"
	};
	char path[100];

	(void)state;
	for (unsigned i = 0; i < 6; i++) {
		snprintf(path, sizeof(path), "%s/%s", dir, name[i]);
		unlink(path);
	}
	rmdir(dir);
	return 0;
}

static struct bwl_pfx pfx(const char *text)
{
	struct bwl_pfx p;

	assert_int_equal(bwl_pfx_parse(text, &p, NULL), 0);
	return p;
}

static int write_rec(enum bwl_journal_kind kind, const char *name, const char *where,
		     const char *hole)
{
	struct bwl_journal_rec r = { .kind = kind };
	struct bwl_pfx p, h;

	snprintf(r.name, sizeof(r.name), "%s", name);
	if (where) {
		p = pfx(where);
		r.pfx = &p;
		r.npfx = 1;
	}
	if (hole) {
		h = pfx(hole);
		r.hole = &h;
		r.nholes = 1;
	}
	return bwl_journal_append(dir, &r, 1, BWL_JOURNAL_ANY, NULL);
}

static size_t slurp(const char *name, uint8_t *buf, size_t room)
{
	char path[100];
	FILE *f;
	size_t n;

	snprintf(path, sizeof(path), "%s/%s", dir, name);
	f = fopen(path, "r");
	assert_non_null(f);
	n = fread(buf, 1, room, f);
	fclose(f);
	return n;
}

static void spill(const char *name, const uint8_t *buf, size_t n)
{
	char path[100];
	FILE *f;

	snprintf(path, sizeof(path), "%s/%s", dir, name);
	f = fopen(path, "w");
	assert_non_null(f);
	assert_int_equal(fwrite(buf, 1, n, f), n);
	fclose(f);
}

/* Three peers with one letter each: a 10.1/16, b 10.2/16, w 10/8. */
static struct bwl_policy *three_peers(void)
{
	static const char *const names[] = { "a", "b", "w" }, *const at[] = { "10.1.0.0/16",
									      "10.2.0.0/16",
									      "10.0.0.0/8" };
	struct bwl_policy *pol = bwl_policy_new();

	for (unsigned i = 0; i < 3; i++) {
		struct bwl_pol_peer *q = bwl_policy_add_peer(pol);

		snprintf(q->name, sizeof(q->name), "%s", names[i]);
		q->addresses = calloc(1, sizeof(*q->addresses));
		q->addresses[0] = pfx(at[i]);
		q->naddresses = 1;
	}
	return pol;
}

/* Which peers would be closed after a reboot? */
static const char *closed_by(const struct bwl_closed *c)
{
	struct bwl_policy *pol = three_peers();
	static char ret[8];
	size_t n = 0;

	bwl_closed_into_policy(c, pol);
	for (unsigned i = 0; i < 3; i++)
		if (pol->peers[i].revoked)
			ret[n++] = *pol->peers[i].name;
	ret[n] = '\0';
	bwl_policy_free(pol);
	return ret;
}

static const char *closed_now(void)
{
	struct bwl_journal j;
	const char *s;

	bwl_journal_look(dir, &j);
	assert_int_equal(j.state, BWL_JOURNAL_OK);
	s = closed_by(&j.closed);
	bwl_journal_free(&j);
	return s;
}

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

#define STEPS 60
#define ROOM (1 << 20)

static void random_step(uint64_t *seed)
{
	static const char *const names[] = { "a", "b", "w" }, *const at[] = { "10.1.0.0/16",
									      "10.2.0.0/16",
									      "10.0.0.0/8" };
	unsigned i = test_random(seed) % 3;
	unsigned what = test_random(seed) % 8;

	if (what < 4)
		assert_int_equal(write_rec(BWL_J_CLOSE, names[i], at[i], NULL), 0);
	else if (what < 6)
		assert_int_equal(write_rec(BWL_J_OPEN, names[i], at[i], NULL), 0);
	else
		assert_int_equal(write_rec(what == 6 ? BWL_J_STOP : BWL_J_START, "", NULL, NULL),
				 0);
}

/* Returns bits: 0 to 2 for a, b and w; 3 for stopped. */
static unsigned closures(const uint8_t *log, size_t n, const uint8_t *end, size_t nend,
			 enum bwl_journal_state *st)
{
	struct bwl_journal j;
	unsigned bits = 0;

	bwl_journal_parse(log, n, end, nend, &j);
	*st = j.state;
	if (j.state == BWL_JOURNAL_OK) {
		const char *s = closed_by(&j.closed);

		bits = (strchr(s, 'a') != NULL) | (strchr(s, 'b') != NULL) << 1 |
		       (strchr(s, 'w') != NULL) << 2 | (unsigned)j.closed.stop << 3;
	}
	bwl_journal_free(&j);
	return bits;
}

/*
 * A log of any length with the `end` of any step: either what a tool relied on is there, or the
 * journal is cut. Further records never open more than the step that `end` names.
 */
static void no_prefix_of_the_log_is_more_open_than_what_was_acknowledged(void **state)
{
	static uint8_t log[ROOM], end[STEPS + 1][2048];
	size_t nend[STEPS + 1], len[STEPS + 1], n = 0;
	unsigned want[STEPS + 1];
	enum bwl_journal_state st;
	uint64_t seed = 4711;

	(void)state;
	for (unsigned i = 0; i <= STEPS; i++) {
		if (i)
			random_step(&seed);
		n = slurp("log", log, ROOM);
		nend[i] = slurp("end", end[i], 2048);
		len[i] = n;
		want[i] = closures(log, n, end[i], nend[i], &st);
		assert_int_equal(st, BWL_JOURNAL_OK);
	}
	for (unsigned i = 0; i <= STEPS; i++) {
		for (size_t cut = 0; cut <= n; cut += 1 + test_random(&seed) % 23) {
			unsigned got = closures(log, cut, end[i], nend[i], &st);

			if (cut < len[i]) {
				assert_int_equal(st, BWL_JOURNAL_CUT);
				continue;
			}
			assert_int_equal(st, BWL_JOURNAL_OK);
			assert_int_equal(got & want[i], want[i]);
		}
	}
}

static void a_byte_changed_before_the_end_is_found(void **state)
{
	static uint8_t log[ROOM], end[2048];
	enum bwl_journal_state st;
	uint64_t seed = 1;
	size_t n, nend;

	(void)state;
	for (unsigned i = 0; i < 8; i++)
		random_step(&seed);
	n = slurp("log", log, ROOM);
	nend = slurp("end", end, sizeof(end));
	for (size_t i = 0; i < n; i++) {
		log[i] ^= 0x10;
		closures(log, n, end, nend, &st);
		assert_int_equal(st, BWL_JOURNAL_CUT);
		log[i] ^= 0x10;
	}
	memset(end, 0, sizeof(end));
	closures(log, n, end, nend, &st);
	assert_int_equal(st, BWL_JOURNAL_CUT);
}

static void a_torn_record_is_taken_away_by_the_next(void **state)
{
	static uint8_t log[ROOM];
	size_t n;

	(void)state;
	assert_int_equal(write_rec(BWL_J_CLOSE, "a", "10.1.0.0/16", NULL), 0);
	n = slurp("log", log, ROOM);
	memcpy(log + n, log + 100, 77);
	spill("log", log, n + 77);
	assert_string_equal(closed_now(), "a");
	assert_int_equal(write_rec(BWL_J_CLOSE, "b", "10.2.0.0/16", NULL), 0);
	assert_string_equal(closed_now(), "ab");
}

static void a_revocation_whose_end_is_torn_away_closes_the_name(void **state)
{
	static uint8_t log[ROOM], end[2048];
	size_t before, n, nend;

	(void)state;
	before = slurp("log", log, ROOM);
	nend = slurp("end", end, sizeof(end));
	assert_int_equal(write_rec(BWL_J_CLOSE, "a", "10.9.0.0/16", NULL), 0);
	n = slurp("log", log, ROOM);
	spill("end", end, nend);
	spill("log", log, n - 3);
	assert_string_equal(closed_now(), "a");
	spill("log", log, before + 20);
	assert_string_equal(closed_now(), "");
	/* a grant that was not acknowledged opens nothing */
	spill("log", log, before);
	assert_int_equal(write_rec(BWL_J_CLOSE, "a", "10.9.0.0/16", NULL), 0);
	nend = slurp("end", end, sizeof(end));
	assert_int_equal(write_rec(BWL_J_OPEN, "a", "10.9.0.0/16", NULL), 0);
	spill("end", end, nend);
	assert_string_equal(closed_now(), "aw");
}

static void compaction_loses_nothing_and_ends(void **state)
{
	static uint8_t log[ROOM], old[ROOM], end[2048];
	uint64_t seed = 9, plain_seed = 9;
	char want[8] = "";
	enum bwl_journal_state st, was;
	size_t n, nend;
	unsigned bits;

	(void)state;
	for (unsigned i = 0; i < 300; i++)
		random_step(&plain_seed);
	strcpy(want, closed_now());
	n = slurp("log", old, ROOM);
	nend = slurp("end", end, sizeof(end));
	bits = closures(old, n, end, nend, &st);
	teardown(NULL);
	assert_int_equal(bwl_journal_make(dir, NULL, 0, &was, NULL), 0);
	bwl_journal_set_limit(4000);
	for (unsigned i = 0; i < 300; i++)
		random_step(&seed);
	assert_string_equal(closed_now(), want);
	assert_true(slurp("log", log, ROOM) < 10000);
	n = slurp("log", log, ROOM);
	nend = slurp("end", end, sizeof(end));
	assert_int_equal(closures(log, n, end, nend, &st), bits);
}

/* Killed after the new file and before `end`, which still names the last record of the old file. */
static void a_compacted_file_goes_on_from_where_end_is(void **state)
{
	static uint8_t log[ROOM], end[2048];
	size_t n, nend;
	uint64_t seed = 3;

	(void)state;
	for (unsigned i = 0; i < 40; i++)
		random_step(&seed);
	nend = slurp("end", end, sizeof(end));
	n = slurp("log", log, ROOM);
	bwl_journal_set_limit(n);
	assert_int_equal(write_rec(BWL_J_CLOSE, "a", "10.1.0.0/16", NULL), 0);
	assert_true(slurp("log", log, ROOM) < n);
	/* the new file does not continue from an older `end` */
	spill("end", end, nend);
	assert_int_equal(write_rec(BWL_J_STOP, "", NULL, NULL), -EUCLEAN);
}

/*
 * Every state of the disk in between counts as cut: the old files, none, `end` alone, the new
 * files.
 */
static void a_journal_is_begun_with_its_first_closures_or_is_cut(void **state)
{
	static const struct bwl_pfx any[] = { { .family = 4 }, { .family = 6 } };
	static const struct bwl_journal_rec all[] = {
		{ .kind = BWL_J_STOP }, { .kind = BWL_J_CLOSE, .pfx = any, .npfx = 2 }
	};
	static uint8_t log[ROOM], end[2048];
	enum bwl_journal_state was;
	struct bwl_journal j;
	size_t n, nend, i;
	char path[100];

	(void)state;
	snprintf(path, sizeof(path), "%s/log", dir);
	assert_int_equal(truncate(path, 10), 0);
	assert_int_equal(bwl_journal_make(dir, all, 2, &was, NULL), 0);
	n = slurp("log", log, ROOM);
	nend = slurp("end", end, sizeof(end));
	for (i = 0; i < n; i++) {
		bwl_journal_parse(log, i, end, nend, &j);
		assert_int_equal(j.state, BWL_JOURNAL_CUT);
		bwl_journal_free(&j);
	}
	bwl_journal_parse(log, n, end, nend, &j);
	assert_int_equal(j.state, BWL_JOURNAL_OK);
	assert_true(j.closed.stop && bwl_closed_pfx_is(&j.closed, &any[0]) &&
		    bwl_closed_pfx_is(&j.closed, &any[1]));
	bwl_journal_free(&j);
}

static void a_missing_or_cut_journal_takes_no_record_until_it_is_begun_anew(void **state)
{
	enum bwl_journal_state was;
	struct bwl_journal j;
	char path[100];

	(void)state;
	snprintf(path, sizeof(path), "%s/log", dir);
	assert_int_equal(truncate(path, 10), 0);
	assert_int_equal(write_rec(BWL_J_OPEN, "a", NULL, NULL), -EUCLEAN);
	assert_int_equal(bwl_journal_make(dir, NULL, 0, &was, NULL), 0);
	assert_int_equal(was, BWL_JOURNAL_CUT);
	assert_int_equal(write_rec(BWL_J_STOP, "", NULL, NULL), 0);
	assert_int_equal(bwl_journal_make(dir, NULL, 0, &was, NULL), 0);
	assert_int_equal(was, BWL_JOURNAL_OK);
	unlink(path);
	bwl_journal_look(dir, &j);
	assert_int_equal(j.state, BWL_JOURNAL_CUT);
	snprintf(path, sizeof(path), "%s/end", dir);
	unlink(path);
	/* set aside, then killed: this must not pass for a first installation */
	bwl_journal_look(dir, &j);
	assert_int_equal(j.state, BWL_JOURNAL_CUT);
	snprintf(path, sizeof(path), "%s/log.bad", dir);
	unlink(path);
	snprintf(path, sizeof(path), "%s/end.bad", dir);
	unlink(path);
	bwl_journal_look(dir, &j);
	assert_int_equal(j.state, BWL_JOURNAL_MISSING);
	assert_int_equal(write_rec(BWL_J_OPEN, "a", NULL, NULL), -EUCLEAN);
}

static void who_looked_before_another_wrote_writes_nothing(void **state)
{
	struct bwl_journal_rec r = { .kind = BWL_J_STOP };
	struct bwl_journal j;

	(void)state;
	bwl_journal_look(dir, &j);
	assert_int_equal(write_rec(BWL_J_CLAMP, "", NULL, NULL), 0);
	assert_int_equal(bwl_journal_append(dir, &r, 1, j.seq, NULL), -EAGAIN);
	bwl_journal_free(&j);
	bwl_journal_look(dir, &j);
	assert_false(j.closed.stop);
	assert_int_equal(bwl_journal_append(dir, &r, 1, j.seq, NULL), 0);
	bwl_journal_free(&j);
}

static struct bwl_journal_bound bound_now(uint64_t epoch)
{
	struct bwl_journal_bound b = { .tag = "a counter", .epoch = epoch };
	struct bwl_journal j;

	bwl_journal_look(dir, &j);
	b.seq = j.seq;
	memcpy(b.digest, j.digest, sizeof(b.digest));
	bwl_journal_free(&j);
	assert_int_equal(bwl_journal_bind(dir, &b), 0);
	return b;
}

static bool fits_at(uint64_t count)
{
	struct bwl_journal_bound b;
	char why[BWL_JOURNAL_WHY];

	assert_int_equal(bwl_journal_bound_read(dir, &b), 0);
	return bwl_journal_fits(dir, &b, (const uint8_t[BWL_JOURNAL_TAG]){ "a counter" }, count,
				why);
}

static void a_journal_fits_the_counter_that_it_is_bound_to(void **state)
{
	struct bwl_journal_bound b;
	char why[BWL_JOURNAL_WHY];
	uint8_t bytes[300];
	size_t n;

	(void)state;
	assert_int_equal(bwl_journal_bound_read(dir, &b), -ENOENT);
	assert_int_equal(write_rec(BWL_J_CLOSE, "a", "10.1.0.0/16", NULL), 0);
	b = bound_now(5);
	assert_true(fits_at(5));
	assert_true(fits_at(4)); /* the bound is written before the counter is raised */
	assert_false(fits_at(6));
	assert_false(fits_at(3));
	assert_false(
		bwl_journal_fits(dir, &b, (const uint8_t[BWL_JOURNAL_TAG]){ "another" }, 5, why));
	assert_int_equal(write_rec(BWL_J_OPEN, "a", "10.1.0.0/16", NULL), 0);
	assert_true(fits_at(5));
	n = slurp("bound", bytes, sizeof(bytes));
	bytes[n / 2] ^= 1;
	spill("bound", bytes, n);
	assert_int_equal(bwl_journal_bound_read(dir, &b), -EUCLEAN);
	assert_int_equal(bwl_journal_unbind(dir), 0);
	assert_int_equal(bwl_journal_bound_read(dir, &b), -ENOENT);
	assert_int_equal(bwl_journal_unbind(dir), 0);
}

/* Nor if it has grown since: the counter vouches for another record of that number. */
static void an_old_copy_under_the_present_bound_does_not_fit(void **state)
{
	static uint8_t log[ROOM], end[2048];
	size_t n, nend;

	(void)state;
	n = slurp("log", log, ROOM);
	nend = slurp("end", end, sizeof(end));
	assert_int_equal(write_rec(BWL_J_CLOSE, "a", "10.1.0.0/16", NULL), 0);
	bound_now(5);
	assert_true(fits_at(5));
	spill("log", log, n);
	spill("end", end, nend);
	assert_false(fits_at(5));
	for (int i = 0; i < 3; i++) {
		assert_int_equal(write_rec(BWL_J_CLOSE, "b", "10.2.0.0/16", NULL), 0);
		assert_false(fits_at(5));
	}
}

static void a_compacted_journal_goes_on_fitting(void **state)
{
	(void)state;
	bwl_journal_set_limit(2000);
	bound_now(5);
	for (int i = 0; i < 40; i++) {
		assert_int_equal(
			write_rec(i % 2 ? BWL_J_OPEN : BWL_J_CLOSE, "a", "10.1.0.0/16", NULL), 0);
		assert_true(fits_at(5));
	}
}

static void what_follows_one_that_was_set_aside_is_no_old_copy(void **state)
{
	enum bwl_journal_state was;
	struct bwl_journal_bound b;
	struct bwl_journal j;

	(void)state;
	for (int i = 0; i < 5; i++)
		assert_int_equal(write_rec(BWL_J_CLOSE, "a", "10.1.0.0/16", NULL), 0);
	b = bound_now(5);
	b.seq += 7; /* the bound of a journal that is gone */
	assert_int_equal(bwl_journal_bind(dir, &b), 0);
	assert_int_equal(bwl_journal_set_aside(dir, NULL), 0);
	bwl_journal_look(dir, &j);
	assert_int_equal(j.state, BWL_JOURNAL_CUT);
	bwl_journal_free(&j);
	assert_int_equal(bwl_journal_make(dir, NULL, 0, &was, NULL), 0);
	assert_int_equal(was, BWL_JOURNAL_CUT);
	assert_true(fits_at(5));
	assert_int_equal(write_rec(BWL_J_STOP, "", NULL, NULL), 0);
	assert_true(fits_at(5));
}

#define T(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

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
		T(the_lower_of_file_and_journal_holds),
		T(no_prefix_of_the_log_is_more_open_than_what_was_acknowledged),
		T(a_byte_changed_before_the_end_is_found),
		T(a_torn_record_is_taken_away_by_the_next),
		T(a_revocation_whose_end_is_torn_away_closes_the_name),
		T(what_is_stopped_or_clamped_again_is_so_since_then),
		T(a_name_and_a_prefix_are_closed_since_they_were_closed_last),
		T(compaction_loses_nothing_and_ends),
		T(a_compacted_file_goes_on_from_where_end_is),
		T(a_journal_is_begun_with_its_first_closures_or_is_cut),
		T(a_missing_or_cut_journal_takes_no_record_until_it_is_begun_anew),
		T(who_looked_before_another_wrote_writes_nothing),
		T(a_journal_fits_the_counter_that_it_is_bound_to),
		T(an_old_copy_under_the_present_bound_does_not_fit),
		T(a_compacted_journal_goes_on_fitting),
		T(what_follows_one_that_was_set_aside_is_no_old_copy),
	};

	return cmocka_run_group_tests_name("journal", tests, NULL, NULL);
}
