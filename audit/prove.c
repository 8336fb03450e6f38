// SPDX-License-Identifier: GPL-2.0-or-later
/* See prove.h. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include "bwl/cleanup.h"
#include "grown.h"
#include "prove.h"

enum { NO_BEGIN = 1, ONE_HASH, DONE };

struct climb {
	struct bwl_prover p;
	bool begun;
	bool found; /* the record's own hash */
	struct bwl_audit_proven *ret;
};

/* The frontier with which a file begins describes everything before it, the largest node first. */
static void begin(struct climb *c, const struct bwl_frontier *f)
{
	for (unsigned b = 64; b-- > 0;)
		if (f->n >> b & 1)
			bwl_prover_node(&c->p, b, &f->node[b]);
	c->begun = true;
}

static void take_record(struct climb *c, const struct bwl_audit_item *i)
{
	c->found = true;
	c->ret->leaf = i->leaf;
	if (i->kind != BWL_AUDIT_RECORD)
		return;
	c->ret->line = strndup(i->line, i->len);
	if (!c->ret->line)
		abort();
}

static int on_climb(const struct bwl_audit_item *i, void *arg)
{
	struct climb *c = arg;
	struct bwl_checkpoint at;
	struct bwl_frontier f;

	if (c->begun && c->p.next >= c->p.n)
		return DONE;
	if (i->kind == BWL_AUDIT_CHECKPOINT && !c->begun) {
		/* any signer will do: the result is compared with a signed root */
		if (bwl_checkpoint_read(i->note, i->note_len, &at, NULL) || at.size > c->p.m ||
		    !bwl_audit_frontier(i, &at, &f))
			return NO_BEGIN;
		begin(c, &f);
		return 0;
	}
	if (i->kind != BWL_AUDIT_NODE && i->kind != BWL_AUDIT_RECORD && i->kind != BWL_AUDIT_LEAF)
		return 0;
	if (!c->begun)
		return NO_BEGIN;
	if (!i->bits && c->p.next == c->p.m)
		take_record(c, i);
	else if (c->p.next <= c->p.m && c->p.m - c->p.next < 1ULL << i->bits)
		return ONE_HASH;
	return bwl_prover_node(&c->p, i->bits, &i->leaf) ? 0 : ONE_HASH;
}

void bwl_audit_prefer_hashes(const char *dir, struct bwl_audit_file *file, size_t i, size_t n)
{
	for (; i + 1 < n; i++) {
		char name[BWL_AUDIT_NAME], path[BWL_AUDIT_PATH];
		struct stat st;

		if (file[i].least)
			continue;
		snprintf(name, sizeof(name), "log-%020llu.hashes",
			 (unsigned long long)file[i].first);
		if (bwl_audit_path(path, dir, name, NULL) || stat(path, &st) ||
		    (uint64_t)st.st_size != (file[i + 1].first - file[i].first) * 32)
			continue;
		strcpy(file[i].name, name);
		file[i].hashes = true;
		*file[i].kept = '\0';
	}
}

static int gone(const char *dir, uint64_t n, const struct climb *c, struct bwl_err *e)
{
	bwl_fail(
		e, ENOENT,
		c->p.next <= n
			? "record %llu was pruned to one hash with its neighbours in %s: there is no proof of it alone"
			: "records around the end of that checkpoint were pruned to one hash, so there is no proof of record %llu in it (%s)",
		(unsigned long long)n, dir);
	return bwl_hint(
		e,
		"a .tlog-proof that was made earlier stays valid; another record may be proven with a newer checkpoint");
}

/* One pass through the files. 0: c->p has a proof, and it is valid. */
static int climb(const char *dir, bool by_hashes, uint64_t n, const struct bwl_checkpoint *to,
		 struct climb *c, struct bwl_err *e)
{
	BWL_AUTO_FREE struct bwl_audit_file *file = NULL;
	struct bwl_audit_proven *ret = c->ret;
	size_t nfiles = 0, i = 0;
	int r = bwl_audit_files(dir, &file, &nfiles, e);

	if (r)
		return r;
	while (i < nfiles && file[i].first <= n)
		i++;
	if (by_hashes)
		bwl_audit_prefer_hashes(dir, file, i, nfiles);
	/*
	 * A file with only hashes does not say what was before it: then the scan begins at the
	 * previous file.
	 */
	for (r = NO_BEGIN; r == NO_BEGIN && i-- > 0;) {
		free(ret->line);
		ret->line = NULL;
		*c = (struct climb){ .ret = ret, .begun = !file[i].first };
		bwl_prover_begin_inclusion(&c->p, n, to->size);
		r = bwl_audit_scan_files(dir, file + i, nfiles - i, on_climb, c, e);
	}
	if (r == ONE_HASH)
		return gone(dir, n, c, e);
	if (r == NO_BEGIN)
		return bwl_fail(
			e, ENOENT,
			"record %llu, or what the proof of it needs, is not in %s: the log begins later",
			(unsigned long long)n, dir);
	if (r < 0)
		return r;
	if (c->found && c->p.next >= to->size &&
	    bwl_inclusion_holds(n, &ret->leaf, to->size, &to->root, c->p.hash, c->p.count))
		return 0;
	bwl_fail(e, EBADMSG,
		 "the log in %s is not the one of the checkpoint of %llu records, or is damaged",
		 dir, (unsigned long long)to->size);
	return bwl_hint(e, "bwlimit-ctl audit verify shows the place");
}

int bwl_audit_prove_record(const char *dir, const struct bwl_note_key *k, uint64_t n,
			   const char *note, size_t note_len, struct bwl_audit_proven *ret,
			   struct bwl_err *e)
{
	struct bwl_tlog_proof p = { .index = n };
	struct climb c = { .ret = ret };
	struct bwl_audit_mark mark;
	int r = 0;

	memset(ret, 0, sizeof(*ret));
	if (!note)
		r = bwl_audit_newest(dir, k, &mark, e);
	p.note = note ? note : mark.note;
	p.note_len = note ? note_len : strlen(mark.note);
	if (!r)
		r = bwl_checkpoint_open(k, p.note, p.note_len, &ret->c, e);
	if (!r && n >= ret->c.size)
		r = bwl_fail(
			e, ERANGE,
			"record %llu: must be below %llu, the number of records that the checkpoint covers",
			(unsigned long long)n, (unsigned long long)ret->c.size);
	if (r)
		return r;
	/*
	 * hashes beside lines may be damaged, and files may go while others prune: then a second
	 * try
	 */
	r = climb(dir, true, n, &ret->c, &c, e);
	if (r)
		r = climb(dir, false, n, &ret->c, &c, e);
	if (r) {
		bwl_audit_proven_free(ret);
		return r;
	}
	p.count = c.p.count;
	memcpy(p.hash, c.p.hash, sizeof(p.hash));
	ret->text = bwl_tlog_proof_format(&p);
	return 0;
}

void bwl_audit_proven_free(struct bwl_audit_proven *p)
{
	if (!p)
		return;
	free(p->text);
	free(p->line);
	memset(p, 0, sizeof(*p));
}
