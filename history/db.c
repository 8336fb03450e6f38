// SPDX-License-Identifier: GPL-2.0-or-later
/* The writer: see db.h. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <unistd.h>
#include <sqlite3.h>
#include <bwl/cleanup.h>
#include "db_internal.h"

#define BUSY_MS 2000 /* another program of root may keep the file locked that long */
#define SETTINGS                                                                                   \
	"PRAGMA page_size = 8192; PRAGMA auto_vacuum = INCREMENTAL; PRAGMA journal_mode = WAL;"    \
	"PRAGMA synchronous = NORMAL; PRAGMA cache_size = -2048; PRAGMA wal_autocheckpoint = 256;" \
	"PRAGMA journal_size_limit = 2097152; PRAGMA cell_size_check = ON"

/* clang-format off */
#define TABLES \
	"CREATE TABLE series (id INTEGER PRIMARY KEY, peer TEXT NOT NULL, class TEXT NOT NULL," \
	" UNIQUE (peer, class));" \
	"CREATE TABLE second (start INTEGER NOT NULL, series INTEGER NOT NULL, part INTEGER NOT " \
	"NULL," \
	" points BLOB NOT NULL, PRIMARY KEY (start, series, part)) WITHOUT ROWID;" \
	"CREATE TABLE minute (series INTEGER NOT NULL, hour INTEGER NOT NULL, points BLOB NOT " \
	"NULL," \
	" PRIMARY KEY (series, hour)) WITHOUT ROWID;" \
	"CREATE TABLE count (slot INTEGER PRIMARY KEY, points BLOB NOT NULL);" \
	"CREATE TABLE meta (id INTEGER PRIMARY KEY, version INTEGER NOT NULL, era TEXT NOT NULL," \
	" wall INTEGER NOT NULL, boot INTEGER NOT NULL);" \
	"INSERT INTO meta VALUES (1, 1, '', 0, 0)"
/* clang-format on */

static const char *const sql[_STMTS] = {
	[S_FIND] = "SELECT id FROM series WHERE peer = ?1 AND class = ?2",
	[S_NAME] = "INSERT INTO series (peer, class) VALUES (?1, ?2)",
	/* If the wall clock was set back there may already be a row: the next part. */
	[S_ADD] = ("INSERT INTO second VALUES (?1, ?2, (SELECT ifnull(max(part) + 1, 0) FROM second"
		   " WHERE start = ?1 AND series = ?2), ?3)"),
	[S_COUNT] = "INSERT OR REPLACE INTO count VALUES (?1, ?2)",
	[S_META] = "UPDATE meta SET era = ?1, wall = ?2, boot = ?3",
	[S_HOUR] = "SELECT points FROM minute WHERE series = ?1 AND hour = ?2",
	[S_PUT_HOUR] = "INSERT OR REPLACE INTO minute VALUES (?1, ?2, ?3)",
};

int hist_run(struct hist_db *h, const char *text, struct bwl_err *e)
{
	return sqlite3_exec(h->db, text, NULL, NULL, NULL) == SQLITE_OK
		       ? 0
		       : hist_db_fail(h->db, text, e);
}

int hist_number(struct hist_db *h, const char *text, int64_t *ret, struct bwl_err *e)
{
	sqlite3_stmt *s = NULL;
	int r = 0;

	*ret = -1;
	if (sqlite3_prepare_v2(h->db, text, -1, &s, NULL))
		return hist_db_fail(h->db, text, e);
	if (sqlite3_step(s) != SQLITE_ROW)
		r = hist_db_fail(h->db, text, e);
	else if (sqlite3_column_type(s, 0) != SQLITE_NULL)
		*ret = sqlite3_column_int64(s, 0);
	sqlite3_finalize(s);
	return r;
}

int hist_step(struct hist_db *h, enum hist_stmt which, struct bwl_err *e)
{
	int rc = sqlite3_step(h->stmt[which]);

	if (rc != SQLITE_ROW && rc != SQLITE_DONE)
		return hist_db_fail(h->db, "cannot be written", e);
	return rc == SQLITE_ROW;
}

static int open_db(struct hist_db *h, const char *path, struct bwl_err *e)
{
	int64_t tables;
	unsigned i;
	int r;

	if (sqlite3_open_v2(path, &h->db,
			    SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX, NULL))
		return hist_db_fail(h->db, "cannot be opened", e);
	sqlite3_busy_timeout(h->db, BUSY_MS);
	r = hist_run(h, SETTINGS, e);
	if (!r)
		r = hist_number(h, "SELECT count(*) FROM sqlite_master", &tables, e);
	if (!r && !tables)
		r = hist_run(h, "BEGIN; " TABLES "; COMMIT", e);
	if (!r)
		r = hist_read_state(h->db, &h->state, e);
	if (!r)
		r = hist_number(h,
				"SELECT ifnull(sum(length(points) + " HIST_ROW_SQL
				"), 0) FROM second",
				&h->seconds_bytes, e);
	for (i = 0; !r && i < _STMTS; i++)
		if (sqlite3_prepare_v3(h->db, sql[i], -1, SQLITE_PREPARE_PERSISTENT, &h->stmt[i],
				       NULL))
			r = hist_db_fail(h->db, "cannot be written", e);
	return r;
}

static int copy(const char *from, const char *to)
{
	BWL_AUTO_CLOSE int in = open(from, O_RDONLY | O_CLOEXEC | O_NOFOLLOW), out = -1;
	ssize_t n = 1;

	if (in < 0)
		return -errno;
	unlink(to);
	out = open(to, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
	while (out >= 0 && n > 0)
		n = sendfile(out, in, NULL, 1 << 30);
	return out < 0 || n < 0 || fsync(out) ? -errno : 0;
}

static bool is_for_others(const char *path)
{
	struct stat st;

	return !lstat(path, &st) && (st.st_mode & 077);
}

/*
 * What somebody may open he may lock, and a lock on these files stops the writer (SQLite waits for
 * POSIX locks). Until 0.3.0 readers could open them, so one may have: copies take their place,
 * which nobody has open. No writer is there yet. First the log, which belongs to either: a kill in
 * between leaves a pair that is the same, and for others, so that all is done again. If there is no
 * room for copies, at least nobody opens them from now on.
 */
static void make_own(const char *path)
{
	static const char *const ends[] = { "-wal", "" };
	char of[2][520], new[2][520], index[520];
	int r = 0;

	snprintf(index, sizeof(index), "%s-shm", path);
	if (!is_for_others(path))
		return;
	for (unsigned i = 0; i < 2; i++) {
		snprintf(of[i], sizeof(of[i]), "%s%s", path, ends[i]);
		snprintf(new[i], sizeof(new[i]), "%s%s.own", path, ends[i]);
		r = r ? r : copy(of[i], new[i]);
		r = r == -ENOENT && !i ? 0 : r;
	}
	unlink(index); /* it is made anew from the log */
	for (unsigned i = 0; i < 2; i++) {
		if (r ? unlink(new[i]) : rename(new[i], of[i]) && errno != ENOENT)
			r = r ? r : -errno;
		if (r)
			chmod(of[i], 0600);
	}
}

/* The write-ahead log and its index get the file's mode. */
static void make(const char *path)
{
	BWL_AUTO_CLOSE int fd = -1;

	make_own(path);
	fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
}

static int open_one(const char *path, uint64_t max_bytes, struct hist_db **ret, struct bwl_err *e)
{
	struct hist_db *h = calloc(1, sizeof(*h));
	int r;

	if (!h)
		return bwl_fail(e, ENOMEM, "out of memory");
	h->max_bytes = (int64_t)max_bytes;
	make(path);
	r = open_db(h, path, e);
	if (r) {
		hist_db_close(h);
		return r;
	}
	*ret = h;
	return 0;
}

static int set_aside(const char *path, struct bwl_err *e)
{
	static const char *const ends[] = { "-wal", "-shm", "" };
	char from[520], to[528];
	unsigned i;

	for (i = 0; i < sizeof(ends) / sizeof(ends[0]); i++) {
		snprintf(from, sizeof(from), "%s%s", path, ends[i]);
		snprintf(to, sizeof(to), "%s.bad", from);
		if (rename(from, to) && errno != ENOENT)
			return bwl_fail(e, errno, "cannot set %s aside: %s", from, strerror(errno));
	}
	return 0;
}

int hist_db_open(const char *dir, uint64_t max_bytes, struct hist_db **ret, bool *ret_set_aside,
		 struct bwl_err *e)
{
	struct bwl_err why = { 0 };
	char path[512];
	int r;

	*ret_set_aside = false;
	snprintf(path, sizeof(path), "%s/" HIST_FILE, dir);
	r = open_one(path, max_bytes, ret, e);
	if (r != -EUCLEAN)
		return r;
	r = set_aside(path, &why);
	if (!r)
		r = open_one(path, max_bytes, ret, &why);
	*ret_set_aside = !r;
	if (r && e)
		*e = why;
	return r;
}

void hist_db_close(struct hist_db *h)
{
	unsigned i;

	if (!h)
		return;
	for (i = 0; i < _STMTS; i++)
		sqlite3_finalize(h->stmt[i]);
	sqlite3_close(h->db);
	free(h);
}

const struct hist_state *hist_db_state(const struct hist_db *h)
{
	return &h->state;
}

/* Stored as one point of unit 0; no point if all values are 0. */
static int read_count(sqlite3_stmt *s, struct hist_values *ret)
{
	struct hist_cursor c = hist_cursor(sqlite3_column_blob(s, 1),
					   (size_t)sqlite3_column_bytes(s, 1));
	uint32_t unit;

	*ret = (struct hist_values){ 0 };
	return hist_next(&c, &unit, ret) < 0 ? -EUCLEAN : 0;
}

int hist_db_counts(struct hist_db *h, hist_count_fn fn, void *arg, struct bwl_err *e)
{
	struct hist_values x;
	sqlite3_stmt *s = NULL;
	int r = 0, rc;

	if (sqlite3_prepare_v2(h->db, "SELECT slot, points FROM count", -1, &s, NULL))
		return hist_db_fail(h->db, "cannot be read", e);
	while (!r && (rc = sqlite3_step(s)) != SQLITE_DONE) {
		if (rc != SQLITE_ROW)
			r = hist_db_fail(h->db, "cannot be read", e);
		else if (read_count(s, &x))
			r = bwl_fail(e, EUCLEAN, HIST_FILE ": a counter cannot be read");
		else if (fn((uint32_t)sqlite3_column_int64(s, 0), &x, arg))
			r = bwl_fail(e, ENOMEM, "out of memory");
	}
	sqlite3_finalize(s);
	return r;
}

int hist_db_begin(struct hist_db *h, struct bwl_err *e)
{
	h->added = 0;
	return hist_run(h, "BEGIN IMMEDIATE", e);
}

int hist_db_series(struct hist_db *h, const char *peer, const char *class_, int64_t *ret,
		   struct bwl_err *e)
{
	enum hist_stmt which;
	int r;

	for (which = S_FIND; which <= S_NAME; which++) {
		sqlite3_stmt *s = h->stmt[which];

		sqlite3_bind_text(s, 1, peer, -1, SQLITE_STATIC);
		sqlite3_bind_text(s, 2, class_, -1, SQLITE_STATIC);
		r = hist_step(h, which, e);
		if (r == 1)
			*ret = sqlite3_column_int64(s, 0);
		else if (!r && which == S_NAME)
			*ret = sqlite3_last_insert_rowid(h->db);
		sqlite3_reset(s);
		if (r)
			return r < 0 ? r : 0;
	}
	return 0;
}

int hist_db_add(struct hist_db *h, int64_t series, int64_t start_s, const void *points, size_t len,
		struct bwl_err *e)
{
	sqlite3_stmt *s = h->stmt[S_ADD];
	int r;

	sqlite3_bind_int64(s, 1, start_s);
	sqlite3_bind_int64(s, 2, series);
	sqlite3_bind_blob(s, 3, points, (int)len, SQLITE_STATIC);
	r = hist_step(h, S_ADD, e);
	sqlite3_reset(s);
	h->added += (int64_t)len + HIST_ROW;
	return r;
}

int hist_db_count(struct hist_db *h, uint32_t counter, const struct hist_values *x,
		  struct bwl_err *e)
{
	sqlite3_stmt *s = h->stmt[S_COUNT];
	struct hist_block b = { 0 };
	int r;

	if (hist_block_add(&b, 0, x))
		return bwl_fail(e, ENOMEM, "out of memory");
	sqlite3_bind_int64(s, 1, counter);
	sqlite3_bind_blob(s, 2, b.len ? (void *)b.data : "", (int)b.len, SQLITE_STATIC);
	r = hist_step(h, S_COUNT, e);
	sqlite3_reset(s);
	hist_block_free(&b);
	return r;
}

int hist_db_forget_counts(struct hist_db *h, struct bwl_err *e)
{
	return hist_run(h, "DELETE FROM count", e);
}

static int write_state(struct hist_db *h, const struct hist_state *st, struct bwl_err *e)
{
	sqlite3_stmt *s = h->stmt[S_META];
	int r;

	sqlite3_bind_text(s, 1, st->era, -1, SQLITE_STATIC);
	sqlite3_bind_int64(s, 2, st->wall_s);
	sqlite3_bind_int64(s, 3, (sqlite3_int64)st->boot_ns);
	r = hist_step(h, S_META, e);
	sqlite3_reset(s);
	return r;
}

int hist_db_commit(struct hist_db *h, const struct hist_state *s, struct bwl_err *e)
{
	int r = write_state(h, s, e);

	if (!r)
		r = hist_run(h, "COMMIT", e);
	if (r) {
		sqlite3_exec(h->db, "ROLLBACK", NULL, NULL, NULL);
		return r;
	}
	h->state = *s;
	h->seconds_bytes += h->added;
	return 0;
}
