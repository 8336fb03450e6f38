// SPDX-License-Identifier: GPL-2.0-or-later
/* See item.h. */
#include <dirent.h>
#include <errno.h>
#include <openssl/evp.h>
#include <stdlib.h>
#include <string.h>
#include "item.h"

#define CHECKPOINT "{\"checkpoint\":"

/* A value has only one spelling: so there is no second one for what is hashed. */
static bool is_canonical(const json_t *o, const char *line, size_t len)
{
	char *again = json_dumps(o, JSON_COMPACT | JSON_SORT_KEYS | JSON_ENSURE_ASCII);
	bool same = again && strlen(again) == len && !memcmp(again, line, len);

	free(again);
	return same;
}

static bool parse_checkpoint(struct bwl_audit_item *i)
{
	json_t *note = json_object_get(i->json, "checkpoint"),
	       *a = json_object_get(i->json, "frontier");

	if (json_object_size(i->json) != 2 || !json_is_string(note) || !json_is_array(a) ||
	    json_array_size(a) > 64)
		return false;
	i->note = json_string_value(note);
	i->note_len = json_string_length(note);
	for (; i->nodes < json_array_size(a); i->nodes++) {
		const json_t *h = json_array_get(a, i->nodes);

		if (!json_is_string(h) ||
		    !bwl_hash_parse(json_string_value(h), json_string_length(h),
				    &i->node[i->nodes]))
			return false;
	}
	return true;
}

static bool parse_node(struct bwl_audit_item *i)
{
	json_t *hash = json_object_get(i->json, "hash"), *n = json_object_get(i->json, "records");
	json_int_t records = json_integer_value(n);

	if (json_object_size(i->json) != 2 || !json_is_string(hash) || !json_is_integer(n) ||
	    records < 1 || (records & (records - 1)))
		return false;
	i->bits = (unsigned)__builtin_ctzll((unsigned long long)records);
	return bwl_hash_parse(json_string_value(hash), json_string_length(hash), &i->leaf);
}

char *bwl_audit_node_line(unsigned bits, const struct bwl_hash *h)
{
	char hash[BWL_HASH_TEXT], *text;
	json_t *o = json_pack("{s:s, s:I}", "hash", bwl_hash_format(h, hash), "records",
			      (json_int_t)(1LL << bits));

	text = json_dumps(o, JSON_COMPACT | JSON_SORT_KEYS | JSON_ENSURE_ASCII);
	json_decref(o);
	if (!text)
		abort();
	return text;
}

void bwl_audit_parse(const char *line, size_t len, struct bwl_audit_item *ret)
{
	const json_t *n;

	memset(ret, 0, sizeof(*ret));
	ret->kind = BWL_AUDIT_BAD;
	ret->line = line;
	ret->len = len;
	if (!len || *line != '{')
		return;
	ret->json = json_loadb(line, len, JSON_REJECT_DUPLICATES | JSON_ALLOW_NUL, NULL);
	if (!ret->json || !is_canonical(ret->json, line, len))
		return;
	if (len > strlen(CHECKPOINT) && !memcmp(line, CHECKPOINT, strlen(CHECKPOINT))) {
		if (parse_checkpoint(ret))
			ret->kind = BWL_AUDIT_CHECKPOINT;
		return;
	}
	if (parse_node(ret)) {
		ret->kind = BWL_AUDIT_NODE;
		return;
	}
	n = json_object_get(ret->json, "n");
	if (!json_is_integer(n) || json_integer_value(n) < 0)
		return;
	ret->kind = BWL_AUDIT_RECORD;
	ret->n = (uint64_t)json_integer_value(n);
	bwl_hash_leaf(line, len, &ret->leaf);
}

bool bwl_audit_frontier(const struct bwl_audit_item *i, const struct bwl_checkpoint *c,
			struct bwl_frontier *ret)
{
	struct bwl_hash root;
	unsigned at = 0;

	memset(ret, 0, sizeof(*ret));
	ret->n = c->size;
	if ((unsigned)__builtin_popcountll(c->size) != i->nodes)
		return false;
	for (unsigned b = 0; b < 64; b++)
		if (c->size >> b & 1)
			ret->node[b] = i->node[at++];
	bwl_frontier_root(ret, &root);
	return bwl_hash_equal(&root, &c->root);
}

char *bwl_audit_checkpoint_line(const char *note, const struct bwl_frontier *f)
{
	json_t *a = json_array(), *o;
	char hash[BWL_HASH_TEXT], *text;

	for (unsigned b = 0; b < 64; b++)
		if (f->n >> b & 1)
			json_array_append_new(a, json_string(bwl_hash_format(&f->node[b], hash)));
	o = json_pack("{s:s,s:o}", "checkpoint", note, "frontier", a);
	text = o ? json_dumps(o, JSON_COMPACT | JSON_SORT_KEYS | JSON_ENSURE_ASCII) : NULL;
	json_decref(o);
	return text;
}

int bwl_audit_path(char buf[static BWL_AUDIT_PATH], const char *dir, const char *name,
		   struct bwl_err *e)
{
	if (snprintf(buf, BWL_AUDIT_PATH, "%s/%s", dir, name) >= BWL_AUDIT_PATH)
		return bwl_fail(e, ENAMETOOLONG,
				"the path of the audit log must be at most %d characters",
				BWL_AUDIT_PATH - BWL_AUDIT_NAME);
	return 0;
}

static int one_line(const char *name, uint64_t at, const char *line, size_t len, bool whole,
		    bwl_audit_fn fn, void *arg)
{
	struct bwl_audit_item i;
	int r;

	if (whole)
		bwl_audit_parse(line, len, &i);
	else
		i = (struct bwl_audit_item){ .kind = BWL_AUDIT_TORN, .line = line, .len = len };
	i.file = name;
	i.offset = at;
	r = fn(&i, arg);
	json_decref(i.json);
	return r;
}

/* After the last read: a partial line before a read error must not count as torn. */
static int read_whole(FILE *f, const char *name, struct bwl_err *e)
{
	return ferror(f) ? bwl_fail(e, EIO, "cannot read %s of the audit log", name) : 0;
}

/* A line that is longer than any of ours is reported as BAD in pieces: memory stays bounded. */
int bwl_audit_scan_file(FILE *f, const char *name, bwl_audit_fn fn, void *arg, struct bwl_err *e)
{
	char *line = malloc(BWL_AUDIT_LINE);
	uint64_t at = 0;
	size_t len = 0;
	int c, r = 0;

	if (!line)
		abort();
	while (!r && (c = getc_unlocked(f)) != EOF) {
		if (c == '\n') {
			r = one_line(name, at, line, len, true, fn, arg);
			at += len + 1;
			len = 0;
			continue;
		}
		line[len++] = (char)c;
		if (len == BWL_AUDIT_LINE) {
			struct bwl_audit_item i = { .kind = BWL_AUDIT_BAD,
						    .line = line,
						    .len = len,
						    .file = name,
						    .offset = at };

			r = fn(&i, arg);
			at += len;
			len = 0;
		}
	}
	if (!r)
		r = read_whole(f, name, e);
	if (!r && len)
		r = one_line(name, at, line, len, false, fn, arg);
	free(line);
	return r;
}

static int by_first(const void *a, const void *b)
{
	const struct bwl_audit_file *x = a, *y = b;

	if (x->first != y->first)
		return x->first < y->first ? -1 : 1;
	return strcmp(x->name, y->name);
}

const char *bwl_audit_name(const char *name, uint64_t *ret_first, uint64_t *ret_end)
{
	static const char *const tails[] = { "jsonl", "hashes", "kept", "damaged" };
	unsigned long long first, end;
	char want[BWL_AUDIT_NAME];

	*ret_end = 0;
	if (sscanf(name, "log-%20llu-%20llu.", &first, &end) == 2) {
		*ret_first = first;
		*ret_end = end;
		snprintf(want, sizeof(want), BWL_AUDIT_NAME_MIN, first, end);
		return end > first && !strcmp(name, want) ? "least" : NULL;
	}
	if (sscanf(name, "log-%20llu.", &first) != 1)
		return NULL;
	*ret_first = first;
	for (size_t i = 0; i < sizeof(tails) / sizeof(*tails); i++) {
		snprintf(want, sizeof(want), "log-%020llu.%s", first, tails[i]);
		if (!strcmp(name, want))
			return tails[i];
	}
	return NULL;
}

static bool is_file(const char *name, struct bwl_audit_file *ret)
{
	const char *tail;

	memset(ret, 0, sizeof(*ret));
	tail = bwl_audit_name(name, &ret->first, &ret->end);
	if (!tail || !strcmp(tail, "damaged"))
		return false;
	strcpy(ret->name, name);
	ret->hashes = !strcmp(tail, "hashes");
	ret->least = !strcmp(tail, "least");
	if (!strcmp(tail, "kept"))
		strcpy(ret->kept, name);
	return true;
}

/*
 * Chooses among files with the same first record: the lines; otherwise the longest `least`;
 * otherwise the hashes, together with the kept lines, which are only read beside hashes.
 */
static bool choose(const struct bwl_audit_file *f, size_t n, struct bwl_audit_file *ret)
{
	const struct bwl_audit_file *lines = NULL, *least = NULL, *hashes = NULL, *kept = NULL;

	for (size_t i = 0; i < n; i++) {
		if (f[i].least)
			least = least && least->end > f[i].end ? least : &f[i];
		else
			*(f[i].hashes ? &hashes : *f[i].kept ? &kept : &lines) = &f[i];
	}
	if (!lines && !least && !hashes)
		return false;
	*ret = lines ? *lines : least ? *least : *hashes;
	if (ret->hashes && kept)
		strcpy(ret->kept, kept->name);
	return true;
}

int bwl_audit_files(const char *dir, struct bwl_audit_file **ret, size_t *ret_n, struct bwl_err *e)
{
	struct bwl_audit_file f, *all = NULL;
	uint64_t covered = 0;
	size_t n = 0, out = 0;
	struct dirent *de;
	DIR *d = opendir(dir);

	if (!d)
		return bwl_fail(e, errno, "cannot read the audit log in %s: %s", dir,
				strerror(errno));
	while ((de = readdir(d))) {
		if (!is_file(de->d_name, &f))
			continue;
		all = realloc(all, (n + 1) * sizeof(*all));
		if (!all)
			abort();
		all[n++] = f;
	}
	closedir(d);
	if (n)
		qsort(all, n, sizeof(*all), by_first);
	for (size_t i = 0, next; i < n; i = next) {
		for (next = i + 1; next < n && all[next].first == all[i].first; next++)
			;
		if (!choose(all + i, next - i, &f))
			continue;
		/* lines are never left out */
		if (f.first < covered && (f.hashes || f.least))
			continue;
		covered = f.least ? f.end : covered;
		all[out++] = f;
	}
	*ret = all;
	*ret_n = out;
	return 0;
}

struct pair {
	FILE *hashes;
	const char *name;
	uint64_t next;        /* number of the record whose hash comes next */
	struct bwl_hash rest; /* hash of the kept lines after the first one */
	bool any;             /* there is a kept line */
	bwl_audit_fn fn;
	void *arg;
	struct bwl_err *e;
};

/* Reports the hashes of removed records, up to record n. false: there are no more. */
static int skip_to(struct pair *p, uint64_t n, bool *ret_more)
{
	struct bwl_audit_item i = { .file = p->name, .kept = true };
	int r = 0;

	*ret_more = true;
	while (!r && p->next < n) {
		size_t got = fread(i.leaf.b, 1, sizeof(i.leaf.b), p->hashes);

		*ret_more = got;
		r = read_whole(p->hashes, p->name, p->e);
		if (r || !got)
			break;
		i.kind = got == sizeof(i.leaf.b) ? BWL_AUDIT_LEAF : BWL_AUDIT_TORN;
		i.line = (const char *)i.leaf.b;
		i.len = got;
		i.n = p->next;
		i.offset = (uint64_t)ftell(p->hashes) - got;
		r = p->fn(&i, p->arg);
		p->next++;
	}
	return r;
}

/* A kept record stands in its number's place. Its own hash counts, not the stored one. */
static int on_kept(const struct bwl_audit_item *i, void *arg)
{
	struct bwl_audit_item kept = *i;
	struct bwl_hash filed;
	struct pair *p = arg;
	bool more = true;
	int r = 0;

	p->any = kept.kept = true;
	kept.rest = i->offset ? NULL : &p->rest;
	if (i->kind == BWL_AUDIT_RECORD && i->n >= p->next)
		r = skip_to(p, i->n, &more);
	if (!r && i->kind == BWL_AUDIT_RECORD && more && i->n == p->next &&
	    fread(filed.b, sizeof(filed.b), 1, p->hashes) == 1)
		p->next++;
	return r ? r : p->fn(&kept, p->arg);
}

/* The hash of everything after the first line. Rewinds the file. */
static int hash_rest(FILE *f, const char *name, struct bwl_hash *ret, struct bwl_err *e)
{
	EVP_MD_CTX *ctx = EVP_MD_CTX_new();
	char buf[4096];
	size_t n;
	int c;

	if (!ctx || !EVP_DigestInit_ex(ctx, EVP_sha256(), NULL))
		abort();
	while ((c = getc_unlocked(f)) != EOF && c != '\n')
		;
	while ((n = fread(buf, 1, sizeof(buf), f)))
		if (!EVP_DigestUpdate(ctx, buf, n))
			abort();
	if (!EVP_DigestFinal_ex(ctx, ret->b, NULL))
		abort();
	EVP_MD_CTX_free(ctx);
	n = ferror(f);
	rewind(f);
	return n ? bwl_fail(e, EIO, "cannot read %s of the audit log", name) : 0;
}

struct least {
	struct bwl_hash rest;
	bool any;
	bwl_audit_fn fn;
	void *arg;
};

static int on_least(const struct bwl_audit_item *i, void *arg)
{
	struct bwl_audit_item least = *i;
	struct least *l = arg;

	l->any = least.kept = true;
	least.rest = i->offset ? NULL : &l->rest;
	return l->fn(&least, l->arg);
}

/*
 * Like the kept lines, but without a file of hashes: removed records are in it as hashes over
 * several records.
 */
static int scan_least(FILE *f, const char *name, bwl_audit_fn fn, void *arg, struct bwl_err *e)
{
	struct least l = { .fn = fn, .arg = arg };
	int r = hash_rest(f, name, &l.rest, e);

	if (!r)
		r = bwl_audit_scan_file(f, name, on_least, &l, e);
	return r || l.any ? r : one_line(name, 0, "", 0, true, on_least, &l);
}

static int scan_pair(FILE *hashes, FILE *kept, const struct bwl_audit_file *file, bwl_audit_fn fn,
		     void *arg, struct bwl_err *e)
{
	struct pair p = { .hashes = hashes,
			  .name = file->name,
			  .next = file->first,
			  .fn = fn,
			  .arg = arg,
			  .e = e };
	bool more;
	int r = hash_rest(kept, file->kept, &p.rest, e);

	if (!r)
		r = bwl_audit_scan_file(kept, file->kept, on_kept, &p, e);
	if (!r && !p.any)
		r = one_line(file->kept, 0, "", 0, true, on_kept, &p);
	return r ? r : skip_to(&p, UINT64_MAX, &more);
}

static int scan_hashes(FILE *f, const struct bwl_audit_file *file, bwl_audit_fn fn, void *arg,
		       struct bwl_err *e)
{
	struct bwl_audit_item i = { .file = file->name, .n = file->first };
	size_t got;
	int r = 0;

	while (!r && (got = fread(i.leaf.b, 1, sizeof(i.leaf.b), f)) && !ferror(f)) {
		i.kind = got == sizeof(i.leaf.b) ? BWL_AUDIT_LEAF : BWL_AUDIT_TORN;
		i.line = (const char *)i.leaf.b;
		i.len = got;
		r = fn(&i, arg);
		i.offset += got;
		i.n++;
	}
	return r ? r : read_whole(f, file->name, e);
}

/* Scans lines, or hashes, or hashes together with the kept lines. */
static int scan_one(FILE *f, const char *dir, const struct bwl_audit_file *file, bwl_audit_fn fn,
		    void *arg, struct bwl_err *e)
{
	char path[BWL_AUDIT_PATH];
	FILE *kept;
	int r;

	if (file->least)
		return scan_least(f, file->name, fn, arg, e);
	if (!file->hashes)
		return bwl_audit_scan_file(f, file->name, fn, arg, e);
	if (!*file->kept)
		return scan_hashes(f, file, fn, arg, e);
	r = bwl_audit_path(path, dir, file->kept, e);
	kept = r ? NULL : fopen(path, "re");
	if (!kept)
		return r ? r : bwl_fail(e, errno, "cannot read %s: %s", path, strerror(errno));
	r = scan_pair(f, kept, file, fn, arg, e);
	fclose(kept);
	return r;
}

int bwl_audit_scan_files(const char *dir, const struct bwl_audit_file *file, size_t n,
			 bwl_audit_fn fn, void *arg, struct bwl_err *e)
{
	char path[BWL_AUDIT_PATH];
	int r = 0;

	for (size_t i = 0; !r && i < n; i++) {
		FILE *f;

		r = bwl_audit_path(path, dir, file[i].name, e);
		if (r)
			break;
		f = fopen(path, "re");
		if (!f) {
			r = bwl_fail(e, errno, "cannot read %s: %s", path, strerror(errno));
			break;
		}
		r = scan_one(f, dir, &file[i], fn, arg, e);
		fclose(f);
	}
	return r;
}

int bwl_audit_scan(const char *dir, bwl_audit_fn fn, void *arg, struct bwl_err *e)
{
	struct bwl_audit_file *file = NULL;
	size_t n = 0;
	int r = bwl_audit_files(dir, &file, &n, e);

	if (!r)
		r = bwl_audit_scan_files(dir, file, n, fn, arg, e);
	free(file);
	return r;
}
