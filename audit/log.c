// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Appending: lock, find the end, write the record, fsync, write the checkpoint over it, fsync. A
 * kill or a power cut leaves whole records without a checkpoint (the next one covers them) or a
 * torn line (set aside, with a record about it).
 */
#include <errno.h>
#include <fcntl.h>
#include <openssl/crypto.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>
#include "bwl/bytes.h"
#include "bwl/cleanup.h"
#include "bwl/clock.h"
#include "bwl/pins.h"
#include "bwl/units.h"
#include "prune.h"
#include "bwl/plural.h"

#define LIMIT (16ULL << 20)
#define SIZE (256ULL << 20)
#define PARTS 8 /* a file is full at this part of the size, if that is less than LIMIT */
/* This part of the reserve is for what closes something, the rest for what opens. */
#define RESERVE_CLOSING (BWL_AUDIT_RESERVE / 2)

struct bwl_audit_log {
	char dir[BWL_AUDIT_PATH];
	int dir_fd;
	struct bwl_note_key key;
	struct bwl_audit_end end;
	uint64_t limit, size;  /* limit: bytes of a file; size: of all files */
	struct stat size_file; /* when it was read; all zero: there was none */
};

const char *bwl_audit_dir(const char *dir)
{
	const char *env = getenv("BWLIMIT_AUDIT_DIR");

	if (!dir)
		dir = env ? env : BWL_AUDIT_DIR;
	return *dir ? dir : NULL;
}

static int read_key(const char *dir, struct bwl_note_key *ret, struct bwl_err *e)
{
	char path[BWL_AUDIT_PATH], text[BWL_NOTE_KEY_TEXT + 2];
	FILE *f;
	int r = bwl_audit_path(path, dir, "key", e);

	if (r)
		return r;
	f = fopen(path, "re");
	if (!f)
		return bwl_fail(e, errno, "cannot read the audit log's key %s: %s", path,
				strerror(errno));
	if (!fgets(text, sizeof(text), f))
		*text = '\0';
	fclose(f);
	r = bwl_note_key_parse(text, ret, e);
	OPENSSL_cleanse(text, sizeof(text));
	if (!r && !ret->can_sign)
		r = bwl_fail(e, EINVAL, "%s is not a private key", path);
	return r;
}

int bwl_audit_sign(const char *dir, const char *text, char *buf, size_t size, size_t *ret_len,
		   struct bwl_err *e)
{
	struct bwl_note_key k;
	int r;

	dir = bwl_audit_dir(dir);
	if (!dir)
		return bwl_fail(e, ENOENT, "the audit log is off");
	r = read_key(dir, &k, e);
	if (!r)
		r = bwl_note_sign(&k, text, buf, size, ret_len, e);
	OPENSSL_cleanse(&k, sizeof(k));
	return r;
}

static uint64_t parse_size_file(const char *dir, FILE *f, uint64_t was)
{
	char text[32] = "", may[BWL_UNIT_BUF];
	struct bwl_err e = { 0 };
	uint64_t size;

	if (!fgets(text, sizeof(text), f))
		*text = '\0';
	text[strcspn(text, "\n")] = '\0';
	if (!bwl_parse_size(text, &size, &e) && size >= BWL_AUDIT_SIZE_MIN)
		return size;
	/* it may be half written: nothing is pruned because of it */
	bwl_warn("%s/size: must be a size of at least 64kb; the limit is %s", dir,
		 bwl_format_size(was, may));
	return was;
}

/*
 * Reads the file `size` in the folder, which is the same for every tool. true: the size has
 * changed.
 */
static bool look_at_size(struct bwl_audit_log *l)
{
	int fd = openat(l->dir_fd, "size", O_RDONLY | O_CLOEXEC);
	uint64_t was = l->size;
	struct stat st = { 0 };
	FILE *f = NULL;

	/* If it cannot be read now it is assumed unchanged: pruning is never undone. */
	if (was && fd < 0 && errno != ENOENT)
		return false;
	if (fd >= 0) {
		f = fdopen(fd, "re");
		if (!f || fstat(fd, &st)) {
			f ? fclose(f) : close(fd);
			f = NULL;
			if (was)
				return false;
			memset(&st, 0, sizeof(st));
		}
	}
	if (was && st.st_ino == l->size_file.st_ino && st.st_size == l->size_file.st_size &&
	    st.st_ctim.tv_sec == l->size_file.st_ctim.tv_sec &&
	    st.st_ctim.tv_nsec == l->size_file.st_ctim.tv_nsec) {
		if (f)
			fclose(f);
		return false;
	}
	l->size_file = st;
	l->size = f ? parse_size_file(l->dir, f, was ? was : SIZE) : SIZE;
	l->limit = l->size / PARTS < LIMIT ? l->size / PARTS : LIMIT;
	if (f)
		fclose(f);
	return l->size != was;
}

int bwl_audit_open(const char *dir, struct bwl_audit_log **ret, struct bwl_err *e)
{
	char path[BWL_AUDIT_PATH];
	struct bwl_audit_log *l;
	int r;

	*ret = NULL;
	dir = bwl_audit_dir(dir);
	if (!dir)
		return 0;
	r = bwl_audit_path(path, dir, "key", e);
	if (r)
		return r;
	if (access(path, F_OK) && (errno == ENOENT || errno == ENOTDIR))
		return 0;
	l = calloc(1, sizeof(*l));
	if (!l)
		return bwl_fail(e, ENOMEM, "out of memory");
	strcpy(l->dir, dir);
	l->end.fd = -1;
	l->dir_fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (l->dir_fd < 0)
		r = bwl_fail(e, errno, "cannot open the audit log %s: %s", dir, strerror(errno));
	else
		r = read_key(dir, &l->key, e);
	if (r) {
		bwl_audit_close(l);
		return r;
	}
	look_at_size(l);
	*ret = l;
	return 0;
}

void bwl_audit_close(struct bwl_audit_log *l)
{
	if (!l)
		return;
	bwl_audit_end_close(&l->end);
	if (l->dir_fd >= 0)
		close(l->dir_fd);
	OPENSSL_cleanse(&l->key, sizeof(l->key));
	free(l);
}

void bwl_audit_set_limit(struct bwl_audit_log *l, uint64_t bytes)
{
	l->limit = bytes;
}

void bwl_audit_set_size(struct bwl_audit_log *l, uint64_t bytes)
{
	l->size = bytes;
}

#define LOCK_NAP_NS 10000000
#define BEFORE_TRIES 1000 /* 10 s */
#define AFTER_TRIES 100   /* 1 s */

static int lock(struct bwl_audit_log *l, enum bwl_audit_urgency u, struct bwl_err *e)
{
	unsigned tries = u == BWL_AUDIT_BEFORE ? BEFORE_TRIES : AFTER_TRIES;

	while (flock(l->dir_fd, LOCK_EX | LOCK_NB)) {
		if (errno != EWOULDBLOCK && errno != EINTR)
			return bwl_fail(e, errno, "cannot lock %s: %s", l->dir, strerror(errno));
		if (!tries--)
			return bwl_fail(e, EBUSY, "the audit log %s is in use by another process",
					l->dir);
		nanosleep(&(struct timespec){ .tv_nsec = LOCK_NAP_NS }, NULL);
	}
	return 0;
}

static void set_time(json_t *o)
{
	struct timespec now;
	struct tm tm;
	char when[40];

	clock_gettime(CLOCK_REALTIME, &now);
	gmtime_r(&now.tv_sec, &tm);
	strftime(when, sizeof(when), "%Y-%m-%dT%H:%M:%S", &tm);
	json_object_set_new(o, "time", json_sprintf("%s.%03ldZ", when, now.tv_nsec / 1000000));
	json_object_set_new(o, "up_ms", json_integer((json_int_t)(bwl_now_ns() / 1000000)));
}

/* Distinguishes boots, in case the wall clock is wrong. */
static void set_boot(json_t *o)
{
	char id[BWL_BOOT_ID];

	json_object_set_new(o, "boot", json_string(*bwl_boot_id(id) == '?' ? "" : id));
}

static char *record_line(uint64_t n, enum bwl_audit_urgency u, const char *event, const char *text,
			 json_t *data)
{
	json_t *o = json_object(), *said = json_string(text);
	char *line;

	set_boot(o);
	set_time(o);
	json_object_set_new(o, "by",
			    json_pack("{s:s,s:i,s:I}", "program", program_invocation_short_name,
				      "pid", (int)getpid(), "uid", (json_int_t)getuid()));
	json_object_set_new(o, "event", json_string(event));
	json_object_set_new(o, "n", json_integer((json_int_t)n));
	json_object_set_new(o, "text", said ? said : json_string("(not UTF-8)"));
	if (data)
		json_object_set(o, "data", data);
	if (u == BWL_AUDIT_JUNK)
		json_object_set_new(o, "junk", json_true());
	if (u == BWL_AUDIT_REGULAR)
		json_object_set_new(o, "regular", json_true());
	if (u == BWL_AUDIT_EVENT)
		json_object_set_new(o, "host", json_true());
	line = json_dumps(o, JSON_COMPACT | JSON_SORT_KEYS | JSON_ENSURE_ASCII);
	json_decref(o);
	return line;
}

/* Appends a record and its checkpoint, each on disk before the next. */
static int add(struct bwl_audit_log *l, enum bwl_audit_urgency u, const char *event,
	       const char *text, json_t *data, uint64_t *ret_n, struct bwl_err *e)
{
	uint64_t n = l->end.frontier.n;
	char *line = record_line(n, u, event, text, data);
	struct bwl_hash leaf;
	int r;

	if (!line)
		return bwl_fail(e, EINVAL, "a record that cannot be written as JSON");
	if (strlen(line) >= BWL_AUDIT_LINE) {
		free(line);
		return bwl_fail(e, EMSGSIZE, "a record of more than %d bytes", BWL_AUDIT_LINE - 1);
	}
	r = bwl_audit_end_write(&l->end, line, e);
	if (!r) {
		bwl_hash_leaf(line, strlen(line), &leaf);
		bwl_frontier_add(&l->end.frontier, &leaf);
		r = bwl_audit_end_sign(&l->end, &l->key, e);
	}
	free(line);
	if (!r && ret_n)
		*ret_n = n;
	return r;
}

/* Allocates that many bytes after the end, unless they are allocated already. */
static bool has_room(const struct bwl_audit_log *l, off_t bytes)
{
	return !fallocate(l->end.fd, FALLOC_FL_KEEP_SIZE, (off_t)l->end.at, bytes) ||
	       errno == EOPNOTSUPP;
}

/* Allocated in advance: a disk that fills up later takes nothing from what must be recorded. */
static int keep_room(const struct bwl_audit_log *l, enum bwl_audit_urgency u, struct bwl_err *e)
{
	if (has_room(l, BWL_AUDIT_RESERVE) || u == BWL_AUDIT_AFTER)
		return 0;
	if (u == BWL_AUDIT_BEFORE && has_room(l, RESERVE_CLOSING))
		return 0;
	return bwl_fail(e, errno, "no room for the audit log in %s: %s", l->dir, strerror(errno));
}

/* Records what a killed writer left at the end, if it left anything. */
static int add_recovered(struct bwl_audit_log *l, const struct bwl_audit_torn *torn,
			 struct bwl_err *e)
{
	char said[200];

	if (!torn->adopted && !torn->bytes)
		return 0;
	snprintf(said, sizeof(said),
		 "after a crash: %llu whole record%s signed late, %llu torn bytes set aside%s%s",
		 (unsigned long long)torn->adopted, BWL_S(torn->adopted),
		 (unsigned long long)torn->bytes, torn->bytes ? " in " : "", torn->kept);
	return add(l, BWL_AUDIT_AFTER, "recovered", said, NULL, NULL, e);
}

static json_t *about_cut(const struct bwl_audit_cut *c)
{
	json_t *data = json_pack("{s:I, s:I, s:I, s:b}", "from", (json_int_t)c->from, "to",
				 (json_int_t)c->to, "gone", (json_int_t)c->gone, "removed",
				 c->what == BWL_CUT_ALL);

	if (c->damage.to)
		json_object_set_new(data, "damaged",
				    json_pack("{s:I, s:I}", "from", (json_int_t)c->damage.from,
					      "to", (json_int_t)c->damage.to));
	return data;
}

static int prune_one(struct bwl_audit_log *l, const struct bwl_audit_cut *c, struct bwl_err *e)
{
	bool refused = c->what == BWL_CUT_REFUSED;
	/* pruning a host's records is the host's doing, so its record counts as the host's, too */
	bool host = c->what != BWL_CUT_ALL && !c->damage.to;
	struct bwl_audit_torn torn;
	json_t *data;
	int r = bwl_audit_end_find(&l->end, l->dir, l->dir_fd, &l->key, &torn, e);

	if (!r) /* others wrote meanwhile */
		r = add_recovered(l, &torn, e);
	if (r)
		return r;
	data = about_cut(c);
	r = add(l, host ? BWL_AUDIT_EVENT : BWL_AUDIT_AFTER, refused ? "damaged" : "pruned",
		c->text, data, NULL, e);
	json_decref(data);
	if (refused)
		bwl_warn("the audit log in %s: %s", l->dir, c->text);
	return r ? r : bwl_audit_prune_do(l->dir, l->dir_fd, c, e);
}

/*
 * Brings the log below its size: junk lines first, oldest file first; each step is recorded before
 * it is done. Only pruning changes the files that it reads; others only append meanwhile.
 */
static int prune(struct bwl_audit_log *l, struct bwl_err *e)
{
	struct bwl_audit_file *file;
	struct bwl_audit_cut cut;
	size_t n;
	int r = bwl_audit_prune_sweep(l->dir, l->dir_fd, e);

	if (r)
		return r;
	do {
		file = NULL;
		r = bwl_audit_files(l->dir, &file, &n, e);
		flock(l->dir_fd, LOCK_UN);
		if (!r)
			r = bwl_audit_prune_look(l->dir, l->dir_fd, file, n, l->size, &l->key, &cut,
						 e);
		free(file);
		if (r || cut.what == BWL_CUT_NONE)
			return r;
		r = lock(l, BWL_AUDIT_BEFORE, e);
		if (!r && bwl_audit_prune_stands(l->dir_fd, &cut))
			r = prune_one(l, &cut, e);
		bwl_audit_prune_free(&cut);
	} while (!r);
	return r;
}

/* The record itself is already written: if there is no room the file just grows. */
static void keep_below(struct bwl_audit_log *l, bool resized)
{
	bool full = l->end.at >= l->limit;
	struct bwl_err e = { 0 };

	if (full && bwl_audit_end_rotate(&l->end, l->dir, l->dir_fd, &l->key, &e))
		bwl_warn("the audit log cannot begin a new file after %s: %s", l->end.name, e.text);
	else if ((full || resized) && prune(l, &e))
		bwl_warn("the audit log is larger than its limit: %s", e.text);
}

static int add_locked(struct bwl_audit_log *l, enum bwl_audit_urgency u, const char *event,
		      const char *text, json_t *data, uint64_t *ret_n, struct bwl_err *e)
{
	struct bwl_audit_torn torn;
	bool resized = look_at_size(l);
	int r = bwl_audit_end_find(&l->end, l->dir, l->dir_fd, &l->key, &torn, e);

	if (r)
		return r;
	r = keep_room(l, u, e);
	if (r)
		return r;
	r = add_recovered(l, &torn, e);
	if (r)
		return r;
	r = add(l, u, event, text, data, ret_n, e);
	if (!r)
		keep_below(l, resized);
	return r;
}

int bwl_audit_append(struct bwl_audit_log *l, enum bwl_audit_urgency u, const char *event,
		     const char *text, json_t *data, uint64_t *ret_n, struct bwl_err *e)
{
	struct bwl_err mine;
	int r;

	if (!l)
		return 0;
	if (!e)
		e = &mine;
	r = lock(l, u, e);
	if (r)
		return r;
	r = add_locked(l, u, event, text, data, ret_n, e);
	flock(l->dir_fd, LOCK_UN);
	return r;
}

/* The key is made last, under its final name in one step: without it the log is off. */
int bwl_audit_init(const char *dir, const char *origin, char ret_key[static BWL_NOTE_KEY_TEXT],
		   struct bwl_err *e)
{
	const struct bwl_replace for_all = { .mode = 0644 };
	char path[BWL_AUDIT_PATH], pub[BWL_AUDIT_PATH], secret[BWL_NOTE_KEY_TEXT + 1];
	BWL_AUTO_CLOSE int fd = -1;
	struct bwl_note_key k;
	size_t n;
	int r = bwl_note_key_new(origin, &k, e);

	if (!r)
		r = bwl_audit_path(path, dir, "key", e);
	if (!r)
		r = bwl_audit_path(pub, dir, "key.pub", e);
	if (r)
		return r;
	if (mkdir(dir, 0700) && errno != EEXIST)
		return bwl_fail(e, errno, "cannot make %s: %s", dir, strerror(errno));
	if (!access(path, F_OK)) {
		bwl_fail(e, EEXIST, "%s already has an audit log", dir);
		return bwl_hint(e, "to start another one, move the whole folder away");
	}
	fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0)
		return bwl_fail(e, errno, "cannot open %s: %s", dir, strerror(errno));
	n = strlen(bwl_note_key_format(&k, false, ret_key));
	snprintf(secret, sizeof(secret), "%s\n", ret_key);
	r = bwl_bytes_replace_path(pub, &for_all, secret, n + 1, e);
	if (!r)
		r = bwl_audit_end_begin(dir, fd, &k, e);
	if (!r) {
		n = strlen(bwl_note_key_format(&k, true, secret));
		secret[n] = '\n';
		r = bwl_bytes_replace_path(path, NULL, secret, n + 1, e);
	}
	OPENSSL_cleanse(secret, sizeof(secret));
	OPENSSL_cleanse(&k, sizeof(k));
	return r;
}

int bwl_audit_put_size(const char *dir, const char *text, struct bwl_err *e)
{
	int fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC), r;

	if (fd < 0)
		return bwl_fail(e, errno, "cannot open %s: %s", dir, strerror(errno));
	r = bwl_audit_make_file(dir, fd, "size", text, strlen(text), 0, e);
	close(fd);
	return r;
}
