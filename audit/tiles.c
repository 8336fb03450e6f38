// SPDX-License-Identifier: GPL-2.0-or-later
/* See tiles.h. What is new is read twice: first to check that it is this tree, then to write it. */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "bwl/cleanup.h"
#include "bwl/lock.h"
#include "grown.h"
#include "tile_files.h"
#include "tiles.h"

#define WIDTH BWL_TILE_WIDTH
#define LEVELS 8 /* 8 bits each: sizes are below 2^63 */
#define BUNDLE_MAX (WIDTH * (2 + BWL_AUDIT_LINE))

enum { DONE = 1, GONE, NO_BEGIN };

/* The rightmost tile of a level, which is not full yet. */
struct level {
	struct bwl_hash h[WIDTH];
	struct bwl_frontier f; /* over its hashes, f.n of them */
	bool gone;             /* some hashes are only known as one hash over several */
};
struct tiles {
	int root; /* the folder */
	int lock;
	bool writes;
	struct level level[LEVELS];
	uint64_t at, to; /* at: records so far; to: records of the tree */
	uint64_t skip;   /* number of the next record to read */
	bool begun;
	char *bundle; /* the records of the last tile of level 0 */
	size_t len, room;
	bool lacks; /* the bundle lacks a record */
	struct bwl_audit_tiles *ret;
	struct bwl_err *e;
	int failed;
};

static uint64_t index_of(uint64_t at, unsigned level)
{
	return level + 1 < LEVELS ? at >> 8 * (level + 1) : 0;
}

static void put(struct tiles *t, unsigned level, uint64_t n, unsigned width, const void *data,
		size_t len)
{
	char path[BWL_TILE_PATH];
	int r;

	if (!t->writes || t->failed)
		return;
	bwl_tile_path(path, level, n, width);
	r = bwl_tile_put(t->root, path, data, len, width == WIDTH, t->e);
	if (!r)
		t->ret->written++;
	if (r >= 0 && width == WIDTH) /* then the whole tile is there to fall back on */
		r = bwl_tile_drop_parts(t->root, level, n, t->e);
	if (r < 0)
		t->failed = r;
}

static void end_bundle(struct tiles *t, uint64_t n, unsigned width)
{
	if (!t->lacks)
		put(t, BWL_TILE_ENTRIES, n, width, t->bundle, t->len);
}

/* Adds 2^bits records at their place; false: they do not belong here. */
static bool push(struct tiles *t, unsigned bits, const struct bwl_hash *hash)
{
	struct bwl_hash h = *hash;
	unsigned l = bits / 8;

	if (t->at & ((1ULL << bits) - 1) || (t->at + (1ULL << bits)) >> 63)
		return false;
	t->at += 1ULL << bits;
	for (bits %= 8; l < LEVELS; bits = 0, l++) {
		struct level *x = &t->level[l];

		if (bits)
			x->gone = true;
		else
			x->h[x->f.n] = h;
		if (!bwl_frontier_add_node(&x->f, bits, &h))
			return false;
		if (x->f.n < WIDTH)
			break;
		bwl_frontier_root(&x->f, &h);
		if (!x->gone)
			put(t, l, index_of(t->at, l) - 1, WIDTH, x->h, sizeof(x->h));
		x->f.n = 0;
		x->gone = false;
	}
	return true;
}

static void add_entry(struct tiles *t, const char *line, size_t len)
{
	while (t->room < t->len + 2 + len) {
		t->room = t->room ? 2 * t->room : 65536;
		t->bundle = bwl_must(realloc(t->bundle, t->room));
	}
	t->bundle[t->len++] = (char)(len >> 8);
	t->bundle[t->len++] = (char)(len & 255);
	memcpy(t->bundle + t->len, line, len);
	t->len += len;
}

static int take(struct tiles *t, const struct bwl_audit_item *i)
{
	if (t->at + (1ULL << i->bits) > t->to)
		return GONE;
	if (i->kind == BWL_AUDIT_RECORD && i->len < BWL_AUDIT_LINE)
		add_entry(t, i->line, i->len);
	else
		t->lacks = true;
	if (!push(t, i->bits, &i->leaf))
		return GONE;
	if (!(t->at % WIDTH)) {
		end_bundle(t, t->at / WIDTH - 1, WIDTH);
		t->len = 0;
		t->lacks = false;
	}
	return t->failed;
}

/* Pushes what was before the log's first record, if the oldest files were removed. */
static int begin(struct tiles *t, const struct bwl_audit_item *i)
{
	struct bwl_checkpoint c;
	struct bwl_frontier f;

	/* any signer will do: the result is compared with a signed root */
	if (bwl_checkpoint_read(i->note, i->note_len, &c, NULL) || c.size != t->skip ||
	    !bwl_audit_frontier(i, &c, &f))
		return NO_BEGIN;
	t->begun = true;
	for (unsigned b = 63; b-- > 0;)
		if (c.size >> b & 1 && !push(t, b, &f.node[b]))
			return NO_BEGIN;
	t->lacks = c.size % WIDTH;
	return 0;
}

static int on_item(const struct bwl_audit_item *i, void *arg)
{
	struct tiles *t = arg;

	if (t->begun && t->at >= t->to)
		return DONE;
	if (i->kind == BWL_AUDIT_CHECKPOINT && !t->begun)
		return begin(t, i);
	if (i->kind != BWL_AUDIT_NODE && i->kind != BWL_AUDIT_RECORD && i->kind != BWL_AUDIT_LEAF)
		return 0;
	if (!t->begun)
		return NO_BEGIN;
	if (t->skip < t->at) {
		t->skip += 1ULL << i->bits;
		return t->skip > t->at ? GONE : 0;
	}
	t->skip += 1ULL << i->bits;
	return take(t, i);
}

/*
 * Loads the hashes of a level's last tile, from the partial tile or, if it has become full since,
 * from the full one.
 */
static int load_level(struct tiles *t, unsigned l, struct bwl_err *e)
{
	unsigned width = (unsigned)(t->at >> 8 * l & (WIDTH - 1));
	BWL_AUTO_FREE char *data = NULL;
	struct level *x = &t->level[l];
	char path[BWL_TILE_PATH];
	size_t len;
	int r;

	if (!width)
		return 0;
	bwl_tile_path(path, l, index_of(t->at, l), width);
	r = bwl_tile_get(t->root, path, sizeof(x->h), &data, &len, e);
	if (r == -ENOENT) {
		bwl_tile_path(path, l, index_of(t->at, l), 0);
		r = bwl_tile_get(t->root, path, sizeof(x->h), &data, &len, e);
	}
	if (r)
		return r;
	if (len < width * sizeof(*x->h))
		return bwl_fail(e, EBADMSG, "%s is truncated", path);
	memcpy(x->h, data, width * sizeof(*x->h));
	for (unsigned i = 0; i < width; i++)
		bwl_frontier_add(&x->f, &x->h[i]);
	return 0;
}

/* Loads the records of the last tile. A bundle that lacks records does not exist. */
static int load_bundle(struct tiles *t, struct bwl_err *e)
{
	unsigned width = (unsigned)(t->at % WIDTH);
	BWL_AUTO_FREE char *data = NULL;
	char path[BWL_TILE_PATH];
	size_t len = 0, at = 0;
	struct bwl_hash h;
	int r;

	if (!width)
		return 0;
	bwl_tile_path(path, BWL_TILE_ENTRIES, t->at / WIDTH, width);
	r = bwl_tile_get(t->root, path, BUNDLE_MAX, &data, &len, e);
	if (r == -ENOENT) {
		bwl_tile_path(path, BWL_TILE_ENTRIES, t->at / WIDTH, 0);
		r = bwl_tile_get(t->root, path, BUNDLE_MAX, &data, &len, e);
	}
	if (r == -ENOENT) {
		t->lacks = true;
		return 0;
	}
	for (unsigned i = 0; !r && i < width; i++) {
		size_t n = len - at < 2 ? len : (uint8_t)data[at] * 256U + (uint8_t)data[at + 1];

		if (n + 2 > len - at)
			return bwl_fail(e, EBADMSG, "%s is truncated", path);
		bwl_hash_leaf(data + at + 2, n, &h);
		if (!bwl_hash_equal(&h, &t->level[0].h[i]))
			return bwl_fail(e, EBADMSG, "%s: entry %u is not the one that is hashed",
					path, i);
		add_entry(t, data + at + 2, n);
		at += 2 + n;
	}
	return r;
}

static void root_of(const struct tiles *t, struct bwl_hash *ret)
{
	struct bwl_frontier f = { .n = t->at };

	for (unsigned l = 0; l < LEVELS; l++)
		memcpy(&f.node[8 * l], t->level[l].f.node, 8 * sizeof(*f.node));
	bwl_frontier_root(&f, ret);
}

/* Loads the state of the folder: of the tree of `from`, which may be empty. */
static int load(struct tiles *t, const struct bwl_checkpoint *from, struct bwl_err *e)
{
	struct bwl_hash root;
	int r = 0;

	for (unsigned l = 0; l < LEVELS; l++) {
		t->level[l].f.n = 0;
		t->level[l].gone = false;
	}
	t->len = 0;
	t->lacks = false;
	t->at = from->size;
	for (unsigned l = 0; !r && l < LEVELS; l++)
		r = load_level(t, l, e);
	if (r || !from->size)
		return r;
	root_of(t, &root);
	if (!bwl_hash_equal(&root, &from->root))
		return bwl_fail(e, EBADMSG,
				"the tiles are not those of the checkpoint beside them");
	return load_bundle(t, e);
}

static int pruned(const struct tiles *t, const char *dir, struct bwl_err *e)
{
	bwl_fail(e, ENOENT, "hashes that the tiles need from record %llu on were pruned in %s",
		 (unsigned long long)t->at, dir);
	return bwl_hint(
		e,
		"tiles must be written before the log prunes: run this daily, or give the log more room (audit/README.md)");
}

/* Adds what is new after what is there. */
static int go_on(struct tiles *t, const char *dir, const struct bwl_checkpoint *c,
		 struct bwl_err *e)
{
	BWL_AUTO_FREE struct bwl_audit_file *file = NULL;
	struct bwl_hash root;
	size_t n = 0, i = 0;
	int r = bwl_audit_files(dir, &file, &n, e);

	if (r || t->at == c->size)
		return r;
	while (i < n && file[i].first <= t->at)
		i++;
	i -= i > 0;
	t->skip = n ? file[i].first : 0;
	t->begun = t->skip <= t->at;
	t->failed = 0;
	r = bwl_audit_scan_files(dir, file + i, n - i, on_item, t, e);
	if (r < 0)
		return r;
	if (r == NO_BEGIN || r == GONE)
		return pruned(t, dir, e);
	for (unsigned l = 0; l < LEVELS; l++)
		if (t->level[l].gone)
			return pruned(t, dir, e);
	root_of(t, &root);
	if (t->at == c->size && bwl_hash_equal(&root, &c->root))
		return 0;
	bwl_fail(
		e, EBADMSG,
		"the log in %s does not go on from the tiles to its checkpoint of %llu records: it was forked or rewritten, or one of the two is damaged",
		dir, (unsigned long long)c->size);
	return bwl_hint(
		e, "bwlimit-ctl audit verify --checkpoint CHECKPOINT-OF-THE-TILES shows where");
}

static int put_parts(struct tiles *t)
{
	for (unsigned l = 0; l < LEVELS; l++)
		if (t->level[l].f.n)
			put(t, l, index_of(t->at, l), (unsigned)t->level[l].f.n, t->level[l].h,
			    t->level[l].f.n * sizeof(struct bwl_hash));
	if (t->at % WIDTH)
		end_bundle(t, t->at / WIDTH, (unsigned)(t->at % WIDTH));
	return t->failed;
}

/* Reports the missing tiles of a level, as ranges. */
static void tell_missing(struct tiles *t, unsigned level, FILE *f)
{
	uint64_t n = index_of(t->at, level == BWL_TILE_ENTRIES ? 0 : level), since = 0;
	unsigned shift = level == BWL_TILE_ENTRIES ? 8 : 8 * (level + 1);
	unsigned part = level == BWL_TILE_ENTRIES ? (unsigned)(t->at % WIDTH) : 0;
	bool missing = false;
	char path[BWL_TILE_PATH];

	for (uint64_t i = 0; i <= n; i++) {
		bool whole = i < n, gone;

		bwl_tile_path(path, level, i, whole ? 0 : part);
		gone = (whole || part) && !bwl_tile_is_there(t->root, path);
		if (gone && !missing)
			since = i;
		if (missing && !gone)
			fprintf(f, "missing %s %llu %llu\n",
				level == BWL_TILE_ENTRIES ? "entries" : "hashes",
				(unsigned long long)since << shift, (unsigned long long)i << shift);
		missing = gone;
		if (!gone)
			continue;
		t->ret->lacking += level == BWL_TILE_ENTRIES;
		if (t->ret->least < (i + 1) << shift)
			t->ret->least = (i + 1) << shift;
	}
	if (missing)
		fprintf(f, "missing entries %llu %llu\n", (unsigned long long)since << shift,
			(unsigned long long)t->at);
	if (t->ret->least > t->at)
		t->ret->least = t->at;
}

static int put_retention(struct tiles *t, struct bwl_err *e)
{
	char *missing = NULL, *text;
	size_t len;
	FILE *f = bwl_must(open_memstream(&missing, &len));
	int r;

	t->ret->least = t->ret->lacking = 0;
	tell_missing(t, BWL_TILE_ENTRIES, f);
	for (unsigned l = 0; l + 1 < LEVELS; l++)
		tell_missing(t, l, f);
	if (fclose(f))
		abort(); /* no memory */
	r = asprintf(&text, "policy docs/retention.md\nminimum index %llu\n%s",
		     (unsigned long long)t->ret->least, missing);
	free(missing);
	if (r < 0)
		abort();
	r = bwl_tile_put(t->root, "retention", text, (size_t)r, false, e);
	free(text);
	return r < 0 ? r : 0;
}

/* The checkpoint of the folder; size 0: it has none yet. */
static int read_checkpoint(struct tiles *t, const struct bwl_note_key *k,
			   struct bwl_checkpoint *ret, struct bwl_err *e)
{
	BWL_AUTO_FREE char *note = NULL;
	size_t len;
	int r = bwl_tile_get(t->root, "checkpoint", BWL_NOTE_MAX, &note, &len, e);

	memset(ret, 0, sizeof(*ret));
	if (r == -ENOENT)
		return 0;
	r = r ? r : bwl_checkpoint_open(k, note, len, ret, e);
	return r == -ENOKEY ? bwl_fail(e, EBADMSG, "the tiles are of another log") : r;
}

static int write_tiles(struct tiles *t, const char *dir, const struct bwl_note_key *k,
		       const char *note, size_t note_len, bool newest, struct bwl_err *e)
{
	const struct bwl_checkpoint *c = &t->ret->c;
	struct bwl_checkpoint from;
	int r = read_checkpoint(t, k, &from, e);

	if (r)
		return r;
	t->to = c->size;
	t->ret->was = from.size;
	if (from.size > c->size)
		return bwl_fail(
			e, ERANGE,
			"the tiles are of %llu records, the checkpoint covers %llu: it is an older one, or the log was cut",
			(unsigned long long)from.size, (unsigned long long)c->size);
	if (from.size == c->size && from.size && !bwl_hash_equal(&from.root, &c->root))
		return bwl_fail(e, EBADMSG,
				"the tiles of %llu records are of another tree: the log was forked",
				(unsigned long long)from.size);
	for (int pass = 0; !r && pass < 2; pass++) {
		t->writes = pass;
		r = load(t, &from, e);
		if (!r)
			r = go_on(t, dir, c, e);
	}
	if (!r)
		r = put_parts(t);
	if (!r)
		r = put_retention(t, e);
	/* the one that is there, of the same tree, may have cosignatures */
	if (!r && !(newest && from.size && from.size == c->size))
		r = bwl_tile_put(t->root, "checkpoint", note, note_len, false, e);
	return r < 0 ? r : 0;
}

static int open_folder(const char *to, int *ret, int *lock, struct bwl_err *e)
{
	int r;

	if (mkdir(to, 0700) && errno != EEXIST)
		return bwl_fail(e, errno, "cannot make %s: %s", to, strerror(errno));
	*ret = open(to, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (*ret < 0)
		return bwl_fail(e, errno, "cannot open %s: %s", to, strerror(errno));
	r = bwl_lock_folder(*ret, lock); /* a server publishes the folder: anybody may open it */
	if (r == -EWOULDBLOCK)
		return bwl_fail(e, EBUSY, "%s is being written by another process", to);
	return r ? bwl_fail(e, -r, "cannot lock %s/" BWL_LOCK_FILE ": %s", to, strerror(-r)) : 0;
}

int bwl_audit_write_tiles(const char *dir, const struct bwl_note_key *k, const char *note,
			  size_t note_len, const char *to, struct bwl_audit_tiles *ret,
			  struct bwl_err *e)
{
	struct tiles *t = bwl_must(calloc(1, sizeof(*t)));
	struct bwl_audit_mark mark;
	bool newest = !note;
	int r = 0;

	memset(ret, 0, sizeof(*ret));
	t->root = t->lock = -1;
	t->ret = ret;
	t->e = e;
	if (newest) {
		r = bwl_audit_newest(dir, k, &mark, e);
		note = mark.note;
		note_len = r ? 0 : strlen(mark.note);
	}
	if (!r)
		r = bwl_checkpoint_open(k, note, note_len, &ret->c, e);
	if (!r)
		r = open_folder(to, &t->root, &t->lock, e);
	if (!r)
		r = write_tiles(t, dir, k, note, note_len, newest, e);
	if (t->lock >= 0)
		close(t->lock);
	if (t->root >= 0)
		close(t->root);
	free(t->bundle);
	free(t);
	return r;
}
