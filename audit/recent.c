// SPDX-License-Identifier: GPL-2.0-or-later
/* See recent.h. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include "bwl/cleanup.h"
#include "item.h"
#include "recent.h"

#define BACK (4 << 20) /* bytes that are read of a log that already existed */

struct line {
	json_t *said;
	size_t len;
	json_int_t pid;
	bool host, intent;
};

struct bwl_audit_recent {
	const char *dir;
	/* The position up to which the log was read. */
	char file[BWL_AUDIT_NAME]; /* "": nothing yet */
	ino_t ino;
	off_t at;
	uint64_t next; /* number of the next record */
	bool changed;
	size_t n, bytes;
	struct line line[BWL_AUDIT_RECENT];
};

BWL_AUTO_DEFINE(fclose, FILE *)

struct bwl_audit_recent *bwl_audit_recent_new(const char *dir)
{
	struct bwl_audit_recent *v = bwl_must(calloc(1, sizeof(*v)));

	v->dir = dir;
	return v;
}

static void drop(struct bwl_audit_recent *v, size_t i)
{
	v->bytes -= v->line[i].len;
	json_decref(v->line[i].said);
	memmove(&v->line[i], &v->line[i + 1], (--v->n - i) * sizeof(*v->line));
}

static void forget(struct bwl_audit_recent *v)
{
	while (v->n)
		drop(v, v->n - 1);
	*v->file = '\0';
	v->next = 0;
}

void bwl_audit_recent_free(struct bwl_audit_recent *v)
{
	if (!v)
		return;
	forget(v);
	free(v);
}

/*
 * The line to drop: the oldest one; if a host's lines take more than a third of the bytes, the
 * oldest of those.
 */
static size_t least(const struct bwl_audit_recent *v)
{
	size_t first = v->n, bytes = 0;

	for (size_t i = v->n; i-- > 0;) {
		if (!v->line[i].host)
			continue;
		first = i;
		bytes += v->line[i].len;
	}
	return bytes > v->bytes / 3 ? first : 0;
}

static const char *text_of(const json_t *o, const char *key)
{
	const char *s = json_string_value(json_object_get(o, key));

	return s ? s : "";
}

/* Somebody has acknowledged all signs up to that record. */
static void acknowledge(struct bwl_audit_recent *v, const json_t *record)
{
	const json_t *upto = json_object_get(json_object_get(record, "data"), "record");

	for (size_t i = 0; json_is_integer(upto) && i < v->n; i++) {
		json_t *said = v->line[i].said;

		if (!strcmp(text_of(said, "event"), "tamper") &&
		    json_integer_value(json_object_get(said, "record")) <= json_integer_value(upto))
			json_object_set_new(said, "acknowledged", json_true());
	}
}

/* Drops an intent: its result is known now. */
static void drop_intent(struct bwl_audit_recent *v, json_int_t pid)
{
	for (size_t i = v->n; i-- > 0;)
		if (v->line[i].intent && v->line[i].pid == pid) {
			drop(v, i);
			return;
		}
}

/* bwlimitd sets the level. Records of tools have none: they are people's actions. */
static const char *level_of(const json_t *record, const char *event)
{
	const char *said = text_of(json_object_get(record, "data"), "level");

	if (*said)
		return said;
	if (!strcmp(event, "tamper"))
		return "alert";
	return !strcmp(event, "failed") || !strcmp(event, "lost") || !strcmp(event, "damaged")
		       ? "warning"
		       : "notice";
}

static void add(struct bwl_audit_recent *v, const struct bwl_audit_item *i)
{
	const json_t *by = json_object_get(i->json, "by");
	const char *event = text_of(i->json, "event");
	struct line l = { .pid = json_integer_value(json_object_get(by, "pid")),
			  .host = json_is_true(json_object_get(i->json, "host")),
			  .intent = !strcmp(event, "intent") };

	if (!l.host && !l.intent)
		drop_intent(v, l.pid);
	if (!strcmp(event, "ack"))
		acknowledge(v, i->json);
	l.said = json_pack("{s:s, s:s, s:s, s:s, s:s, s:I, s:b}", "time", text_of(i->json, "time"),
			   "level", level_of(i->json, event), "program", text_of(by, "program"),
			   "event", event, "text", text_of(i->json, "text"), "record",
			   (json_int_t)i->n, "acknowledged", false);
	l.len = l.said ? json_dumpb(l.said, NULL, 0, JSON_COMPACT) + 1 : 0;
	if (!l.len || l.len > BWL_AUDIT_RECENT_BYTES) {
		json_decref(l.said);
		return;
	}
	while (v->n == BWL_AUDIT_RECENT || v->bytes + l.len > BWL_AUDIT_RECENT_BYTES)
		drop(v, least(v));
	v->line[v->n++] = l;
	v->bytes += l.len;
}

static void take(struct bwl_audit_recent *v, const char *line, size_t len)
{
	struct bwl_audit_item i = { 0 };

	bwl_audit_parse(line, len, &i);
	if (i.kind == BWL_AUDIT_RECORD && i.n >= v->next) {
		v->next = i.n + 1;
		if (!json_is_true(json_object_get(i.json, "junk")) &&
		    !json_is_true(json_object_get(i.json, "regular")) &&
		    strcmp(text_of(i.json, "event"), "totals"))
			add(v, &i);
	}
	json_decref(i.json);
}

/* Reads whole lines from v->at on. A line that is being written is read the next time. */
static int read_lines(struct bwl_audit_recent *v, FILE *f, struct bwl_err *e)
{
	BWL_AUTO_FREE char *line = NULL;
	size_t room = 0;
	ssize_t n;

	if (fseeko(f, v->at, SEEK_SET))
		return bwl_fail(e, errno, "cannot read %s: %s", v->file, strerror(errno));
	while ((n = getline(&line, &room, f)) > 0 && line[n - 1] == '\n') {
		v->at += n;
		v->changed = true;
		/* most lines are checkpoints and need no parsing */
		if (strncmp(line, "{\"checkpoint\"", 13))
			take(v, line, (size_t)n - 1);
	}
	return ferror(f) ? bwl_fail(e, EIO, "cannot read %s", v->file) : 0;
}

/* back: if the file is larger only its last bytes are read. */
static int read_file(struct bwl_audit_recent *v, const char *name, off_t back, struct bwl_err *e)
{
	BWL_AUTO(fclose) FILE *f = NULL;
	char path[BWL_AUDIT_PATH];
	struct stat st;
	int r = bwl_audit_path(path, v->dir, name, e);

	if (r)
		return r;
	f = fopen(path, "re");
	if (!f || fstat(fileno(f), &st))
		return bwl_fail(e, errno, "cannot read %s: %s", path, strerror(errno));
	if (strcmp(name, v->file) || st.st_ino != v->ino) {
		snprintf(v->file, sizeof(v->file), "%s", name);
		v->ino = st.st_ino;
		v->at = st.st_size > back ? st.st_size - back : 0;
	}
	if (st.st_size < v->at)
		v->at = st.st_size; /* the part that a crash tore was set aside */
	return st.st_size > v->at ? read_lines(v, f, e) : 0;
}

static bool has_lines(const struct bwl_audit_file *f)
{
	return !f->hashes && !f->least;
}

/* The file that was read last; otherwise the first one after it. n: this is another log. */
static size_t first_of(const struct bwl_audit_recent *v, const struct bwl_audit_file *file,
		       size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (has_lines(&file[i]) &&
		    (!strcmp(file[i].name, v->file) || file[i].first >= v->next))
			return i;
	return n;
}

/* The first of the newest files that together have BACK bytes. */
static size_t back_from(const struct bwl_audit_recent *v, const struct bwl_audit_file *file,
			size_t n)
{
	char path[BWL_AUDIT_PATH];
	off_t bytes = 0;
	struct stat st;
	size_t i = n;

	while (i > 0 && has_lines(&file[i - 1]) && bytes < BACK) {
		i--;
		if (!bwl_audit_path(path, v->dir, file[i].name, NULL) && !stat(path, &st))
			bytes += st.st_size;
	}
	return i;
}

/* The folder was moved away, and another log is in its place. */
static bool is_another(const struct bwl_audit_recent *v)
{
	char path[BWL_AUDIT_PATH];
	struct stat st;

	return *v->file && !bwl_audit_path(path, v->dir, v->file, NULL) && !stat(path, &st) &&
	       st.st_ino != v->ino;
}

int bwl_audit_recent_read(struct bwl_audit_recent *v, struct bwl_err *e)
{
	BWL_AUTO_FREE struct bwl_audit_file *file = NULL;
	size_t n = 0, i;
	int r = bwl_audit_files(v->dir, &file, &n, e);

	if (r)
		return r;
	v->changed = false;
	i = *v->file && !is_another(v) ? first_of(v, file, n) : n;
	if (i == n) {
		v->changed = v->n;
		forget(v);
		i = back_from(v, file, n);
	}
	for (; !r && i < n; i++)
		if (has_lines(&file[i]))
			r = read_file(v, file[i].name, BACK, e);
	return r ? r : v->changed;
}

json_t *bwl_audit_recent_lines(const struct bwl_audit_recent *v)
{
	json_t *a = bwl_must(json_array());

	for (size_t i = 0; i < v->n; i++)
		json_array_append(a, v->line[i].said);
	return a;
}
