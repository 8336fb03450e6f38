// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The ledger and a TPM that answers as a test says, by a clock of the test: what no swtpm does at
 * the right moment.
 */
#include "../files.h"
#include "../refuse.h"
#include <stdio.h>
#include <sqlite3.h>
#include <sys/random.h>
#include "agent/ledger/anchor.h"
#include "bwl/clock.h"
#include "tpm/tpm.h"

#define SECOND 1000000000ULL
#define EVERY (600 * SECOND)

/* clang-format off */
WRAPPED(void *, calloc, (size_t n, size_t size), (n, size), NULL)
WRAPPED(void *, reallocarray, (void *p, size_t n, size_t size), (p, n, size), NULL)
WRAPPED(int, sqlite3_exec,
	(sqlite3 *db, const char *sql, sqlite3_callback fn, void *arg, char **e),
	(db, sql, fn, arg, e), SQLITE_IOERR)
WRAPPED(int, sqlite3_step, (sqlite3_stmt *s), (s), SQLITE_IOERR)
WRAPPED(ssize_t, getrandom, (void *buf, size_t n, unsigned flags), (buf, n, flags), -1)
/* clang-format on */

static uint64_t now_ns;

uint64_t bwl_now_ns(void)
{
	return now_ns;
}

static struct {
	struct tpm_state s;
	bool raises, silent;
	uint8_t tag[TPM_TAG];
	uint64_t to;
	int ask, answer; /* errors */
} tpm;

int __wrap_tpm_new(const char *tcti, struct tpm **ret, struct bwl_err *e);
int __wrap_tpm_new(const char *tcti, struct tpm **ret, struct bwl_err *e)
{
	(void)tcti;
	*ret = (struct tpm *)&tpm;
	return tpm.ask == -ENOMEM ? bwl_fail(e, ENOMEM, "out of memory") : 0;
}

void __wrap_tpm_free(struct tpm *t);
void __wrap_tpm_free(struct tpm *t)
{
	(void)t;
}

int __wrap_tpm_look(struct tpm *t);
int __wrap_tpm_look(struct tpm *t)
{
	(void)t;
	tpm.raises = false;
	return tpm.ask;
}

int __wrap_tpm_raise(struct tpm *t, const uint8_t tag[TPM_TAG], uint64_t to);
int __wrap_tpm_raise(struct tpm *t, const uint8_t tag[TPM_TAG], uint64_t to)
{
	(void)t;
	if (tpm.ask)
		return tpm.ask;
	tpm.raises = true;
	memcpy(tpm.tag, tag, TPM_TAG);
	tpm.to = to;
	return 0;
}

int __wrap_tpm_answer(struct tpm *t, struct tpm_state *ret, struct bwl_err *e);
int __wrap_tpm_answer(struct tpm *t, struct tpm_state *ret, struct bwl_err *e)
{
	(void)t;
	if (tpm.silent)
		return -EINPROGRESS;
	if (tpm.answer)
		return bwl_fail(e, -tpm.answer, "the TPM is broken");
	if (tpm.raises && !tpm.s.has_index)
		memcpy(tpm.s.tag, tpm.tag, TPM_TAG);
	if (tpm.raises && tpm.s.count < tpm.to)
		tpm.s.count = tpm.to;
	tpm.s.has_index = tpm.s.has_index || tpm.raises;
	*ret = tpm.s;
	return 0;
}

static char dir[] = "/tmp/bwl-steps-XXXXXX";
static struct ledger *ledger;
static struct anchor *anchor;
static unsigned follows;

static void stop(void)
{
	anchor_free(anchor);
	ledger_close(ledger);
	anchor = NULL;
	ledger = NULL;
}

static void follow(const uint8_t tag[TPM_TAG], uint64_t count, uint64_t epoch, void *arg)
{
	(void)tag;
	(void)arg;
	assert_true(epoch == count || epoch == count + 1);
	follows++;
}

/* An agent begins, with the ledger that is there. */
static void start(enum anchor_mode mode)
{
	struct bwl_err e = { 0 };
	enum ledger_how how;

	stop();
	assert_int_equal(ledger_open(dir, &ledger, &how, &e), 0);
	assert_int_equal(anchor_new(mode, "fake", EVERY, &anchor, &e), 0);
	anchor_follow(anchor, follow, NULL);
	anchor_forget(anchor, how != LEDGER_FOUND);
}

static int setup(void **state)
{
	(void)state;
	strcpy(dir, "/tmp/bwl-steps-XXXXXX");
	memset(&tpm, 0, sizeof(tpm));
	now_ns = 1000 * SECOND;
	return mkdtemp(dir) ? 0 : -1;
}

static int teardown(void **state)
{
	(void)state;
	refuse(0);
	stop();
	test_remove(dir, "ledger");
	return rmdir(dir);
}

static void spend(uint64_t bytes)
{
	struct ledger_row r = { .key = "peer x", .era = "era", .spent = bytes };

	if (ledger_put(ledger, &r) || ledger_commit(ledger, NULL))
		assert_non_null(refused);
}

static int step(const char *era, bool much)
{
	struct bwl_err e = { 0 };

	return anchor_run(anchor, ledger, era, much, &e);
}

/* Until the TPM has nothing more to do. */
static int run(const char *era)
{
	int r = -EINPROGRESS;

	for (int i = 0; r == -EINPROGRESS && i < 8; i++)
		r = step(era, false);
	return r;
}

static void bound(void)
{
	start(ANCHOR_AUTO);
	assert_int_equal(run("one"), 0);
	assert_true(anchor_holds(anchor));
	spend(1);
}

static void it_is_raised_by_time_and_by_what_is_spent(void **state)
{
	(void)state;
	bound();
	assert_int_equal(anchor_raises(anchor), 1);
	assert_int_equal(step("one", true), 0);
	assert_int_equal(anchor_raises(anchor), 1); /* no credit yet */
	now_ns += EVERY / 2 + 1;
	assert_int_equal(step("one", false), 0);
	assert_int_equal(anchor_epoch(anchor, tpm.tag), 1); /* not by time */
	assert_int_equal(step("one", true), 0);
	assert_int_equal(run("one"), 0);
	assert_int_equal(anchor_count(anchor), 2);
	now_ns += 1000 * EVERY; /* no more credit than for 24 */
	for (int i = 0; i < 100; i++) {
		spend(2 + (uint64_t)i);
		assert_int_equal(step("one", true), 0);
		assert_int_equal(step("one", true), 0);
	}
	assert_int_equal(anchor_count(anchor), 26);
	assert_true(follows > 26);
	now_ns += EVERY; /* nothing was spent: nothing to protect */
	assert_int_equal(step("one", true), 0);
	assert_int_equal(step("one", true), 0);
	spend(1000);
	assert_int_equal(step("one", false), 0);
	assert_int_equal(step("one", false), 0);
	assert_int_equal(anchor_count(anchor), 27);
}

static void a_tpm_that_does_not_answer_holds_what_it_held(void **state)
{
	(void)state;
	start(ANCHOR_REQUIRED);
	tpm.ask = -EBUSY;
	assert_int_equal(run("one"), -EINPROGRESS);
	now_ns += 2 * SECOND;
	tpm.ask = -EAGAIN; /* no thread */
	assert_int_equal(run("one"), -EINPROGRESS);
	now_ns += 700 * SECOND; /* said again */
	assert_int_equal(run("one"), -EINPROGRESS);
	tpm.ask = 0;
	tpm.silent = true;
	now_ns += 2 * SECOND;
	assert_int_equal(step("one", false), -EINPROGRESS);
	now_ns += 4 * SECOND;
	assert_int_equal(step("one", false), -EINPROGRESS);
	now_ns += 2 * SECOND;
	assert_int_equal(step("one", false), -EINPROGRESS);
	tpm.silent = false;
	now_ns += 2 * SECOND;
	assert_int_equal(run("one"), 0);
	spend(1);
	/* from now on it lasts for two periods */
	tpm.answer = -EIO;
	now_ns += EVERY + 1;
	assert_int_equal(step("one", false), 0);
	assert_int_equal(step("one", false), 0);
	now_ns += SECOND + 1;
	tpm.ask = -EBUSY;
	assert_int_equal(step("one", false), 0);
	now_ns += 2 * EVERY;
	assert_int_equal(step("one", false), -EINPROGRESS);
	tpm.answer = tpm.ask = 0;
	now_ns += 2 * SECOND;
	step("one", false);
	assert_int_equal(run("one"), 0);
	assert_int_equal(anchor_count(anchor), 2);
}

/* A ledger that never had a TPM goes on without, and takes one that comes. */
static void without_a_tpm_it_is_asked_again_every_minute(void **state)
{
	(void)state;
	start(ANCHOR_AUTO);
	tpm.answer = -ENODEV;
	assert_int_equal(step("one", false), -EINPROGRESS);
	for (int i = 0; i < 3; i++) {
		assert_int_equal(step("one", false), 0);
		assert_int_equal(step("one", false), 0);
		now_ns += 61 * SECOND;
		assert_int_equal(step("one", false), 0); /* meanwhile, too */
	}
	assert_false(anchor_holds(anchor));
	spend(1);
	tpm.answer = 0;
	assert_int_equal(run("one"), 0); /* it has no counter yet: nobody knows another ledger */
	step("one", false);
	assert_true(anchor_holds(anchor));
}

static void whose_ledger_it_is(void **state)
{
	const struct tpm_state none = { 0 };
	struct tpm_state was;

	(void)state;
	bound();
	start(ANCHOR_AUTO);
	assert_int_equal(run("another boot"), 0);
	step("another boot", false);
	was = tpm.s;
	tpm.s.count += 2; /* an old copy */
	start(ANCHOR_AUTO);
	assert_int_equal(run("two"), -EUCLEAN);
	tpm.s.count = 0; /* another TPM */
	start(ANCHOR_AUTO);
	assert_int_equal(run("two"), -EUCLEAN);
	tpm.s = none; /* cleared */
	start(ANCHOR_AUTO);
	assert_int_equal(run("two"), -EUCLEAN);
	tpm.s = was;
	tpm.s.tag[0] ^= 1; /* another ledger's */
	start(ANCHOR_AUTO);
	assert_int_equal(run("two"), -EUCLEAN);
	tpm.s = was;
	start(ANCHOR_AUTO);
	assert_int_equal(run("two"), 0);
	assert_int_equal(anchor_count(anchor), was.count + 1);
	/* one without volumes has nothing that could be old: it takes what is there */
	assert_int_equal(ledger_drop(ledger, "peer x"), 0);
	assert_int_equal(ledger_commit(ledger, NULL), 0);
	tpm.s.tag[0] ^= 1;
	start(ANCHOR_AUTO);
	assert_int_equal(run("three"), 0);
	assert_true(anchor_took_over(anchor));
}

static void another_program_raised_it(void **state)
{
	(void)state;
	bound();
	now_ns += EVERY + 1;
	assert_int_equal(step("one", false), 0); /* asked for 2 */
	tpm.s.count = 7;
	assert_int_equal(step("one", false), 0);
	assert_int_equal(anchor_count(anchor), 7);
	assert_int_equal(anchor_epoch(anchor, tpm.tag), 7);
	start(ANCHOR_AUTO);
	assert_int_equal(run("one"), 0);
}

/* Killed in between, the ledger is one ahead: it holds only once the counter is there, too. */
static void a_raise_that_was_not_asked_for_is_completed_first(void **state)
{
	(void)state;
	bound();
	now_ns += EVERY + 1;
	tpm.ask = -EBUSY;
	assert_int_equal(step("one", false), 0);
	tpm.ask = 0;
	start(ANCHOR_AUTO);
	assert_int_equal(run("one"), 0);
	assert_int_equal(anchor_count(anchor), 2);
}

/* The counter is never ahead of the disk: whoever is killed then is locked out. */
static void no_counter_is_raised_before_its_row_is_on_disk(void **state)
{
	unsigned n = 0;
	bool done = false;

	(void)state;
	while (!done) {
		test_remove(dir, "ledger");
		memset(&tpm, 0, sizeof(tpm));
		bound();
		now_ns += EVERY + 1;
		refuse(++n);
		step("one", false);
		done = all_were_refused();
		now_ns += 2 * SECOND;
		for (int i = 0; i < 4; i++)
			step("one", false);
		start(ANCHOR_AUTO);
		assert_int_equal(run("one"), 0);
	}
	assert_true(n > 4);
}

/* A ledger that is set aside while the agent runs: earlier ones are refused since the boot already.
 */
static void a_ledger_begun_anew_in_the_same_maps_takes_the_count_as_it_is(void **state)
{
	enum ledger_how how;
	uint64_t count;

	(void)state;
	bound();
	count = anchor_count(anchor);
	for (unsigned n = 0; n < 3; n++) {
		ledger_close(ledger);
		assert_int_equal(ledger_set_aside(dir, NULL), 0);
		assert_int_equal(ledger_open(dir, &ledger, &how, NULL), 0);
		anchor_forget(anchor, true);
		refuse(n);
		if (run("one")) {
			assert_non_null(refused);
			assert_int_equal(run("one"), 0);
		}
		refuse(0);
		assert_int_equal(anchor_count(anchor), count);
		assert_true(anchor_holds(anchor) && anchor_took_over(anchor));
	}
}

static void for_good_without_one(void **state)
{
	(void)state;
	bound();
	for (unsigned n = 0; n < 2; n++) {
		start(ANCHOR_NONE);
		assert_true(anchor_is_off(anchor));
		refuse(n ? 0 : 1);
		assert_int_equal(step("two", false), n ? 0 : -EAGAIN);
		refuse(0);
	}
	assert_int_equal(step("two", false), 0);
	assert_int_equal(tpm.s.count, 1);
	start(ANCHOR_NONE); /* nothing to unbind */
	assert_int_equal(step("two", false), 0);
}

/* Each call to the disk or for memory is refused once: what fails is begun again, and no era is
 * released before its raise. */
static void what_is_refused_is_begun_again(void **state)
{
	unsigned n = 0;
	bool done = false;

	(void)state;
	while (!done) {
		const char *const era = n % 2 ? "two" : "one";

		test_remove(dir, "ledger");
		memset(&tpm, 0, sizeof(tpm));
		bound();
		spend(5);
		start(ANCHOR_AUTO);
		refuse(++n);
		for (int i = 0; i < 4; i++) {
			int r = run(era);

			assert_true(!r || refused);
			if (!r && anchor_holds(anchor))
				assert_true(anchor_epoch(anchor, tpm.tag) - anchor_count(anchor) <
					    2);
			now_ns += EVERY + 1;
			if (i == 2)
				spend(6);
		}
		done = all_were_refused();
		now_ns += 2 * SECOND;
		assert_int_equal(run(era), 0);
		step(era, false);
		start(ANCHOR_AUTO);
		assert_int_equal(run("three"), 0);
		assert_true(anchor_holds(anchor));
	}
	assert_true(n > 10);
}

static void what_cannot_begin_says_so(void **state)
{
	struct bwl_err e = { 0 };
	struct anchor *a;

	(void)state;
	anchor_free(NULL);
	refuse(1);
	assert_int_equal(anchor_new(ANCHOR_AUTO, "fake", EVERY, &a, &e), -ENOMEM);
	tpm.ask = -ENOMEM;
	assert_int_equal(anchor_new(ANCHOR_AUTO, "fake", EVERY, &a, &e), -ENOMEM);
	tpm.ask = 0;
	for (unsigned n = 1; n < 6; n++) { /* one of these is for random numbers */
		test_remove(dir, "ledger");
		memset(&tpm, 0, sizeof(tpm));
		start(ANCHOR_REQUIRED);
		refuse(n);
		if (run("one"))
			assert_non_null(refused);
		refuse(0);
		assert_int_equal(run("one"), 0);
	}
}

#define T(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void)
{
	static const struct CMUnitTest tests[] = {
		T(it_is_raised_by_time_and_by_what_is_spent),
		T(a_tpm_that_does_not_answer_holds_what_it_held),
		T(without_a_tpm_it_is_asked_again_every_minute),
		T(whose_ledger_it_is),
		T(another_program_raised_it),
		T(a_raise_that_was_not_asked_for_is_completed_first),
		T(no_counter_is_raised_before_its_row_is_on_disk),
		T(a_ledger_begun_anew_in_the_same_maps_takes_the_count_as_it_is),
		T(for_good_without_one),
		T(what_is_refused_is_begun_again),
		T(what_cannot_begin_says_so),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
