// SPDX-License-Identifier: GPL-2.0-or-later
/* For readers: see db.h. The writer continues meanwhile. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "db_internal.h"

#define BUSY_MS 5000 /* the writer may keep the file locked that long */
#define HOUR 3600

struct hist_reader {
	sqlite3 *db;
	struct hist_state state;
};

/* The range and resolution of a query. */
struct grid {
	int64_t from_s, to_s, step_s;
	struct hist_values *sum;
};

static int open_db(struct hist_reader *r, const char *path, bool is_still, struct bwl_err *e)
{
	char uri[600];

	sqlite3_close(r->db);
	snprintf(uri, sizeof(uri), "file:%s%s", path, is_still ? "?immutable=1" : "");
	if (sqlite3_open_v2(uri, &r->db,
			    SQLITE_OPEN_READONLY | SQLITE_OPEN_URI | SQLITE_OPEN_NOMUTEX, NULL))
		return hist_db_fail(r->db, "cannot be opened", e);
	sqlite3_busy_timeout(r->db, BUSY_MS);
	if (sqlite3_exec(r->db, "BEGIN", NULL, NULL, NULL)) /* all reads show one moment */
		return hist_db_fail(r->db, "cannot be read", e);
	return hist_read_state(r->db, &r->state, e);
}

int hist_reader_open(const char *dir, struct hist_reader **ret, struct bwl_err *e)
{
	struct hist_reader *r;
	char path[512];
	int err;

	snprintf(path, sizeof(path), "%s/" HIST_FILE, dir);
	if (access(path, R_OK)) {
		err = errno;
		bwl_fail(e, err, "no history at %s: %s", path, strerror(err));
		return err == EACCES
			       ? bwl_hint(
					 e,
					 "bwlimitd answers members of bwlimit-read, without --state-dir")
			       : -err;
	}
	r = calloc(1, sizeof(*r));
	if (!r)
		return bwl_fail(e, ENOMEM, "out of memory");
	err = open_db(r, path, false, e);
	/* On a read-only file system there is no writer, and its locks cannot be created. */
	if (err && err != -EUCLEAN && access(dir, W_OK))
		err = open_db(r, path, true, e);
	if (err) {
		hist_reader_close(r);
		return err;
	}
	*ret = r;
	return 0;
}

void hist_reader_close(struct hist_reader *r)
{
	if (!r)
		return;
	sqlite3_close(r->db);
	free(r);
}

const struct hist_state *hist_reader_state(const struct hist_reader *r)
{
	return &r->state;
}

int hist_reader_names(struct hist_reader *r, hist_name_fn fn, void *arg, struct bwl_err *e)
{
	sqlite3_stmt *s = NULL;
	int err = 0, rc;

	if (sqlite3_prepare_v2(r->db, "SELECT peer, class FROM series ORDER BY peer, class", -1, &s,
			       NULL))
		return hist_db_fail(r->db, "cannot be read", e);
	while (!err && (rc = sqlite3_step(s)) != SQLITE_DONE) {
		if (rc == SQLITE_ROW)
			fn((const char *)sqlite3_column_text(s, 0),
			   (const char *)sqlite3_column_text(s, 1), arg);
		else
			err = hist_db_fail(r->db, "cannot be read", e);
	}
	sqlite3_finalize(s);
	return err;
}

static void put(const struct grid *g, int64_t at, const struct hist_values *x)
{
	if (at >= g->from_s && at < g->to_s)
		hist_sum(&g->sum[(at - g->from_s) / g->step_s], x);
}

/* Adds a point of `width` seconds that begins at `at`, spread evenly if steps are shorter. */
static void put_wide(const struct grid *g, int64_t at, int64_t width, const struct hist_values *x)
{
	int64_t parts = g->step_s < width ? width / g->step_s : 1, i;
	struct hist_values y;
	unsigned c;

	for (i = 0; i < parts; i++) {
		for (c = 0; c < HIST_COLS; c++)
			y.v[c] = (uint64_t)((unsigned __int128)x->v[c] *
						    (unsigned __int128)(i + 1) /
						    (unsigned __int128)parts -
					    (unsigned __int128)x->v[c] * (unsigned __int128)i /
						    (unsigned __int128)parts);
		put(g, at + width * i / parts, &y);
	}
}

static void put_row(const struct grid *g, sqlite3_stmt *s, int64_t width, unsigned *damaged)
{
	struct hist_cursor c = hist_cursor(sqlite3_column_blob(s, 1),
					   (size_t)sqlite3_column_bytes(s, 1));
	int64_t start = sqlite3_column_int64(s, 0);
	struct hist_values x;
	uint32_t unit;
	int more;

	while ((more = hist_next(&c, &unit, &x)) == 1)
		put_wide(g, start + (int64_t)unit * width, width, &x);
	*damaged += more < 0;
}

static int put_rows(struct hist_reader *r, const char *sql, int64_t series, int64_t from,
		    int64_t to, int64_t width, const struct grid *g, unsigned *damaged,
		    struct bwl_err *e)
{
	sqlite3_stmt *s = NULL;
	int err = 0, rc;

	if (sqlite3_prepare_v2(r->db, sql, -1, &s, NULL))
		return hist_db_fail(r->db, "cannot be read", e);
	sqlite3_bind_int64(s, 1, series);
	sqlite3_bind_int64(s, 2, from);
	sqlite3_bind_int64(s, 3, to);
	while (!err && (rc = sqlite3_step(s)) != SQLITE_DONE) {
		if (rc == SQLITE_ROW)
			put_row(g, s, width, damaged);
		else
			err = hist_db_fail(r->db, "cannot be read", e);
	}
	sqlite3_finalize(s);
	return err;
}

static int find(struct hist_reader *r, const char *peer, const char *class_, int64_t *ret,
		struct bwl_err *e)
{
	sqlite3_stmt *s = NULL;
	int err = 0, rc;

	if (sqlite3_prepare_v2(r->db, "SELECT id FROM series WHERE peer = ?1 AND class = ?2", -1,
			       &s, NULL))
		return hist_db_fail(r->db, "cannot be read", e);
	sqlite3_bind_text(s, 1, peer, -1, SQLITE_STATIC);
	sqlite3_bind_text(s, 2, class_, -1, SQLITE_STATIC);
	rc = sqlite3_step(s);
	if (rc == SQLITE_ROW)
		*ret = sqlite3_column_int64(s, 0);
	else if (rc == SQLITE_DONE)
		err = bwl_fail(e, ENOENT, "no history of '%.64s'%s%.32s", peer,
			       *class_ ? " class " : "", class_);
	else
		err = hist_db_fail(r->db, "cannot be read", e);
	sqlite3_finalize(s);
	return err;
}

int hist_reader_get(struct hist_reader *r, const char *peer, const char *class_, int64_t from_s,
		    int64_t to_s, int64_t step_s, struct hist_values *grid, unsigned *ret_damaged,
		    struct bwl_err *e)
{
	const struct grid g = { from_s, to_s, step_s, grid };
	int64_t series = 0;
	int err = find(r, peer, class_, &series, e);

	*ret_damaged = 0;
	if (!err)
		err = put_rows(
			r,
			"SELECT hour * 3600, points FROM minute WHERE series = ?1 AND hour >= ?2 AND hour <= ?3",
			series, from_s / HOUR, to_s / HOUR, 60, &g, ret_damaged, e);
	if (!err)
		err = put_rows(
			r,
			"SELECT start, points FROM second WHERE series = ?1 AND start > ?2 AND start < ?3",
			series, from_s - HIST_MAX_SPAN, to_s, 1, &g, ret_damaged, e);
	return err;
}
