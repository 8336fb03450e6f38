// SPDX-License-Identifier: GPL-2.0-or-later
/* Files of evidence: exports, and the files from which an interval is recomputed. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "audit/item.h"
#include "bwl/bytes.h"
#include "bwl/cleanup.h"
#include "evidence.h"
#include "evidence/keys.h"
#include "flows/list.h"

#define PEERS_MAX (256U << 20) /* bytes of an interval's peers */

int evidence_read(const char *path, size_t most, char **ret, size_t *ret_len, struct bwl_err *e)
{
	BWL_AUTO_CLOSE int fd = open(path, O_RDONLY | O_CLOEXEC);
	struct bwl_err why = { 0 };
	int r;

	*ret = NULL;
	if (fd < 0)
		return bwl_fail(e, errno, "cannot read %.300s: %s", path, strerror(errno));
	r = bwl_bytes_read(fd, most, ret, ret_len, &why);
	return r ? bwl_fail(e, -r, "cannot read %.300s: %.300s", path, why.text) : 0;
}

/* Never overwrites a file: it may be what somebody was given. */
int evidence_write(const char *dir, const char *name, mode_t mode, const char *text, size_t len,
		   struct bwl_err *e)
{
	char path[900];
	int r;

	snprintf(path, sizeof(path), "%s%s%s", dir, *dir ? "/" : "", name);
	BWL_AUTO_CLOSE int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, mode);
	if (fd < 0)
		return bwl_fail(e, errno, "cannot make %.300s: %s", path, strerror(errno));
	r = bwl_bytes_write(fd, text, len);
	if (!r && fsync(fd))
		r = -errno;
	return r ? bwl_fail(e, -r, "cannot write %.300s: %s", path, strerror(-r)) : 0;
}

int evidence_log(struct ctl *c, struct evidence_from *f)
{
	struct bwl_note_key key;
	const char *dir;
	char *note = NULL;
	size_t n = 0;
	int r = audit_folder(c, f->audit_dir, &dir);

	if (!r)
		r = audit_take_key(c, dir, NULL, &key);
	if (!r && f->checkpoint)
		r = evidence_read(f->checkpoint, BWL_NOTE_MAX - 1, &note, &n, &c->err);
	if (!r)
		r = ev_log_read(dir, &key, note, n, &f->log, &c->err);
	free(note);
	return r;
}

/* The newest interval with that number: an earlier one may have had the same file. */
int evidence_interval(const char *state_dir, const struct ev_found *x, struct ev_interval *ret,
		      struct bwl_err *e)
{
	char path[600], name[FLOWS_NAME], *text = NULL;
	struct bwl_err why = { 0 };
	uint8_t key[32];
	size_t n;
	int r = ev_key_read(state_dir, x->x.epoch, key, e);

	if (r)
		return r;
	snprintf(path, sizeof(path), "%s/" FLOWS_DIR "/%s", state_dir,
		 flows_store_name(x->x.id.sequence, name));
	r = evidence_read(path, EV_FILE_MAX, &text, &n, e);
	if (r)
		return r;
	r = ev_interval_make(text, n, key, ret, &why);
	explicit_bzero(key, sizeof(key));
	if (r)
		return bwl_fail(e, -r, "%.300s: %.300s", path, why.text);
	if (bwl_hash_equal(&ret->root, &x->x.root))
		return 0;
	bwl_fail(e, ESTALE, "interval %llu: %s", (unsigned long long)x->x.id.sequence,
		 !ev_id_same(&ret->id, &x->x.id) ? "its file belongs to another interval now"
		 : ret->id.thinned != x->x.id.thinned
			 ? "its flows have been deleted since, to make room"
			 : "its file does not match the audit log: it was changed");
	ev_interval_free(ret);
	return bwl_hint(e, "--flows-size of bwlimitd decides how long flows are kept");
}

static int by_number(const void *a, const void *b)
{
	const uint64_t *x = a, *y = b;

	return *x < *y ? -1 : *x > *y;
}

/* Is the file of one of the entries? Their names differ only in their end. */
static bool is_of_entry(const struct evidence_export *x, const char *name, uint64_t n)
{
	static const char *const form[] = { EVIDENCE_ENTRY, EVIDENCE_PROOF, EVIDENCE_PEERS };
	bool named = false;
	char again[64];

	for (size_t i = 0; !named && i < 3; i++) {
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
		snprintf(again, sizeof(again), form[i], (unsigned long long)n);
#pragma GCC diagnostic pop
		named = !strcmp(again, name);
	}
	return named && bsearch(&n, x->n, x->count, sizeof(*x->n), by_number);
}

/* A file that looks like a part of an entry, and is of none: what it has would not be looked at. */
static void find_strays(DIR *d, struct evidence_export *x)
{
	static const char *const end[] = { ".entry", ".tlog-proof", ".peers" };
	struct dirent *f;

	rewinddir(d);
	while ((f = readdir(d)))
		for (size_t i = 0; i < 3; i++) {
			size_t n = strlen(f->d_name), m = strlen(end[i]);

			if (n < m || strcmp(f->d_name + n - m, end[i]) ||
			    is_of_entry(x, f->d_name, strtoull(f->d_name, NULL, 10)))
				continue;
			if (!x->strays++)
				snprintf(x->stray, sizeof(x->stray), "%.250s", f->d_name);
		}
}

int evidence_export_list(const char *dir, struct evidence_export *ret, struct bwl_err *e)
{
	DIR *d = opendir(dir);
	struct dirent *f;
	size_t room = 0;

	memset(ret, 0, sizeof(*ret));
	snprintf(ret->dir, sizeof(ret->dir), "%s", dir);
	if (!d)
		return bwl_fail(e, errno, "cannot read %.300s: %s", dir, strerror(errno));
	while ((f = readdir(d))) {
		unsigned long long n;
		char again[64];

		if (sscanf(f->d_name, "%20llu.entry", &n) != 1)
			continue;
		snprintf(again, sizeof(again), EVIDENCE_ENTRY, n);
		if (strcmp(again, f->d_name))
			continue;
		if (ret->count == room)
			ret->n = bwl_must(
				reallocarray(ret->n, room = 2 * room + 64, sizeof(*ret->n)));
		ret->n[ret->count++] = n;
	}
	if (!ret->count) {
		closedir(d);
		bwl_fail(e, ENOENT, "%.300s has no intervals", dir);
		return bwl_hint(e, "bwlimit-ctl evidence export writes them");
	}
	qsort(ret->n, ret->count, sizeof(*ret->n), by_number);
	find_strays(d, ret);
	closedir(d);
	return 0;
}

static int read_part(const struct evidence_export *d, size_t i, const char *format, size_t most,
		     char **ret, size_t *ret_len, struct bwl_err *e)
{
	char path[500], name[64];

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
	snprintf(name, sizeof(name), format, (unsigned long long)d->n[i]);
#pragma GCC diagnostic pop
	snprintf(path, sizeof(path), "%s/%s", d->dir, name);
	return evidence_read(path, most, ret, ret_len, e);
}

static int parse_peers(struct evidence_part *p, const char *text, size_t len, struct bwl_err *e)
{
	struct bwl_err why = { 0 };
	size_t room = 0;
	const char *nl;

	for (; len; len -= (size_t)(nl + 1 - text), text = nl + 1) {
		json_t *o;
		int r;

		nl = memchr(text, '\n', len);
		if (!nl || nl - text >= EV_TEXT || p->npeers == EV_SLOTS_MAX)
			return bwl_fail(e, EBADMSG, "slot %u is cut off, or one too many",
					p->npeers);
		o = json_loadb(text, (size_t)(nl - text), JSON_REJECT_DUPLICATES, NULL);
		if (p->npeers == room)
			p->peer = bwl_must(
				reallocarray(p->peer, room = 2 * room + 64, sizeof(*p->peer)));
		r = ev_peer_parse(o, &p->peer[p->npeers++], &why);
		json_decref(o);
		if (r)
			return bwl_fail(e, -r, "slot %u: %s", p->npeers - 1, why.text);
	}
	return 0;
}

/* What is read before a failure stays in *ret. */
static int read_all(const struct evidence_export *d, size_t i, struct evidence_part *ret,
		    struct bwl_err *e)
{
	unsigned long long n = d->n[i];
	struct bwl_err why = { 0 };
	char *peers = NULL;
	size_t len;
	int r;

	r = read_part(d, i, EVIDENCE_ENTRY, BWL_AUDIT_LINE, &ret->line, &ret->line_len, e);
	if (!r)
		r = read_part(d, i, EVIDENCE_PROOF, BWL_TLOG_PROOF_MAX, &ret->proof,
			      &ret->proof_len, e);
	if (!r)
		r = read_part(d, i, EVIDENCE_PEERS, PEERS_MAX, &peers, &len, e);
	if (r)
		return r;
	r = ev_entry_line(ret->line, ret->line_len, &ret->x, &ret->n, &why);
	if (!r && ret->n != n)
		r = bwl_fail(&why, EBADMSG, "it is not the entry of that record, but of %llu",
			     (unsigned long long)ret->n);
	if (!r)
		r = parse_peers(ret, peers, len, &why);
	free(peers);
	return r ? bwl_fail(e, -r, "record %llu: %.400s", n, why.text) : 0;
}

int evidence_export_read(const struct evidence_export *d, size_t i, struct evidence_part *ret,
			 struct bwl_err *e)
{
	int r;

	memset(ret, 0, sizeof(*ret));
	r = read_all(d, i, ret, e);
	if (r && r != -EV_NEWER)
		evidence_part_free(ret);
	return r;
}

void evidence_part_free(struct evidence_part *p)
{
	for (uint32_t i = 0; i < p->npeers; i++)
		ev_peer_free(&p->peer[i]);
	free(p->peer);
	free(p->line);
	free(p->proof);
	memset(p, 0, sizeof(*p));
}
