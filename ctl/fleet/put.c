// SPDX-License-Identifier: GPL-2.0-or-later
/* See put.h. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include "believe.h"
#include "put.h"
#include "signed/closing.h"
#include "signed/payload.h"

void fleet_pending_prefix(const struct fleet *f, char prefix[static BWL_ETCD_KEY_MAX])
{
	snprintf(prefix, BWL_ETCD_KEY_MAX, "%s/pending", f->conf.prefix);
}

void fleet_put_done(struct fleet_put *p)
{
	bwl_signed_free(&p->d);
}

static int refuse(struct bwl_err *e, const char *id, const char *what, const struct bwl_signed *d,
		  const char *hint)
{
	bwl_fail(e, EEXIST, "%s %s: %s", bwl_signed_word(d->type), d->terms.name, what);
	e->id = id;
	return bwl_hint(e, "%s", hint);
}

static bool says_something_else(const struct bwl_signed *a, const struct bwl_signed *b)
{
	uint8_t x[32], y[32];

	if (!bwl_closes(a->type))
		return false;
	bwl_closing_what(a, x);
	bwl_closing_what(b, y);
	return memcmp(x, y, sizeof(x));
}

/* Refuses what a tray that has the old document would refuse. */
static int compare(struct fleet *f, const struct bwl_signed *old, const struct bwl_signed *d)
{
	const struct bwl_signed_terms *a = &old->terms, *b = &d->terms;
	char what[128];

	if (b->epoch >= a->epoch && a->not_after_s > time(NULL) && says_something_else(old, d))
		return refuse(
			&f->c->err, "signed-conflict",
			"a document of this name in the store closes something else", d,
			"this one would take its place on trays that lack it: use another --name");
	if (b->epoch > a->epoch || (b->epoch == a->epoch && b->version > a->version))
		return 0;
	snprintf(what, sizeof(what), "version %llu of epoch %llu is in the store",
		 (unsigned long long)a->version, (unsigned long long)a->epoch);
	if (b->epoch < a->epoch || b->version < a->version)
		return refuse(&f->c->err, "signed-old", what, d,
			      "trays refuse an older one for ever: sign it with a higher --number");
	if (!memcmp(old->digest, d->digest, sizeof(d->digest)))
		return 0;
	return refuse(&f->c->err, "signed-conflict", what, d,
		      "its text differs: sign this one with a higher --number");
}

/*
 * A document that has grown, or shrunk, may be at the other kind of key. An existing one is checked
 * before it is replaced: most trays have none, so the store is first told to write on that
 * condition.
 */
static int put_one(struct fleet *f, const struct fleet_put *p, const char *prefix, const char *tray,
		   bool look, int64_t *ret_revision)
{
	char other[BWL_ETCD_KEY_MAX];
	struct bwl_etcd_put gone = { .key = other, .op = BWL_ETCD_DELETE };
	struct bwl_doc doc = { .prefix = prefix,
			       .tray = tray,
			       .kind = fleet_kind(p->d.type),
			       .name = p->d.terms.name,
			       .at = p->bytes,
			       .len = p->len,
			       .with = &gone,
			       .nwith = 1 };
	bool big = p->len > BWL_DOC_INLINE_MAX;
	int64_t was = BWL_ETCD_ANY;
	struct fleet_doc x;
	int r = bwl_doc_key(other, prefix, tray, doc.kind, doc.name, !big);

	if (r)
		return bwl_fail(&f->c->err, -r, "'%s' is too long a name", doc.name);
	if (look) {
		r = bwl_doc_publish(f->g, &doc, 0, ret_revision, &f->c->err);
		if (r != -EEXIST)
			return r;
		f->c->err = (struct bwl_err){ 0 };
	}
	gone.was = BWL_ETCD_ANY;
	if (look) {
		/* Trays judge a root, each by the root that it has. */
		r = f->root && p->d.type != BWL_SIGNED_ROOT
			    ? fleet_doc_believe(f, tray, doc.kind, doc.name, &x)
			    : fleet_doc_read(f, prefix, tray, doc.kind, doc.name, &x);
		if (r == -EKEYREJECTED) { /* this one replaces it, whatever its version */
			r = 0;
		} else if (!r) {
			r = compare(f, &x.d, &p->d);
			was = x.big == big ? x.mod : BWL_ETCD_ANY;
			fleet_doc_done(&x);
		} else if (r == -ENOENT) {
			r = 0;
			was = 0;
		}
	}
	return r ? r : bwl_doc_publish(f->g, &doc, was, ret_revision, &f->c->err);
}

/* As a tray would judge it; without a root only by its own claims. */
static int judge(struct fleet *f, struct fleet_put *p)
{
	struct bwl_err *e = &f->c->err;
	int64_t now_s = time(NULL);
	int r = bwl_signed_peek(p->bytes, p->len, &p->d, e);

	if (!r)
		r = fleet_is_ours(f, p->d.fleet);
	if (r || p->pending)
		return r;
	if (p->d.type == BWL_SIGNED_ROOT) {
		struct bwl_root *root = NULL;

		r = !f->root || !memcmp(bwl_root_digest(f->root), p->d.digest, 32)
			    ? bwl_root_first(p->bytes, p->len, &root, e)
			    : bwl_root_next(f->root, p->bytes, p->len, &root, e);
		bwl_root_free(root);
	} else if (f->root) {
		bwl_signed_free(&p->d);
		r = bwl_signed_open(p->bytes, p->len, f->root, NULL, now_s, &p->d, e);
		p->judged = !r;
	} else if (p->d.terms.not_after_s <= now_s) {
		r = bwl_fail(e, ETIME, "it has expired: trays refuse it");
		e->id = "signed-expired";
	}
	if (r && p->file)
		snprintf(e->file, sizeof(e->file), "%s", p->file);
	return r;
}

/* A tray whose answer is not awaited: the others shut it out. */
static void leave_out(struct fleet *f, struct fleet_put *p, const char *name)
{
	struct fleet_tray *t = fleet_tray(f, name);

	if (t && t->chosen) {
		t->chosen = false;
		p->ntrays--;
	}
}

int fleet_put(struct fleet *f, struct fleet_put *p)
{
	char pending[BWL_ETCD_KEY_MAX];
	int r = judge(f, p);

	if (!r && p->pending) {
		fleet_pending_prefix(f, pending);
		return put_one(f, p, pending, NULL, false, &p->revision);
	}
	if (!r)
		r = fleet_trays(f);
	if (!r)
		r = fleet_choose(f, p->d.audience, &p->ntrays);
	if (!r && p->d.type == BWL_SIGNED_EXPULSION)
		leave_out(f, p, bwl_payload_text(p->d.body, "tray"));
	if (!r && !strcmp(p->d.audience, "all")) {
		r = put_one(f, p, f->conf.prefix, NULL, true, &p->revision);
		/* where its labels are looked up later */
		if (!r && p->d.type == BWL_SIGNED_ENROLMENT)
			r = put_one(f, p, f->conf.prefix, bwl_payload_text(p->d.body, "tray"), true,
				    &p->revision);
		return r;
	}
	for (size_t i = 0; !r && i < f->n; i++) {
		int64_t revision;

		if (!f->tray[i].chosen)
			continue;
		r = put_one(f, p, f->conf.prefix, f->tray[i].name, true, &revision);
		if (!r && !p->revision)
			p->revision = revision; /* the first revision: the watch begins there */
	}
	return r;
}

int fleet_pending_drop(struct fleet *f, const struct bwl_signed *d)
{
	char prefix[BWL_ETCD_KEY_MAX], key[2][BWL_ETCD_KEY_MAX];
	struct bwl_etcd_put gone[2];
	struct fleet_doc x;
	int64_t revision;
	bool same;
	int r;

	fleet_pending_prefix(f, prefix);
	r = fleet_doc_read(f, prefix, NULL, fleet_kind(d->type), d->terms.name, &x);
	if (r)
		return r == -ENOENT ? 0 : r;
	same = !memcmp(x.d.digest, d->digest, sizeof(d->digest));
	fleet_doc_done(&x);
	if (!same)
		return 0;
	for (unsigned i = 0; i < 2; i++) {
		bwl_doc_key(key[i], prefix, NULL, fleet_kind(d->type), d->terms.name, i);
		gone[i] = (struct bwl_etcd_put){ .key = key[i],
						 .op = BWL_ETCD_DELETE,
						 .was = BWL_ETCD_ANY };
	}
	return bwl_etcd_txn(f->g, gone, 2, &revision, &f->c->err);
}

void fleet_user_delete(struct fleet *f, struct fleet_put *p)
{
	const char *tray = bwl_payload_text(p->d.body, "tray");
	struct bwl_err e = { 0 };
	int r = bwl_etcd_user_delete(f->g, tray, &e);

	p->store_user = !r ? "deleted" : r == -EBUSY ? "none" : "kept";
	if (r && r != -EBUSY)
		bwl_warn("the store's user %.79s is not deleted: %.200s", tray, e.text);
	if (!r)
		bwl_audit("the store's user %s is deleted", tray);
}
