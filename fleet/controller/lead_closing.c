// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Closing documents, kept beside the documents. Signed times name them until they end, even if
 * somebody removed them from the store, so a new leader has to know them. And a tray that gets a
 * label later is given what closes for that label. The copies are the documents' own bytes, at
 * PREFIX/controller/closing/-/SHA256: whoever can write there cannot create anything that people
 * did not sign.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include "bwl/encode.h"
#include "lead.h"
#include "signed/closing.h"

#define ENDED_MAX 64 /* cleared away by one leader; the next one clears the rest */
#define STEP_MAX 32  /* copied in one step */

struct reading {
	struct lead *l;
	int64_t now_s;
	char ended[ENDED_MAX][BWL_ETCD_KEY_MAX];
	unsigned n;
};

/* According to a signed time: this machine's clock may be wrong, and a deletion is final. */
static bool has_ended(const struct view *v, const char *at, size_t len)
{
	struct bwl_signed d;
	bool ended;

	if (bwl_signed_peek(at, len, &d, NULL))
		return false;
	ended = d.terms.not_after_s <= v->time.issued_s;
	bwl_signed_free(&d);
	return ended;
}

static int take(void *arg, const struct bwl_etcd_kv *kv)
{
	size_t len = bwl_pb_len(kv->value), n = bwl_pb_len(kv->key);
	const char *at = (const char *)kv->value.at;
	struct reading *r = arg;
	struct view *v = r->l->v;
	struct bwl_err e = { 0 };
	struct bwl_signed d;

	if (!bwl_signed_open(at, len, v->root, NULL, r->now_s, &d, &e)) {
		if (bwl_closes(d.type))
			view_take_closing(v, &d, NULL, NULL);
		view_closing_kept(v, d.digest);
		bwl_signed_free(&d);
	} else if (e.id && !strcmp(e.id, "signed-expired") && r->n < ENDED_MAX &&
		   n < BWL_ETCD_KEY_MAX && has_ended(v, at, len)) {
		memcpy(r->ended[r->n], kv->key.at, n);
		r->ended[r->n++][n] = '\0';
	}
	return 0;
}

int lead_closings_read(struct lead *l, struct bwl_err *e)
{
	BWL_AUTO_FREE struct reading *r = bwl_must(calloc(1, sizeof(*r)));
	char prefix[BWL_ETCD_KEY_MAX];
	int64_t revision = 0;
	int ret;

	if (!l->v->root)
		return 0;
	r->l = l;
	r->now_s = time(NULL);
	snprintf(prefix, sizeof(prefix), "%s/controller/closing/-/", l->c->o->prefix);
	view_closing_unkept(l->v);
	for (size_t i = 0; i < l->v->ntrays; i++)
		l->v->tray[i]->relabelled = l->v->tray[i]->enrolled.version;
	l->root_version = bwl_root_terms(l->v->root)->version;
	ret = bwl_etcd_values(l->g, prefix, take, r, &revision, e);
	for (unsigned i = 0; !ret && i < r->n; i++) {
		struct bwl_etcd_put gone = { .key = r->ended[i],
					     .op = BWL_ETCD_DELETE,
					     .was = BWL_ETCD_ANY };

		ret = lead_put(l, &gone, 1, e);
	}
	return ret;
}

static int copy_key(const struct lead *l, const struct view_closing *c,
		    char key[static BWL_ETCD_KEY_MAX])
{
	char hex[65];

	return lead_key(l, "closing", "", bwl_hex_encode(c->digest, sizeof(c->digest), hex), key);
}

/*
 * Copies the bytes that are in the store now. If they are gone or have changed there is nothing to
 * keep.
 */
static int keep(struct lead *l, struct view_closing *c, struct bwl_err *e)
{
	char from[BWL_ETCD_KEY_MAX], to[BWL_ETCD_KEY_MAX];
	const char *kind = bwl_signed_word(c->type);
	BWL_AUTO_FREE uint8_t *bytes = NULL;
	struct bwl_etcd_put put = { .key = to, .was = BWL_ETCD_ANY };
	struct bwl_signed d;
	bool same;
	int64_t mod;
	int r = bwl_doc_key(from, l->c->o->prefix, *c->tray ? c->tray : NULL,
			    bwl_doc_kind_of(kind, strlen(kind)), c->key_name, false);

	r = r ? r : bwl_doc_fetch(l->g, l->c->o->prefix, from, false, &bytes, &put.len, &mod, e);
	if (r == -ENOENT || r == -EUCLEAN || r == -EMSGSIZE)
		return 0;
	if (r)
		return r;
	if (bwl_signed_peek((const char *)bytes, put.len, &d, NULL))
		return 0;
	same = !memcmp(d.digest, c->digest, sizeof(d.digest));
	bwl_signed_free(&d);
	if (!same)
		return 0;
	put.value = bytes;
	r = copy_key(l, c, to);
	return r ? r : lead_put(l, &put, 1, e);
}

static int copy(struct lead *l, struct bwl_err *e)
{
	unsigned done = 0;

	/*
	 * Copies that the new root finds valid are named from now on, too, even if the store has no
	 * other copy.
	 */
	if (l->v->root && l->root_version != bwl_root_terms(l->v->root)->version) {
		int r = lead_closings_read(l, e);

		if (r)
			return r;
	}
	for (size_t i = 0; i < l->v->nclosing && done < STEP_MAX && !lead_is_late(l); i++) {
		struct view_closing *c = &l->v->closing[i];
		int r;

		if (c->kept || !*c->key_name)
			continue;
		done++;
		r = keep(l, c, e);
		if (r)
			return r;
		c->kept = true;
	}
	return 0;
}

static bool is_newer(const struct bwl_signed_terms *a, const struct bwl_signed_terms *b)
{
	return a->epoch > b->epoch || (a->epoch == b->epoch && a->version > b->version);
}

/*
 * The key under which it is given. If another document has the same name, each has a key of its
 * own: under one shared key they would replace each other again and again.
 */
static void key_name(const struct view_closing *c, bool own, char ret[static BWL_DOC_NAME_MAX])
{
	char hex[65];

	bwl_hex_encode(c->digest, sizeof(c->digest), hex);
	if (own) /* documents' names have BWL_NAME_LEN */
		snprintf(ret, BWL_DOC_NAME_MAX, "%.*s.%.16s", BWL_NAME_LEN - 1, c->name, hex);
	else
		snprintf(ret, BWL_DOC_NAME_MAX, "%s", c->name);
}

/* What is at a key where a tray has, or may be given, a closing document. */
enum there {
	THERE_NOT,   /* nothing, an older one, or one that people did not sign, which is reported */
	THERE_IS,    /* this one, or a newer one with the same content */
	THERE_OTHER, /* a valid one with other content */
};

/* tray NULL: the key for all trays. *ret_was: its revision; 0: there is nothing. */
static int look(struct lead *l, const char *tray, const struct view_closing *c, int64_t now_s,
		const char *name, enum there *ret, int64_t *ret_was, struct bwl_err *e)
{
	uint8_t what[32];
	struct bwl_err why = { 0 };
	const char *kind = bwl_signed_word(c->type);
	BWL_AUTO_FREE uint8_t *bytes = NULL;
	char key[BWL_ETCD_KEY_MAX];
	struct bwl_signed d;
	size_t len;
	int r = bwl_doc_key(key, l->c->o->prefix, tray, bwl_doc_kind_of(kind, strlen(kind)), name,
			    false);

	*ret = THERE_NOT;
	*ret_was = 0;
	r = r ? r : bwl_doc_fetch(l->g, l->c->o->prefix, key, false, &bytes, &len, ret_was, e);
	if (r)
		return r == -ENOENT ? 0 : r;
	if (bwl_signed_open((const char *)bytes, len, l->v->root, NULL, now_s, &d, &why)) {
		l->c->say(l->c, "trouble", tray, &why);
		return 0;
	}
	bwl_closing_what(&d, what);
	*ret = memcmp(what, c->what, sizeof(what)) ? THERE_OTHER
	       : is_newer(&c->terms, &d.terms)     ? THERE_NOT
						   : THERE_IS;
	bwl_signed_free(&d);
	return 0;
}

/* Gives the copy to the tray (NULL: to all), exactly as people signed it. */
static int give(struct lead *l, const char *tray, const struct view_closing *c, int64_t now_s,
		struct bwl_err *e)
{
	struct bwl_etcd_put fence = bwl_election_fence(l->el);
	char name[BWL_DOC_NAME_MAX];
	const char *kind = bwl_signed_word(c->type);
	struct bwl_doc doc = { .prefix = l->c->o->prefix,
			       .tray = tray,
			       .kind = bwl_doc_kind_of(kind, strlen(kind)),
			       .name = name,
			       .with = &fence,
			       .nwith = 1 };
	BWL_AUTO_FREE uint8_t *bytes = NULL;
	char from[BWL_ETCD_KEY_MAX];
	int64_t was, mod, revision;
	struct bwl_signed d;
	enum there there;
	bool same;
	int r;

	key_name(c, c->shared, name);
	r = look(l, tray, c, now_s, name, &there, &was, e);
	/*
	 * No tray had to have both until this one got the label: this one goes beside the other,
	 * not in its place.
	 */
	if (!r && there == THERE_OTHER) {
		key_name(c, true, name);
		r = look(l, tray, c, now_s, name, &there, &was, e);
	}
	if (r || there == THERE_IS)
		return r;
	r = copy_key(l, c, from);
	r = r ? r : bwl_doc_fetch(l->g, l->c->o->prefix, from, false, &bytes, &doc.len, &mod, e);
	if (r)
		return r == -ENOENT ? 0 : r;
	if (bwl_signed_peek((const char *)bytes, doc.len, &d, NULL))
		return 0;
	same = !memcmp(d.digest, c->digest, sizeof(d.digest));
	bwl_signed_free(&d);
	if (!same)
		return 0;
	doc.at = bytes;
	return bwl_doc_publish(l->g, &doc, was, &revision, e);
}

/*
 * A closing document for a label was published to the trays that had the label then. A tray that
 * gets the label by a later enrolment is given it, too: an enrolment opens nothing.
 */
static int give_labels(struct lead *l, struct view_tray *t, int64_t now_s, unsigned *done,
		       struct bwl_err *e)
{
	bool later = false;

	for (size_t i = 0; i < l->v->nclosing; i++) {
		const struct view_closing *c = &l->v->closing[i];
		int r;

		if (!strstr(c->audience, "label:") || !view_closes_still(l->v, c, now_s) ||
		    !view_is_of(l->v, c->audience, t))
			continue;
		later |= !c->kept && *c->key_name;
		if (!c->kept)
			continue;
		if (lead_is_late(l))
			return 0;
		++*done;
		r = give(l, t->name, c, now_s, e);
		if (r)
			return r;
	}
	t->relabelled = later;
	return 0;
}

/*
 * If two documents have one name but different content, one replaces the other in the store: so
 * each is given under a key of its own, to all trays or to each tray that it is for.
 */
static int give_shared(struct lead *l, struct view_closing *c, int64_t now_s, struct bwl_err *e)
{
	int r = 0;

	if (!c->shared || c->given || !c->kept || !view_closes_still(l->v, c, now_s))
		return 0;
	if (!strcmp(c->audience, "all"))
		r = give(l, NULL, c, now_s, e);
	else
		for (size_t i = 0; !r && i < l->v->ntrays; i++) {
			if (lead_is_late(l))
				return 0;
			if (view_is_of(l->v, c->audience, l->v->tray[i]))
				r = give(l, l->v->tray[i]->name, c, now_s, e);
		}
	c->given = !r;
	return r;
}

int lead_closings(struct lead *l, int64_t now_s, struct bwl_err *e)
{
	unsigned done = 0;
	int r = copy(l, e);

	for (size_t i = 0; !r && i < l->v->nclosing && !lead_is_late(l); i++)
		r = give_shared(l, &l->v->closing[i], now_s, e);
	for (size_t i = 0; !r && i < l->v->ntrays && done < STEP_MAX && !lead_is_late(l); i++)
		if (l->v->tray[i]->relabelled)
			r = give_labels(l, l->v->tray[i], now_s, &done, e);
	return r;
}
