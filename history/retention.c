// SPDX-License-Identifier: GPL-2.0-or-later
/* Folding, forgetting, and the bound on disk: see hist_db_tend() in db.h. */
#include <stdio.h>
#include <string.h>
#include "db_internal.h"

#define HOUR 3600

/* One series' hour, while it is being folded. */
struct hour {
	int64_t series, hour; /* series -1: nothing yet */
	struct hist_values minute[60];
};

static int read_hour(struct hist_db *h, struct hour *x, struct bwl_err *e)
{
	sqlite3_stmt *s = h->stmt[S_HOUR];
	struct hist_cursor c;
	struct hist_values v;
	uint32_t unit;
	int r;

	memset(x->minute, 0, sizeof(x->minute));
	sqlite3_bind_int64(s, 1, x->series);
	sqlite3_bind_int64(s, 2, x->hour);
	r = hist_step(h, S_HOUR, e);
	if (r == 1) {
		c = hist_cursor(sqlite3_column_blob(s, 0), (size_t)sqlite3_column_bytes(s, 0));
		while (hist_next(&c, &unit, &v) == 1) /* damaged points are lost */
			if (unit < 60)
				x->minute[unit] = v;
	}
	sqlite3_reset(s);
	return r < 0 ? r : 0;
}

static int write_hour(struct hist_db *h, const struct hour *x, struct bwl_err *e)
{
	sqlite3_stmt *s = h->stmt[S_PUT_HOUR];
	struct hist_block b = { 0 };
	uint32_t i;
	int r = 0;

	if (x->series < 0)
		return 0;
	for (i = 0; !r && i < 60; i++)
		r = hist_block_add(&b, i, &x->minute[i]);
	if (r) {
		r = bwl_fail(e, ENOMEM, "out of memory");
	} else if (b.len) {
		sqlite3_bind_int64(s, 1, x->series);
		sqlite3_bind_int64(s, 2, x->hour);
		sqlite3_bind_blob(s, 3, b.data, (int)b.len, SQLITE_STATIC);
		r = hist_step(h, S_PUT_HOUR, e);
		sqlite3_reset(s);
	}
	hist_block_free(&b);
	return r;
}

static int fold_row(struct hist_db *h, struct hour *x, sqlite3_stmt *s, struct bwl_err *e)
{
	int64_t series = sqlite3_column_int64(s, 0), start = sqlite3_column_int64(s, 1), at;
	struct hist_cursor c = hist_cursor(sqlite3_column_blob(s, 2),
					   (size_t)sqlite3_column_bytes(s, 2));
	struct hist_values v;
	uint32_t unit;
	int r;

	while (hist_next(&c, &unit, &v) == 1) {
		at = start + unit;
		if (series != x->series || at / HOUR != x->hour) {
			r = write_hour(h, x, e);
			x->series = series;
			x->hour = at / HOUR;
			if (!r)
				r = read_hour(h, x, e);
			if (r)
				return r;
		}
		hist_sum(&x->minute[at % HOUR / 60], &v);
	}
	return 0;
}

static int fold_rows(struct hist_db *h, int64_t until_s, struct bwl_err *e)
{
	struct hour x = { .series = -1 };
	sqlite3_stmt *s = NULL;
	int r = 0, rc;

	if (sqlite3_prepare_v2(
		    h->db,
		    "SELECT series, start, points FROM second WHERE start < ?1 ORDER BY series, start",
		    -1, &s, NULL))
		return hist_db_fail(h->db, "cannot be read", e);
	sqlite3_bind_int64(s, 1, until_s);
	while (!r && (rc = sqlite3_step(s)) != SQLITE_DONE)
		r = rc == SQLITE_ROW ? fold_row(h, &x, s, e)
				     : hist_db_fail(h->db, "cannot be read", e);
	sqlite3_finalize(s);
	return r ? r : write_hour(h, &x, e);
}

static int in_transaction(struct hist_db *h, int r, struct bwl_err *e)
{
	if (!r)
		r = hist_run(h, "COMMIT", e);
	if (r)
		sqlite3_exec(h->db, "ROLLBACK", NULL, NULL, NULL);
	return r;
}

static int delete_seconds(struct hist_db *h, int64_t until_s, struct bwl_err *e)
{
	char text[100];

	snprintf(text, sizeof(text), "DELETE FROM second WHERE start < %lld", (long long)until_s);
	return hist_run(h, text, e);
}

static int count_seconds(struct hist_db *h, struct bwl_err *e)
{
	return hist_number(h,
			   "SELECT ifnull(sum(length(points) + " HIST_ROW_SQL "), 0) FROM second",
			   &h->seconds_bytes, e);
}

static int fold(struct hist_db *h, int64_t until_s, struct bwl_err *e)
{
	int64_t first;
	int r = hist_number(h, "SELECT min(start) FROM second", &first, e);

	if (r || first < 0 || first >= until_s)
		return r;
	r = hist_run(h, "BEGIN IMMEDIATE", e);
	if (r)
		return r;
	r = fold_rows(h, until_s, e);
	if (!r)
		r = delete_seconds(h, until_s, e);
	r = in_transaction(h, r, e);
	return r ? r : count_seconds(h, e);
}

/* Until when the oldest quarter of the second rows goes. */
static int oldest_seconds(struct hist_db *h, int64_t *ret_until, struct bwl_err *e)
{
	int64_t first, last;
	int r = hist_number(h, "SELECT min(start) FROM second", &first, e);

	if (!r)
		r = hist_number(h, "SELECT max(start) FROM second", &last, e);
	*ret_until = first < 0 ? -1 : first + (last - first) / 4 + 1;
	return r;
}

static int delete_minutes(struct hist_db *h, int64_t until_hour, int64_t from_hour,
			  struct bwl_err *e)
{
	char text[200];

	/* Via the series, because the key begins with it. */
	snprintf(
		text, sizeof(text),
		"DELETE FROM minute WHERE series IN (SELECT id FROM series) AND hour < %lld;DELETE FROM minute WHERE series IN (SELECT id FROM series) AND hour > %lld",
		(long long)until_hour, (long long)from_hour);
	return hist_run(h, text, e);
}

/* Deletes what is too old, or from a clock that was ahead; and names without any rows. */
static int forget(struct hist_db *h, int64_t now_s, struct bwl_err *e)
{
	char text[100];
	int r = hist_run(h, "BEGIN IMMEDIATE", e);

	if (r)
		return r;
	snprintf(text, sizeof(text), "DELETE FROM second WHERE start > %lld",
		 (long long)now_s + 86400);
	r = delete_minutes(h, (now_s - HIST_MINUTES_KEPT) / HOUR, now_s / HOUR + 24, e);
	if (!r)
		r = hist_run(h, text, e);
	if (!r)
		r = hist_run(
			h,
			"DELETE FROM series WHERE NOT EXISTS (SELECT 1 FROM minute WHERE series = series.id) AND id NOT IN (SELECT series FROM second)",
			e);
	r = in_transaction(h, r, e);
	return r ? r : count_seconds(h, e);
}

static int used_bytes(struct hist_db *h, int64_t *ret, int64_t *ret_file, struct bwl_err *e)
{
	int64_t pages, free_pages, size;
	int r = hist_number(h, "PRAGMA page_count", &pages, e);

	if (!r)
		r = hist_number(h, "PRAGMA freelist_count", &free_pages, e);
	if (!r)
		r = hist_number(h, "PRAGMA page_size", &size, e);
	if (r)
		return r;
	*ret = (pages - free_pages) * size;
	*ret_file = pages * size;
	return 0;
}

static int drop_oldest(struct hist_db *h, int64_t now_s, struct bwl_err *e)
{
	int64_t first, until;
	int r = hist_number(
		h,
		"SELECT min((SELECT min(hour) FROM minute WHERE series = series.id)) FROM series",
		&first, e);

	if (r)
		return r;
	if (first >= 0)
		return delete_minutes(h, first + 1 + (now_s / HOUR - first) / 16, INT64_MAX, e);
	r = oldest_seconds(h, &until, e);
	if (r || until < 0)
		return r;
	r = delete_seconds(h, until, e);
	return r ? r : count_seconds(h, e);
}

static int bound(struct hist_db *h, int64_t now_s, struct bwl_err *e)
{
	int64_t used, file;
	unsigned tries;
	int r = used_bytes(h, &used, &file, e);

	if (r || used <= h->max_bytes / 10 * 9)
		tries = 100;
	else
		tries = 0;
	for (; !r && tries < 100 && used > h->max_bytes / 100 * 85; tries++) {
		r = drop_oldest(h, now_s, e);
		if (!r)
			r = used_bytes(h, &used, &file, e);
	}
	if (!r && file > h->max_bytes) /* the bound was larger when the file grew */
		r = hist_run(h, "PRAGMA incremental_vacuum", e);
	return r;
}

int hist_db_tend(struct hist_db *h, int64_t now_s, bool *ret_renamed, struct bwl_err *e)
{
	bool hourly = h->tended_hour != now_s / HOUR;
	int64_t until;
	int r = 0;

	*ret_renamed = hourly;
	if (hourly)
		r = fold(h, (now_s - HIST_SECONDS_KEPT) / HOUR * HOUR, e);
	if (!r && hourly)
		r = forget(h, now_s, e);
	if (!r && h->seconds_bytes > h->max_bytes / 4) {
		r = oldest_seconds(h, &until, e);
		if (!r)
			r = fold(h, until, e);
	}
	if (!r)
		r = bound(h, now_s, e);
	if (!r)
		h->tended_hour = now_s / HOUR;
	return r;
}
