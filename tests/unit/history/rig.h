/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A history with the test's clocks and counters, in a private directory. */
#ifndef BWL_TEST_HISTORY_RIG_H
#define BWL_TEST_HISTORY_RIG_H

#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "history/recorder.h"

#define SECOND 1000000000ULL
#define T0 1800000000LL /* a whole hour */
#define BIG (1ULL << 30)

static char dir[64];
static struct hist_db *db;
static struct hist_recorder *rec;
static struct hist_clocks now;
static uint64_t counter[300]; /* sent bytes, by peer */

static inline void remove_files(void)
{
	char cmd[100];

	snprintf(cmd, sizeof(cmd), "rm -f %s/history*", dir);
	assert_int_equal(system(cmd), 0);
}

static inline int set_up(void **state)
{
	(void)state;
	snprintf(dir, sizeof(dir), "%s/bwl-history-XXXXXX",
		 access("/dev/shm", W_OK) ? "/tmp" : "/dev/shm");
	return mkdtemp(dir) ? 0 : -1;
}

static inline int tear_down(void **state)
{
	(void)state;
	remove_files();
	rmdir(dir);
	return 0;
}

static inline bool open_db(uint64_t max_bytes)
{
	struct bwl_err e = { 0 };
	bool aside;

	if (hist_db_open(dir, max_bytes, &db, &aside, &e))
		fail_msg("%s", e.text);
	return aside;
}

static inline void begin(const char *era, uint64_t made_ns)
{
	struct bwl_err e = { 0 };

	if (hist_recorder_new(db, era, made_ns, now, &rec, &e))
		fail_msg("%s", e.text);
}

static inline void die(void) /* nothing is written */
{
	hist_recorder_free(rec);
	hist_db_close(db);
	rec = NULL;
	db = NULL;
}

static inline int begin_test(void **state)
{
	(void)state;
	remove_files();
	memset(counter, 0, sizeof(counter));
	now = (struct hist_clocks){ T0, 1000 * SECOND };
	open_db(BIG);
	begin("era", now.boot_ns);
	return 0;
}

static inline int end_test(void **state)
{
	(void)state;
	die();
	return 0;
}

static inline void flush(void)
{
	struct bwl_err e = { 0 };

	if (hist_recorder_flush(rec, false, &e))
		fail_msg("%s", e.text);
}

static inline void tend(void)
{
	struct bwl_err e = { 0 };
	bool renamed;

	if (hist_db_tend(db, now.wall_s, &renamed, &e) ||
	    (renamed && hist_recorder_flush(rec, true, &e)))
		fail_msg("%s", e.text);
}

static inline void look_many(unsigned peers)
{
	char name[16];
	unsigned i;

	if (hist_recorder_is_due(rec, now)) {
		flush();
		tend();
	}
	if (!hist_recorder_look(rec, now))
		return;
	for (i = 0; i < peers; i++) {
		struct hist_values x = { { counter[i], counter[i] / 2, 0, counter[i] / 3 } };

		snprintf(name, sizeof(name), "p%u", i);
		assert_int_equal(hist_recorder_count(rec, 2 * i, name, "", &x), 0);
	}
}

static inline void pass(unsigned seconds)
{
	now.wall_s += seconds;
	now.boot_ns += seconds * SECOND;
}

static inline void look(void)
{
	look_many(1);
}

/* Lets that many seconds pass, with `bytes` in each. */
static inline void run(unsigned seconds, uint64_t bytes)
{
	while (seconds--) {
		pass(1);
		counter[0] += bytes;
		look();
	}
}

static inline unsigned get(const char *peer, int64_t from, int64_t to, int64_t step,
			   struct hist_values *x)
{
	struct hist_reader *r;
	struct bwl_err e = { 0 };
	unsigned damaged;

	memset(x, 0, (size_t)((to - from) / step) * sizeof(*x));
	if (hist_reader_open(dir, &r, &e) ||
	    hist_reader_get(r, peer, "", from, to, step, x, &damaged, &e))
		fail_msg("%s", e.text);
	hist_reader_close(r);
	return damaged;
}

static inline uint64_t sent(int64_t from, int64_t to)
{
	struct hist_values x;

	get("p0", from, to, to - from, &x);
	assert_int_equal(x.v[HIST_ARRIVED_DROPPED] == 0, x.v[HIST_SENT] < 3);
	return x.v[HIST_SENT];
}

static inline uint64_t all(void)
{
	return sent(T0 - 40 * 86400, T0 + 80 * 86400);
}

#endif
