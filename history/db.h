/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * history.db (SQLite, WAL): what passed, by peer and class. One writer, the agent; readers any
 * time.
 *
 *   series   peer and class; class empty: the peer's whole
 *   second   blocks of points of a second each, as they come; folded into `minute` after an hour
 *   minute   one row a series and hour, points of a minute each; a month
 *   count    the data plane's counters as far as they are in the history, by state entry
 *   meta     in which maps, and when, that was
 *
 * Each transaction has points and the counters they come from: what is lost by a crash is found
 * again as the difference. All times are seconds of the wall clock.
 */
#ifndef BWL_HISTORY_DB_H
#define BWL_HISTORY_DB_H

#include "bwl/err.h"
#include "points.h"

#define HIST_FILE "history.db"
#define HIST_DIR "/var/lib/bwlimit"
#define HIST_SECONDS_KEPT 3600 /* at least; whole hours are folded */
#define HIST_MINUTES_KEPT (31 * 86400)
#define HIST_MAX_SPAN 600 /* seconds that a block of seconds covers at most */
#define HIST_ERA 96

struct hist_state {
	char era[HIST_ERA]; /* the maps that the counters are of; empty: none yet */
	int64_t wall_s;
	uint64_t boot_ns;
};

struct hist_db;
/* An unreadable file is set aside (*.bad) and a new one started: *ret_set_aside, and e says why. */
int hist_db_open(const char *dir, uint64_t max_bytes, struct hist_db **ret, bool *ret_set_aside,
		 struct bwl_err *e);
void hist_db_close(struct hist_db *h); /* NULL-safe; rolls an open transaction back */
const struct hist_state *hist_db_state(const struct hist_db *h);
typedef int (*hist_count_fn)(uint32_t counter, const struct hist_values *x, void *arg);
int hist_db_counts(struct hist_db *h, hist_count_fn fn, void *arg, struct bwl_err *e);

/* -EUCLEAN from any of these: the file is damaged; close it and open it again. */
int hist_db_begin(struct hist_db *h, struct bwl_err *e);
int hist_db_series(struct hist_db *h, const char *peer, const char *class_, int64_t *ret,
		   struct bwl_err *e);
int hist_db_add(struct hist_db *h, int64_t series, int64_t start_s, const void *points, size_t len,
		struct bwl_err *e);
int hist_db_count(struct hist_db *h, uint32_t counter, const struct hist_values *x,
		  struct bwl_err *e);
int hist_db_forget_counts(struct hist_db *h, struct bwl_err *e); /* they belonged to other maps */
int hist_db_commit(struct hist_db *h, const struct hist_state *s, struct bwl_err *e);

/*
 * Folds seconds into minutes, deletes what is too old, and keeps the file within its bound: seconds
 * may have a quarter of it, then they are folded early; then the oldest minutes are deleted.
 * *ret_renamed: numbers of series may have changed.
 */
int hist_db_tend(struct hist_db *h, int64_t now_s, bool *ret_renamed, struct bwl_err *e);

/* rows.c: the rows of an hour (of UTC, since 1970), by peer, class and time. */
struct hist_row {
	const char *peer, *class_;
	int64_t start_s, part;
	const void *points;
	size_t len;
};
typedef void (*hist_row_fn)(const struct hist_row *row, void *arg);
int hist_db_rows(struct hist_db *h, bool seconds, int64_t hour, hist_row_fn fn, void *arg,
		 struct bwl_err *e);

/* For readers. */
struct hist_reader;
int hist_reader_open(const char *dir, struct hist_reader **ret, struct bwl_err *e);
void hist_reader_close(struct hist_reader *r); /* NULL-safe */
const struct hist_state *hist_reader_state(const struct hist_reader *r);
typedef void (*hist_name_fn)(const char *peer, const char *class_, void *arg);
int hist_reader_names(struct hist_reader *r, hist_name_fn fn, void *arg, struct bwl_err *e);
/*
 * Sums into grid[(to_s - from_s) / step_s], whole steps. A minute is spread evenly over shorter
 * steps. -ENOENT: no such series. *ret_damaged: number of rows that were left out.
 */
int hist_reader_get(struct hist_reader *r, const char *peer, const char *class_, int64_t from_s,
		    int64_t to_s, int64_t step_s, struct hist_values *grid, unsigned *ret_damaged,
		    struct bwl_err *e);

/* db_internal.c: shared by writer and readers */
struct sqlite3;
int hist_db_fail(struct sqlite3 *db, const char *what, struct bwl_err *e);
int hist_read_state(struct sqlite3 *db, struct hist_state *ret, struct bwl_err *e);

#endif
