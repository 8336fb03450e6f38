// SPDX-License-Identifier: GPL-2.0-or-later
/* The rows in SQLite: see ledger.h. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <sqlite3.h>
#include <bwl/cleanup.h>
#include <bwl/sha256.h>
#include <bwl/sqlite.h>
#include "ledger.h"
#include "seq.h"

#define BUSY_MS 2000 /* a person who reads the file may keep it locked that long */
#define VERSION 1
#define SUM 16

struct ledger {
	sqlite3 *db;
	sqlite3_stmt *put, *meta, *del;
	int seq_fd;
	uint64_t seq, total; /* total: of the rows' checksums */
	struct ledger_row *row;
	uint64_t *sum;  /* by row: its part of total */
	uint64_t *seen; /* by row: ledger_see() */
	bool *unsaved;  /* by row: it may differ in the database */
	int n, room;
	struct ledger_row *staged;
	int nstaged, staged_room;
	/* Dropped: those from ndone on since the last commit. On disk they go with the next one. */
	char (*gone)[LEDGER_KEY];
	int ngone, gone_room, ndone;
	int *hash; /* index + 1 by key; 0 empty */
	unsigned mask;
};

BWL_AUTO_DEFINE(sqlite3_finalize, sqlite3_stmt *)

/* FNV-1a, 32 bits. */
#define FNV_BASIS 2166136261U
#define FNV_PRIME 16777619U
static unsigned hash_of(const char *key)
{
	unsigned h = FNV_BASIS;

	while (*key)
		h = (h ^ (unsigned char)*key++) * FNV_PRIME;
	return h;
}

static uint64_t sum_row(const struct ledger_row *r, unsigned char sum[SUM])
{
	unsigned char d[32];
	uint64_t v;

	EVP_Digest(r, sizeof(*r), d, NULL, bwl_sha256(), NULL);
	memcpy(sum, d, SUM);
	memcpy(&v, d, sizeof(v));
	return v;
}

static void sum_meta(uint64_t seq, uint64_t total, uint64_t n, unsigned char sum[SUM])
{
	const uint64_t all[] = { VERSION, seq, total, n };
	unsigned char d[32];

	EVP_Digest(all, sizeof(all), d, NULL, bwl_sha256(), NULL);
	memcpy(sum, d, SUM);
}

/* Clears what follows the strings' ends, so that equal rows have equal sums. */
static void tidy_row(struct ledger_row *to, const struct ledger_row *from)
{
	struct ledger_row r = *from;

	memset(r.key, 0, sizeof(r.key));
	memset(r.era, 0, sizeof(r.era));
	memcpy(r.key, from->key, strnlen(from->key, sizeof(r.key) - 1));
	memcpy(r.era, from->era, strnlen(from->era, sizeof(r.era) - 1));
	*to = r;
}

static int db_fail(sqlite3 *db, const char *what, struct bwl_err *e)
{
	return bwl_fail(e, bwl_sqlite_errno(db), "ledger.db: %s: %s", what,
			db ? sqlite3_errmsg(db) : "out of memory");
}

static int run(struct ledger *l, const char *sql, struct bwl_err *e)
{
	return sqlite3_exec(l->db, sql, NULL, NULL, NULL) == SQLITE_OK ? 0 : db_fail(l->db, sql, e);
}

static void hash_all(struct ledger *l)
{
	for (int i = 0; i < l->n; i++) {
		unsigned at = hash_of(l->row[i].key) & l->mask;

		while (l->hash[at])
			at = (at + 1) & l->mask;
		l->hash[at] = i + 1;
	}
}

/* For at least the rows that there are. */
static int resize(struct ledger *l, int room)
{
	unsigned mask = (unsigned)(4 * room - 1);
	struct ledger_row *row = reallocarray(l->row, (size_t)room, sizeof(*row));
	uint64_t *sum;
	bool *unsaved;
	int *hash;

	if (!row)
		return -ENOMEM;
	l->row = row;
	if (room < l->room) /* an error below leaves arrays of either size */
		l->room = room;
	sum = reallocarray(l->sum, (size_t)room, sizeof(*sum));
	if (!sum)
		return -ENOMEM;
	l->sum = sum;
	sum = reallocarray(l->seen, (size_t)room, sizeof(*sum));
	if (!sum)
		return -ENOMEM;
	l->seen = sum;
	unsaved = reallocarray(l->unsaved, (size_t)room, sizeof(*unsaved));
	if (!unsaved)
		return -ENOMEM;
	l->unsaved = unsaved;
	hash = calloc(mask + 1, sizeof(*hash));
	if (!hash)
		return -ENOMEM;
	free(l->hash);
	l->hash = hash;
	l->mask = mask;
	l->room = room;
	hash_all(l);
	return 0;
}

static int grow(struct ledger *l)
{
	return resize(l, l->room ? 2 * l->room : 64);
}

static unsigned place_of(const struct ledger *l, const char *key)
{
	unsigned at = hash_of(key) & l->mask;

	while (l->hash[at] && strcmp(l->row[l->hash[at] - 1].key, key))
		at = (at + 1) & l->mask;
	return at;
}

static int take_row(struct ledger *l, const struct ledger_row *r)
{
	unsigned char sum[SUM];
	unsigned at;
	int i;

	if (l->n == l->room && grow(l))
		return -ENOMEM;
	at = place_of(l, r->key);
	if (!l->hash[at]) {
		l->sum[l->n] = l->seen[l->n] = 0;
		l->hash[at] = ++l->n;
	}
	i = l->hash[at] - 1;
	l->row[i] = *r;
	l->total -= l->sum[i];
	l->sum[i] = sum_row(r, sum);
	l->total += l->sum[i];
	l->unsaved[i] = true;
	return 0;
}

/* What was dropped since the last commit leaves the memory; the others close up. */
static void take_drops(struct ledger *l)
{
	bool any = false;
	int i, j, at;

	for (i = l->ndone; i < l->ngone; i++) {
		at = l->hash[place_of(l, l->gone[i])] - 1;
		if (at < 0 || !l->row[at].key[0])
			continue;
		l->row[at].key[0] = '\0'; /* until all are found */
		any = true;
	}
	l->ndone = l->ngone;
	if (!any)
		return;
	for (i = j = 0; i < l->n; i++) {
		if (!l->row[i].key[0]) {
			l->total -= l->sum[i];
			continue;
		}
		l->row[j] = l->row[i];
		l->sum[j] = l->sum[i];
		l->seen[j] = l->seen[i];
		l->unsaved[j++] = l->unsaved[i];
	}
	l->n = j;
	memset(l->hash, 0, (l->mask + 1) * sizeof(*l->hash));
	hash_all(l);
	for (i = l->room; i > 64 && i / 4 >= l->n; i /= 2)
		;
	if (i < l->room)
		resize(l, i); /* an error is no harm: all that there is has room */
}

/* As read_row() demands: one row that it refuses is the end of the whole ledger. */
static bool is_readable(const struct ledger_row *r)
{
	return r->key[0] && memchr(r->key, 0, sizeof(r->key)) && r->era[0] &&
	       memchr(r->era, 0, sizeof(r->era));
}

static int read_text(sqlite3_stmt *s, int column, char *buf, size_t size)
{
	const unsigned char *t = sqlite3_column_text(s, column);
	size_t n = t ? strlen((const char *)t) : 0;

	if (!n || n >= size || n != (size_t)sqlite3_column_bytes(s, column))
		return -EUCLEAN;
	memcpy(buf, t, n);
	return 0;
}

static int read_row(struct ledger *l, sqlite3_stmt *s, struct bwl_err *e)
{
	struct ledger_row r = { 0 };
	unsigned char sum[SUM];

	if (read_text(s, 0, r.key, sizeof(r.key)) || read_text(s, 1, r.era, sizeof(r.era)) ||
	    sqlite3_column_bytes(s, 5) != sizeof(r.slice) || sqlite3_column_bytes(s, 7) != SUM)
		return bwl_fail(e, EUCLEAN, "ledger.db: a row is malformed");
	r.spent = (uint64_t)sqlite3_column_int64(s, 2);
	r.slice_ns = (uint64_t)sqlite3_column_int64(s, 3);
	r.at_ns = (uint64_t)sqlite3_column_int64(s, 4);
	memcpy(r.slice, sqlite3_column_blob(s, 5), sizeof(r.slice));
	r.pending = (uint64_t)sqlite3_column_int64(s, 6);
	sum_row(&r, sum);
	if (memcmp(sum, sqlite3_column_blob(s, 7), SUM))
		return bwl_fail(e, EUCLEAN, "ledger.db: the checksum of a row is wrong");
	return take_row(l, &r) ? bwl_fail(e, ENOMEM, "out of memory") : 0;
}

static int read_rows(struct ledger *l, struct bwl_err *e)
{
	BWL_AUTO(sqlite3_finalize) sqlite3_stmt *s = NULL;
	int r = 0, rc;

	if (sqlite3_prepare_v2(
		    l->db,
		    "SELECT key, era, spent, slice_ns, at_ns, slots, pending, sum FROM spent", -1,
		    &s, NULL))
		return db_fail(l->db, "cannot read", e);
	while (!r && (rc = sqlite3_step(s)) != SQLITE_DONE)
		r = rc == SQLITE_ROW ? read_row(l, s, e) : db_fail(l->db, "cannot read", e);
	return r;
}

static int read_meta(struct ledger *l, struct bwl_err *e)
{
	BWL_AUTO(sqlite3_finalize) sqlite3_stmt *s = NULL;
	unsigned char sum[SUM];
	int rc;

	if (sqlite3_prepare_v2(l->db, "SELECT version, seq, sum FROM meta WHERE id = 1", -1, &s,
			       NULL))
		return db_fail(l->db, "cannot read", e);
	rc = sqlite3_step(s);
	if (rc != SQLITE_ROW && rc != SQLITE_DONE)
		return db_fail(l->db, "cannot read", e);
	if (rc == SQLITE_DONE || sqlite3_column_bytes(s, 2) != SUM)
		return bwl_fail(e, EUCLEAN, "ledger.db: the head row is missing");
	l->seq = (uint64_t)sqlite3_column_int64(s, 1);
	sum_meta(l->seq, l->total, (uint64_t)l->n, sum);
	if (sqlite3_column_int(s, 0) != VERSION)
		return bwl_fail(e, EUCLEAN, "ledger.db: another version");
	if (memcmp(sum, sqlite3_column_blob(s, 2), SUM))
		return bwl_fail(e, EUCLEAN,
				"ledger.db: rows are missing, or belong to different commits");
	return 0;
}

static int check(struct ledger *l, struct bwl_err *e)
{
	BWL_AUTO(sqlite3_finalize) sqlite3_stmt *s = NULL;

	if (sqlite3_prepare_v2(l->db, "PRAGMA integrity_check(1)", -1, &s, NULL))
		return db_fail(l->db, "cannot read", e);
	if (sqlite3_step(s) != SQLITE_ROW)
		return db_fail(l->db, "cannot be checked", e);
	if (strcmp((const char *)sqlite3_column_text(s, 0), "ok"))
		return bwl_fail(e, EUCLEAN, "ledger.db: damaged: %.200s",
				sqlite3_column_text(s, 0));
	return 0;
}

static int prepare(struct ledger *l, struct bwl_err *e)
{
	if (sqlite3_prepare_v2(l->db, "INSERT OR REPLACE INTO spent VALUES (?,?,?,?,?,?,?,?)", -1,
			       &l->put, NULL) ||
	    sqlite3_prepare_v2(l->db, "INSERT OR REPLACE INTO meta VALUES (1,?,?,?)", -1, &l->meta,
			       NULL) ||
	    sqlite3_prepare_v2(l->db, "DELETE FROM spent WHERE key = ?", -1, &l->del, NULL))
		return db_fail(l->db, "cannot be written", e);
	return 0;
}

static int settings(struct ledger *l, struct bwl_err *e)
{
	/*
	 * One process owns the database, so no shared memory is needed beside the log. Pages are
	 * small because commits are small.
	 */
	return run(l,
		   "PRAGMA page_size = 1024; PRAGMA locking_mode = EXCLUSIVE;"
		   "PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL;"
		   "PRAGMA cell_size_check = ON; PRAGMA journal_size_limit = 1048576;"
		   "PRAGMA cache_size = -1024;",
		   e);
}

static int begin_new(struct ledger *l, struct bwl_err *e)
{
	int r = run(
		l,
		"BEGIN; CREATE TABLE spent (key TEXT PRIMARY KEY NOT NULL, era TEXT NOT NULL,"
		"spent INTEGER NOT NULL, slice_ns INTEGER NOT NULL, at_ns INTEGER NOT NULL,"
		"slots BLOB NOT NULL, pending INTEGER NOT NULL, sum BLOB NOT NULL) WITHOUT ROWID;"
		"CREATE TABLE meta (id INTEGER PRIMARY KEY, version INTEGER NOT NULL,"
		"seq INTEGER NOT NULL, sum BLOB NOT NULL); COMMIT",
		e);

	if (!r)
		r = prepare(l, e);
	return r ? r : ledger_commit(l, e);
}

static int open_db(const char *dir, struct ledger *l, bool is_new, struct bwl_err *e)
{
	char path[512];
	uint64_t last;
	int r;

	snprintf(path, sizeof(path), "%s/ledger.db", dir);
	if (sqlite3_open_v2(path, &l->db,
			    SQLITE_OPEN_READWRITE | (is_new ? SQLITE_OPEN_CREATE : 0) |
				    SQLITE_OPEN_NOMUTEX,
			    NULL))
		return db_fail(l->db, "cannot be opened", e);
	sqlite3_busy_timeout(l->db, BUSY_MS);
	r = settings(l, e);
	if (!r)
		r = ledger_seq_open(dir, is_new, &l->seq_fd, &last, e);
	if (r || is_new)
		return r ? r : begin_new(l, e);
	r = check(l, e);
	if (!r)
		r = read_rows(l, e);
	if (!r)
		r = read_meta(l, e);
	memset(l->unsaved, 0, (size_t)l->n * sizeof(*l->unsaved));
	if (!r && l->seq < last)
		r = bwl_fail(
			e, EUCLEAN,
			"ledger.db is at commit %llu, but %llu was written: it was cut, or is an "
			"old copy",
			(unsigned long long)l->seq, (unsigned long long)last);
	return r ? r : prepare(l, e);
}

static int open_one(const char *dir, bool is_new, struct ledger **ret, struct bwl_err *e)
{
	struct ledger *l = calloc(1, sizeof(*l));
	int r;

	if (!l)
		return bwl_fail(e, ENOMEM, "out of memory");
	l->seq_fd = -1;
	r = grow(l) ? bwl_fail(e, ENOMEM, "out of memory") : open_db(dir, l, is_new, e);
	if (r) {
		ledger_close(l);
		return r;
	}
	*ret = l;
	return 0;
}

static bool exists(const char *dir, const char *name)
{
	char path[512];

	snprintf(path, sizeof(path), "%s/%s", dir, name);
	return !access(path, F_OK);
}

int ledger_set_aside(const char *dir, struct bwl_err *e)
{
	static const char *const names[] = { "ledger.db-wal", "ledger.db-shm", "ledger.seq",
					     "ledger.db" };
	char from[512], to[520];
	unsigned i;

	for (i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		snprintf(from, sizeof(from), "%s/%s", dir, names[i]);
		snprintf(to, sizeof(to), "%s.bad", from);
		if (rename(from, to) && errno != ENOENT)
			return bwl_fail(e, errno, "cannot set %s aside: %s", from, strerror(errno));
	}
	return 0;
}

int ledger_open(const char *dir, struct ledger **ret, enum ledger_how *how, struct bwl_err *e)
{
	bool db = exists(dir, "ledger.db"), seq = exists(dir, "ledger.seq");
	struct bwl_err why = { 0 };
	int r;

	*how = db || seq ? LEDGER_FOUND : LEDGER_BEGUN;
	if (db && seq)
		r = open_one(dir, false, ret, e);
	else if (!db && !seq)
		return open_one(dir, true, ret, e);
	else
		r = bwl_fail(e, EUCLEAN, "%s is missing beside %s", db ? "ledger.seq" : "ledger.db",
			     db ? "ledger.db" : "ledger.seq");
	if (r != -EUCLEAN)
		return r;
	*how = LEDGER_SET_ASIDE;
	r = ledger_set_aside(dir, &why);
	if (!r)
		r = open_one(dir, true, ret, &why);
	if (r && e)
		*e = why;
	return r;
}

void ledger_close(struct ledger *l)
{
	if (!l)
		return;
	sqlite3_finalize(l->put);
	sqlite3_finalize(l->meta);
	sqlite3_finalize(l->del);
	sqlite3_close(l->db);
	if (l->seq_fd >= 0)
		close(l->seq_fd);
	free(l->row);
	free(l->sum);
	free(l->seen);
	free(l->unsaved);
	free(l->staged);
	free(l->gone);
	free(l->hash);
	free(l);
}

int ledger_find(const struct ledger *l, const char *key)
{
	return l->hash[place_of(l, key)] - 1;
}

const struct ledger_row *ledger_at(const struct ledger *l, int index)
{
	return &l->row[index];
}

void ledger_see(struct ledger *l, int index, uint64_t now_ns)
{
	l->seen[index] = now_ns;
}

uint64_t ledger_seen(const struct ledger *l, int index)
{
	return l->seen[index];
}

int ledger_count(const struct ledger *l)
{
	return l->n;
}

uint64_t ledger_seq(const struct ledger *l)
{
	return l->seq;
}

int ledger_put(struct ledger *l, const struct ledger_row *row)
{
	if (l->nstaged == l->staged_room) {
		int room = l->staged_room ? 2 * l->staged_room : 64;
		struct ledger_row *s = reallocarray(l->staged, (size_t)room, sizeof(*s));

		if (!s)
			return -ENOMEM;
		l->staged = s;
		l->staged_room = room;
	}
	tidy_row(&l->staged[l->nstaged++], row);
	return 0;
}

int ledger_drop(struct ledger *l, const char *key)
{
	if (l->ngone == l->gone_room) {
		int room = l->gone_room ? 2 * l->gone_room : 64;
		char(*g)[LEDGER_KEY] = reallocarray(l->gone, (size_t)room, sizeof(*g));

		if (!g)
			return -ENOMEM;
		l->gone = g;
		l->gone_room = room;
	}
	snprintf(l->gone[l->ngone++], LEDGER_KEY, "%s", key);
	return 0;
}

static int delete_row(struct ledger *l, const char *key, struct bwl_err *e)
{
	int rc;

	sqlite3_reset(l->del);
	sqlite3_bind_text(l->del, 1, key, -1, SQLITE_STATIC);
	rc = sqlite3_step(l->del);
	return rc == SQLITE_DONE ? 0 : db_fail(l->db, "cannot be written", e);
}

static int write_row(struct ledger *l, const struct ledger_row *r, struct bwl_err *e)
{
	unsigned char sum[SUM];
	int rc;

	sum_row(r, sum);
	sqlite3_reset(l->put);
	sqlite3_bind_text(l->put, 1, r->key, -1, SQLITE_STATIC);
	sqlite3_bind_text(l->put, 2, r->era, -1, SQLITE_STATIC);
	sqlite3_bind_int64(l->put, 3, (sqlite3_int64)r->spent);
	sqlite3_bind_int64(l->put, 4, (sqlite3_int64)r->slice_ns);
	sqlite3_bind_int64(l->put, 5, (sqlite3_int64)r->at_ns);
	sqlite3_bind_blob(l->put, 6, r->slice, sizeof(r->slice), SQLITE_STATIC);
	sqlite3_bind_int64(l->put, 7, (sqlite3_int64)r->pending);
	sqlite3_bind_blob(l->put, 8, sum, SUM, SQLITE_STATIC);
	rc = sqlite3_step(l->put);
	return rc == SQLITE_DONE ? 0 : db_fail(l->db, "cannot be written", e);
}

static int write_meta(struct ledger *l, struct bwl_err *e)
{
	unsigned char sum[SUM];
	int rc;

	sum_meta(l->seq + 1, l->total, (uint64_t)l->n, sum);
	sqlite3_reset(l->meta);
	sqlite3_bind_int(l->meta, 1, VERSION);
	sqlite3_bind_int64(l->meta, 2, (sqlite3_int64)(l->seq + 1));
	sqlite3_bind_blob(l->meta, 3, sum, SUM, SQLITE_STATIC);
	rc = sqlite3_step(l->meta);
	return rc == SQLITE_DONE ? 0 : db_fail(l->db, "cannot be written", e);
}

/*
 * After a failed commit its rows may be on disk or not: they are written again with the next
 * commit, and nothing relies on them until then.
 */
int ledger_commit(struct ledger *l, struct bwl_err *e)
{
	bool bad;
	int r, i;

	take_drops(l);
	for (i = 0; i < l->nstaged && is_readable(&l->staged[i]) && !take_row(l, &l->staged[i]);
	     i++)
		;
	bad = i < l->nstaged && !is_readable(&l->staged[i]);
	l->nstaged -= i + bad;
	if (l->nstaged)
		memmove(l->staged, l->staged + i + bad, (size_t)l->nstaged * sizeof(*l->staged));
	if (bad)
		return bwl_fail(e, EBADMSG,
				"ledger.db: a row without a name or an era could not be read back");
	if (l->nstaged)
		return bwl_fail(e, ENOMEM, "out of memory");
	r = run(l, "BEGIN IMMEDIATE", e);
	for (i = 0; !r && i < l->ngone; i++)
		r = delete_row(l, l->gone[i], e);
	for (i = 0; !r && i < l->n; i++)
		if (l->unsaved[i])
			r = write_row(l, &l->row[i], e);
	if (!r)
		r = write_meta(l, e);
	sqlite3_reset(l->put);
	sqlite3_reset(l->meta);
	sqlite3_reset(l->del);
	if (!r)
		r = run(l, "COMMIT", e);
	if (r) {
		sqlite3_exec(l->db, "ROLLBACK", NULL, NULL, NULL);
		return r == -EUCLEAN ? r : -EAGAIN;
	}
	memset(l->unsaved, 0, (size_t)l->n * sizeof(*l->unsaved));
	free(bwl_take_ptr(&l->gone));
	l->ngone = l->gone_room = l->ndone = 0;
	l->seq++;
	return ledger_seq_write(l->seq_fd, l->seq, e);
}
