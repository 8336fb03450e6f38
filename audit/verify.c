// SPDX-License-Identifier: GPL-2.0-or-later
/* See verify.h. One pass; memory is bounded by the number of old checkpoints. */
#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include "verify.h"

struct place {
	char file[BWL_AUDIT_NAME];
	uint64_t offset;
};

struct run {
	const struct bwl_note_key *key;
	const struct bwl_checkpoint *old;
	struct {
		bool reached, done, bad;
		bool within;          /* it is within records that are known as one hash */
		struct bwl_hash root; /* this log's root at that size */
		struct place at;
	} * state;
	size_t nold;
	void (*fn)(const struct bwl_audit_problem *p, void *arg);
	void *arg;
	struct bwl_audit_result *ret;
	struct bwl_frontier f; /* of what was read, or of what was signed */
	bool begun;            /* f is known */
	bool lost;             /* a fault was reported; f is wrong until the next checkpoint */
	uint64_t signed_n;     /* size of the last good checkpoint */
	struct place since;    /* where that checkpoint's line ends, and what follows it begins */
	struct place at;       /* end of the last item */
	bool torn;             /* the last item was torn: harmless only at the very end */
	bool kept_ok;          /* the kept part of the file is what was signed */
};

const char *bwl_audit_fault_name(enum bwl_audit_fault f)
{
	static const char *const names[_BWL_FAULT_MAX] = {
		"bad-line", "order", "changed", "checkpoint", "missing",
		"cut",      "fork",  "gone",    "torn",       "damaged",
	};

	return f < _BWL_FAULT_MAX ? names[f] : "unknown";
}

static void problem(struct run *r, enum bwl_audit_fault fault, uint64_t from, uint64_t to,
		    const struct place *p, uint64_t end, const char *fmt, ...)
{
	struct bwl_audit_problem x = {
		.fault = fault, .from = from, .to = to, .offset = p->offset, .end = end
	};
	va_list ap;

	strcpy(x.file, p->file);
	va_start(ap, fmt);
	vsnprintf(x.text, sizeof(x.text), fmt, ap);
	va_end(ap);
	r->ret->problems++;
	r->fn(&x, r->arg);
}

/* The size of an old checkpoint is reached. Whether the root is the signed one turns out later. */
static void reach(struct run *r)
{
	for (size_t i = 0; i < r->nold; i++) {
		if (r->state[i].done || r->old[i].size != r->f.n)
			continue;
		r->state[i].reached = true;
		r->state[i].at = r->at;
		bwl_frontier_root(&r->f, &r->state[i].root);
	}
}

/* The state since the last checkpoint is wrong: it must not be compared with old checkpoints. */
static void forget(struct run *r)
{
	for (size_t i = 0; i < r->nold; i++)
		r->state[i].reached &= r->state[i].done;
}

static void compare(struct run *r)
{
	for (size_t i = 0; i < r->nold; i++) {
		uint64_t before = r->ret->first, n = r->old[i].size;

		if (!r->state[i].reached || r->state[i].done)
			continue;
		r->state[i].done = true;
		if (bwl_hash_equal(&r->state[i].root, &r->old[i].root))
			continue;
		r->state[i].bad = true;
		for (size_t j = 0; j < r->nold; j++)
			if (r->state[j].done && !r->state[j].bad && r->old[j].size < n &&
			    r->old[j].size > before)
				before = r->old[j].size;
		problem(r, BWL_FAULT_FORK, before, n, &r->state[i].at, 0,
			"the old checkpoint of %llu records covers other records: this log was forked or rewritten somewhere in records %llu to %llu",
			(unsigned long long)n, (unsigned long long)before,
			(unsigned long long)n - 1);
	}
}

static void add_leaf(struct run *r, const struct bwl_hash *leaf)
{
	bwl_frontier_add(&r->f, leaf);
	if (!r->lost)
		reach(r);
}

/* false: it does not belong here. */
static bool add_node(struct run *r, const struct bwl_audit_item *i)
{
	uint64_t was = r->f.n;

	if (!i->kept || !r->begun || !bwl_frontier_add_node(&r->f, i->bits, &i->leaf))
		return false;
	r->ret->hashed += r->f.n - was;
	r->ret->pruned += r->kept_ok ? r->f.n - was : 0;
	for (size_t n = 0; n < r->nold; n++)
		r->state[n].within |= r->old[n].size > was && r->old[n].size < r->f.n;
	if (!r->lost)
		reach(r);
	return true;
}

static uint64_t number(const json_t *data, const char *key)
{
	json_int_t v = json_integer_value(json_object_get(data, key));

	return v > 0 ? (uint64_t)v : 0;
}

/* Handles what the writer recorded when it pruned, or could not. */
static void on_pruning(struct run *r, const struct bwl_audit_item *i, const struct place *here)
{
	const char *event = json_string_value(json_object_get(i->json, "event"));
	const json_t *data = json_object_get(i->json, "data");
	struct bwl_audit_damage d;

	if (event && !strcmp(event, "pruned") && json_is_true(json_object_get(data, "removed")) &&
	    number(data, "to") > r->ret->removed)
		r->ret->removed = number(data, "to");
	if (bwl_audit_tells_damage(i, &d))
		problem(r, BWL_FAULT_DAMAGED, d.from, d.to, here, i->offset + i->len + 1,
			"record %llu reports damage in records %llu to %llu, found while pruning",
			(unsigned long long)i->n, (unsigned long long)d.from,
			(unsigned long long)d.to - (d.to > d.from));
}

bool bwl_audit_tells_damage(const struct bwl_audit_item *i, struct bwl_audit_damage *ret)
{
	const char *event = json_string_value(json_object_get(i->json, "event"));
	const json_t *d = json_object_get(json_object_get(i->json, "data"), "damaged");

	if (i->kind != BWL_AUDIT_RECORD || !event || !d ||
	    (strcmp(event, "pruned") && strcmp(event, "damaged")))
		return false;
	ret->from = number(d, "from");
	ret->to = number(d, "to");
	return true;
}

static void on_record(struct run *r, const struct bwl_audit_item *i, const struct place *here)
{
	uint64_t want = r->f.n;

	if (!r->begun) {
		r->begun = true;
		problem(r, BWL_FAULT_CHECKPOINT, i->n, i->n, here, 0,
			"the file does not begin with a checkpoint");
		r->lost = true;
	}
	if (i->n != want && !r->lost) {
		problem(r, i->n > want ? BWL_FAULT_MISSING : BWL_FAULT_ORDER, want,
			i->n > want ? i->n : want + 1, here, i->offset + i->len + 1,
			"expected record %llu here but found record %llu", (unsigned long long)want,
			(unsigned long long)i->n);
		r->lost = true;
	}
	add_leaf(r, &i->leaf);
	on_pruning(r, i, here);
}

/* The first line of a file's kept part is signed and covers the others. */
static void on_kept_head(struct run *r, const struct bwl_audit_item *i,
			 const struct bwl_checkpoint *c, const struct place *here)
{
	char hash[BWL_HASH_TEXT];
	const char *said = c->extension + strlen(BWL_AUDIT_KEPT_EXTENSION);

	r->kept_ok = !strncmp(c->extension, BWL_AUDIT_KEPT_EXTENSION,
			      (size_t)(said - c->extension)) &&
		     !strcmp(said, bwl_hash_format(i->rest, hash));
	if (!r->kept_ok)
		problem(r, BWL_FAULT_CHANGED, c->size, c->size, here, 0,
			"what was kept of the records from %llu on does not match what was signed",
			(unsigned long long)c->size);
}

static void on_checkpoint(struct run *r, const struct bwl_audit_item *i, const struct place *here)
{
	uint64_t end = i->offset + i->len + 1, known = r->f.n;
	struct bwl_checkpoint c;
	struct bwl_frontier f;
	struct bwl_err e = { 0 };
	struct bwl_hash root;

	r->ret->checkpoints++;
	if (bwl_checkpoint_open(r->key, i->note, i->note_len, &c, &e)) {
		problem(r, BWL_FAULT_CHECKPOINT, known, known, here, end,
			"a checkpoint that is not valid: %.200s", e.text);
		return;
	}
	if (!bwl_audit_frontier(i, &c, &f)) {
		problem(r, BWL_FAULT_CHECKPOINT, c.size, c.size, here, end,
			"the hashes beside the checkpoint of %llu records are not those it covers",
			(unsigned long long)c.size);
		return;
	}
	if (i->rest)
		on_kept_head(r, i, &c, here);
	bwl_frontier_root(&r->f, &root);
	if (!r->begun)
		r->ret->first = c.size;
	else if (!r->lost && c.size != known)
		problem(r, BWL_FAULT_MISSING, c.size < known ? c.size : known,
			c.size < known ? known : c.size, here, end,
			"a checkpoint over %llu records, but %llu are before it",
			(unsigned long long)c.size, (unsigned long long)known);
	else if (!r->lost && !bwl_hash_equal(&root, &c.root))
		problem(r, BWL_FAULT_CHANGED, r->signed_n, c.size,
			!strcmp(r->since.file, here->file) ? &r->since : here, i->offset,
			"records %llu to %llu are not those that were signed",
			(unsigned long long)r->signed_n,
			(unsigned long long)c.size - (c.size > r->signed_n));
	else if (r->lost && c.size < r->signed_n)
		problem(r, BWL_FAULT_ORDER, c.size, r->signed_n, here, end,
			"a checkpoint over %llu records after one over %llu",
			(unsigned long long)c.size, (unsigned long long)r->signed_n);
	if (r->lost || c.size != known || !bwl_hash_equal(&root, &c.root))
		forget(r);
	r->f = f;
	r->begun = true;
	r->lost = false;
	r->signed_n = c.size;
	r->ret->has_last = true;
	r->ret->last = c;
	reach(r);
	compare(r);
	strcpy(r->since.file, here->file);
	r->since.offset = end;
}

static int on_item(const struct bwl_audit_item *i, void *arg)
{
	struct run *r = arg;
	struct place here = { .offset = i->offset };

	strcpy(here.file, i->file);
	if (r->torn) {
		problem(r, BWL_FAULT_TORN, r->f.n, r->f.n, &r->at, 0,
			"a line is cut off, but the log goes on in another file");
		r->lost = true;
	}
	r->torn = false;
	if (i->rest)
		r->kept_ok = false;
	if (i->rest && i->kind == BWL_AUDIT_RECORD)
		problem(r, BWL_FAULT_CHECKPOINT, i->n, i->n, &here, 0,
			"what was kept of a file does not begin with a checkpoint");
	switch (i->kind) {
	case BWL_AUDIT_RECORD:
		on_record(r, i, &here);
		break;
	case BWL_AUDIT_CHECKPOINT:
		on_checkpoint(r, i, &here);
		break;
	case BWL_AUDIT_LEAF:
		/*
		 * nothing is known about what was before them: the log begins at the next
		 * checkpoint
		 */
		if (!r->begun && i->n)
			break;
		r->begun = true;
		r->ret->hashed++;
		r->ret->pruned += i->kept && r->kept_ok;
		add_leaf(r, &i->leaf);
		break;
	case BWL_AUDIT_NODE:
		if (add_node(r, i))
			break;
		/* fall through */
	case BWL_AUDIT_BAD:
		problem(r, BWL_FAULT_BAD, r->f.n, r->f.n + 1, &here, i->offset + i->len + 1,
			"neither a record nor a checkpoint, where record %llu is expected",
			(unsigned long long)r->f.n);
		r->lost = true;
		break;
	case BWL_AUDIT_TORN:
		r->torn = true;
		r->ret->torn_bytes = i->len;
		break;
	}
	r->at = here;
	if (i->kind != BWL_AUDIT_TORN)
		r->at.offset += i->len + (i->kind != BWL_AUDIT_LEAF);
	return 0;
}

static void finish(struct run *r)
{
	compare(r);
	for (size_t i = 0; i < r->nold; i++) {
		uint64_t n = r->old[i].size;

		if (r->state[i].done)
			continue;
		if (n > r->f.n || !r->begun)
			problem(r, BWL_FAULT_CUT, r->f.n, n, &r->at, 0,
				"the old checkpoint covers %llu records, but the log ends after %llu",
				(unsigned long long)n, (unsigned long long)r->f.n);
		else if (n < r->ret->first)
			problem(r, BWL_FAULT_GONE, n, r->ret->first, &r->at, 0,
				"the old checkpoint of %llu records cannot be compared: records before %llu were %s",
				(unsigned long long)n, (unsigned long long)r->ret->first,
				r->ret->removed >= r->ret->first
					? "removed to keep the log within its size, as a record states"
					: "removed without their hashes");
		else
			problem(r, BWL_FAULT_GONE, n, n, &r->at, 0,
				"the old checkpoint of %llu records cannot be compared%s",
				(unsigned long long)n,
				r->state[i].within
					? ": the records around it were pruned to one hash"
					: ", because of the damage above");
	}
	r->ret->records = r->f.n;
	r->ret->unsigned_records = r->f.n - (r->f.n < r->signed_n ? r->f.n : r->signed_n);
	if (!r->torn)
		r->ret->torn_bytes = 0;
	if (!r->ret->has_last)
		problem(r, BWL_FAULT_CHECKPOINT, 0, 0, &r->at, 0,
			"no checkpoint of this key is in the log");
}

int bwl_audit_verify(const char *dir, const struct bwl_note_key *k,
		     const struct bwl_checkpoint *old, size_t nold,
		     void (*fn)(const struct bwl_audit_problem *p, void *arg), void *arg,
		     struct bwl_audit_result *ret, struct bwl_err *e)
{
	struct run r = { .key = k, .old = old, .nold = nold, .fn = fn, .arg = arg, .ret = ret };
	int err;

	memset(ret, 0, sizeof(*ret));
	r.state = calloc(nold + 1, sizeof(*r.state));
	if (!r.state)
		return bwl_fail(e, ENOMEM, "out of memory");
	reach(&r); /* of an empty log, which is the same for everybody */
	compare(&r);
	err = bwl_audit_scan(dir, on_item, &r, e);
	if (!err)
		finish(&r);
	free(r.state);
	return err;
}

struct one {
	struct run run;
	const struct bwl_audit_file *file;
	size_t mine;
	bwl_audit_fn each;
	bool ended;
};

static int on_one(const struct bwl_audit_item *i, void *arg)
{
	struct one *x = arg;
	bool mine = false;

	for (size_t n = 0; n < x->mine; n++)
		mine |= !strcmp(i->file, x->file[n].name) || !strcmp(i->file, x->file[n].kept);
	on_item(i, &x->run);
	if (mine)
		return x->each(i, x->run.arg);
	x->ended = i->kind == BWL_AUDIT_CHECKPOINT;
	return x->ended;
}

int bwl_audit_verify_files(const char *dir, const struct bwl_audit_file *file, size_t mine,
			   size_t n, const struct bwl_note_key *k, bwl_audit_fn each,
			   void (*fn)(const struct bwl_audit_problem *p, void *arg), void *arg,
			   struct bwl_err *e)
{
	struct bwl_audit_result result = { 0 };
	struct one x = { .run = { .key = k, .fn = fn, .arg = arg, .ret = &result },
			 .file = file,
			 .mine = mine,
			 .each = each };
	int r = bwl_audit_scan_files(dir, file, n, on_one, &x, e);

	if (r >= 0 && !x.ended)
		problem(&x.run, BWL_FAULT_MISSING, x.run.f.n, x.run.f.n, &x.run.at, 0,
			"no checkpoint follows these records");
	return r < 0 ? r : 0;
}

struct latest {
	const struct bwl_note_key *key;
	char *note;
	struct bwl_checkpoint *c;
	bool any;
};

static int on_latest(const struct bwl_audit_item *i, void *arg)
{
	struct latest *l = arg;
	struct bwl_checkpoint c;

	if (i->kind != BWL_AUDIT_CHECKPOINT || i->note_len >= BWL_NOTE_MAX ||
	    bwl_checkpoint_open(l->key, i->note, i->note_len, &c, NULL))
		return 0;
	memcpy(l->note, i->note, i->note_len);
	l->note[i->note_len] = '\0';
	*l->c = c;
	l->any = true;
	return 0;
}

int bwl_audit_latest(const char *dir, const struct bwl_note_key *k, char ret[static BWL_NOTE_MAX],
		     struct bwl_checkpoint *ret_c, struct bwl_err *e)
{
	struct latest l = { .key = k, .note = ret, .c = ret_c };
	int r = bwl_audit_scan(dir, on_latest, &l, e);

	if (!r && !l.any)
		r = bwl_fail(e, ENOENT, "%s has no checkpoint of the key %s", dir, k->name);
	return r;
}
