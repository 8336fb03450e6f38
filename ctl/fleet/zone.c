// SPDX-License-Identifier: GPL-2.0-or-later
/* See zone.h. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include "../signed.h"
#include "bwl/cleanup.h"
#include "says.h"
#include "signed/payload.h"
#include "zone.h"

/* An order that closes waits no longer for the question whether its names are known. */
#define LOOK_NS (5 * 1000000000ULL)
#define LOOK_TEXT "5 s"

/* A policy that a tray may refuse, because it widens and too few signed it; name empty: none. */
struct weak {
	char name[BWL_DOC_NAME_MAX];
	unsigned people;
};

struct zone {
	struct fleet *f;
	const char *name;      /* NULL: every peer, whoever signed the policy */
	const char *assume;    /* trays, by name, or `all`; NULL: none */
	json_t *peers;         /* names, as keys */
	uint8_t (*digest)[32]; /* of the policies that were read */
	size_t n;
	struct weak weak;
	uint64_t until_ns;   /* of names alone: no reading after this; 0: for ever */
	struct bwl_err part; /* of names alone: why not all was read; code 0: it was */
};

static int unknown(struct bwl_err *e, int r)
{
	bwl_hint(e, "nothing was revoked: revoke by name, or --all without --zone");
	return r;
}

/*
 * A writer of the store could leave a peer out of a zone, and the revocation would miss it. A
 * policy that has only expired is used nevertheless: more is closed, not less.
 */
static int is_theirs(struct zone *z, const struct fleet_doc *x)
{
	struct bwl_err why = { 0 };
	struct bwl_signed d = { 0 };
	int r;

	if (!z->f->root)
		return 0;
	r = bwl_signed_open((const char *)x->bytes, x->len, z->f->root, NULL, time(NULL), &d, &why);
	if (!r && !d.enough) {
		snprintf(z->weak.name, sizeof(z->weak.name), "%s", d.terms.name);
		z->weak.people = d.people;
	}
	bwl_signed_free(&d);
	if (!r || (why.id && !strcmp(why.id, "signed-expired")))
		return 0;
	return unknown(
		&z->f->c->err,
		bwl_fail(&z->f->c->err, EKEYREJECTED,
			 "policy %.79s in the store: %.150s; so it is not known who is in the zone",
			 x->d.terms.name, why.text));
}

static int take(struct zone *z, const struct fleet_doc *x)
{
	const struct bwl_signed *d = &x->d;
	const char *text = bwl_payload_text(d->body, "text");
	struct bwl_policy *p = NULL;
	int r = z->name ? is_theirs(z, x) : 0;

	if (!r)
		r = bwl_policy_parse(d->terms.name, text, strlen(text), bwl_now_ns(), time(NULL),
				     &p, &z->f->c->err);
	if (r)
		return r;
	for (size_t i = 0; i < p->npeers; i++)
		if (!z->name || !strcmp(p->peers[i].zone, z->name))
			json_object_set_new(z->peers, p->peers[i].name, json_true());
	bwl_policy_free(p);
	if (!(z->n & (z->n - 1)))
		z->digest = bwl_must(
			reallocarray(z->digest, z->n ? 2 * z->n : 1, sizeof(*z->digest)));
	memcpy(z->digest[z->n++], d->digest, sizeof(*z->digest));
	return 0;
}

struct policies {
	const char *range;
	char (*name)[BWL_DOC_NAME_MAX];
	size_t n;
};

static int take_name(void *arg, const struct bwl_etcd_kv *kv)
{
	struct policies *l = arg;
	struct bwl_doc_at at;

	if (bwl_doc_parse_key(l->range, (const char *)kv->key.at, bwl_pb_len(kv->key), &at) ||
	    at.kind != BWL_DOC_policy)
		return 0;
	if (!(l->n & (l->n - 1)))
		l->name = bwl_must(reallocarray(l->name, l->n ? 2 * l->n : 1, sizeof(*l->name)));
	memcpy(l->name[l->n++], at.name, sizeof(at.name));
	return 0;
}

static int of_rollout(struct zone *z, const char *tray, const char *name);

static bool is_late(const struct zone *z)
{
	return z->until_ns && bwl_now_ns() > z->until_ns;
}

static int of_range(struct zone *z, const char *tray)
{
	char range[BWL_ETCD_KEY_MAX];
	struct policies l = { .range = range };
	int64_t revision = 0;
	int r = bwl_doc_range(range, z->f->conf.prefix, tray);

	if (!r)
		r = bwl_etcd_keys(z->f->g, range, take_name, &l, &revision, &z->f->c->err);
	for (size_t i = 0; !r && i < l.n; i++) {
		struct fleet_doc x;

		if (is_late(z))
			break;
		r = fleet_doc_read(z->f, z->f->conf.prefix, tray, BWL_DOC_policy, l.name[i], &x);
		if (!r) {
			r = take(z, &x);
			fleet_doc_done(&x);
		} else if (r == -ENOENT) {
			r = 0;
		}
		if (!z->name) { /* what cannot be read makes no name known */
			of_rollout(z, tray ? tray : "-", l.name[i]);
			z->f->c->err = (struct bwl_err){ 0 };
			r = 0;
		}
	}
	free(l.name);
	return r;
}

static bool is_read(const struct zone *z, const struct tray_status *s)
{
	for (size_t i = 0; i < z->n; i++)
		if (!memcmp(z->digest[i], s->policy, sizeof(s->policy)))
			return true;
	return false;
}

/*
 * While a policy is rolled out, controllers keep the one that it replaces: it holds on the trays
 * that the rollout has not reached.
 */
static int of_rollout(struct zone *z, const char *tray, const char *name)
{
	struct fleet_doc x = { 0 };
	char key[BWL_ETCD_KEY_MAX];
	struct bwl_doc_head head;
	struct fleet *f = z->f;
	int r;

	if (snprintf(key, sizeof(key), "%s/controller/was/%s/%s", f->conf.prefix, tray, name) >=
	    (int)sizeof(key))
		return 0;
	r = bwl_doc_fetch(f->g, f->conf.prefix, key, false, &x.bytes, &x.len, &x.mod, &f->c->err);
	if (!r && !bwl_doc_parse_head((const char *)x.bytes, x.len, &head)) {
		fleet_doc_done(&x);
		x = (struct fleet_doc){ 0 };
		r = bwl_doc_fetch(f->g, f->conf.prefix, key, true, &x.bytes, &x.len, &x.mod,
				  &f->c->err);
	}
	if (r == -ENOENT || r == -EUCLEAN || r == -EMSGSIZE)
		return 0;
	if (!r && bwl_signed_peek((const char *)x.bytes, x.len, &x.d, NULL))
		r = 1; /* its content is unknown */
	if (!r && x.d.type == BWL_SIGNED_POLICY)
		r = take(z, &x);
	fleet_doc_done(&x);
	return r == 1 ? 0 : r;
}

/* By name, or by `all`, the user asserts that this tray holds what is in the store. */
enum assumed { ASSUMED_NOT, ASSUMED_WITH_ALL, ASSUMED_BY_NAME };

static enum assumed assumed(const struct zone *z, const char *tray)
{
	enum assumed a = ASSUMED_NOT;
	size_t n;

	for (const char *at = z->assume ? z->assume : ""; *at; at += n + (at[n] == ',')) {
		n = strcspn(at, ",");
		if (n == strlen(tray) && !memcmp(at, tray, n))
			return ASSUMED_BY_NAME;
		if (n == 3 && !memcmp(at, "all", n))
			a = ASSUMED_WITH_ALL;
	}
	return a;
}

/*
 * Its newest status, and whether that is its own, and recent: under a root only one signed by its
 * key is. Its lease in the store, or the lack of one, proves nothing: a writer of the store
 * controls it.
 */
static const struct tray_status *word_of(const struct zone *z, const struct fleet_tray *t,
					 bool *ret_own)
{
	const struct status_now now = { bwl_now_ns(), time(NULL) };
	bool is_there = t->status && !*t->last.refused && (z->f->root || t->alive);

	*ret_own = is_there &&
		   (!z->f->root || status_worth(&t->by, &t->last, &now) == STATUS_SIGNED);
	return is_there ? &t->status->s : NULL;
}

/* Why it is unknown what the tray holds, although nothing contradicts what was read. */
static void unsaid(const struct zone *z, const struct fleet_tray *t, struct bwl_err *why)
{
	const struct status_now now = { bwl_now_ns(), time(NULL) };

	if (z->f->root && t->status && status_doubt(&t->by, &t->last, &now, why))
		return;
	bwl_fail(why, ESTALE, "%s",
		 !t->status    ? "it has no status in the store"
		 : !z->f->root ? "it is offline"
			       : "no signed status says so: its enrolment names no key");
}

/* What contradicts what was read, in *why; 1: nothing does. */
static int against(struct zone *z, struct fleet_tray *t, const struct tray_status *s, bool own,
		   struct bwl_err *why)
{
	int r = 0;

	if (*t->last.refused)
		return bwl_fail(
			why, ESTALE,
			"what %.79s holds is not known, nor who is in the zone there: its status: %.200s",
			t->name, t->last.refused);
	if (s && s->has_policy) {
		if (!is_read(z, s))
			r = of_rollout(z, t->name, s->policy_name);
		if (!r && !is_read(z, s))
			r = of_rollout(z, "-", s->policy_name);
		if (r) {
			*why = z->f->c->err;
			return r;
		}
		if (!is_read(z, s))
			return bwl_fail(
				why, ESTALE,
				"%.79s holds policy %.79s, version %llu, which is not in the store: who is in the zone there is not known",
				t->name, s->policy_name, (unsigned long long)s->policy_version);
		if (own)
			return 1;
	}
	if (!*z->weak.name)
		return 1;
	return bwl_fail(
		why, ESTALE,
		"%.79s does not say what it holds, and policy %.79s in the store is signed by %u: it may hold another, with others in the zone",
		t->name, z->weak.name, z->weak.people);
}

static int refused(struct zone *z, const struct fleet_tray *t, const struct bwl_err *why, bool own)
{
	struct bwl_err *e = &z->f->c->err;

	*e = *why;
	if (own)
		return unknown(e, -ESTALE);
	bwl_hint(
		e,
		"nothing was revoked: revoke by name, or --all without --zone; where that tray is off for good, expel it, or give `--assume %.79s`: that it holds what is in the store",
		t->name);
	return -ESTALE;
}

/*
 * Is what that tray holds among what was read? It reports so itself, or the user asserts it: by
 * name unless the tray now reports otherwise itself, with `all` unless something contradicts it.
 */
static int held_by(struct zone *z, struct fleet_tray *t)
{
	enum assumed by = assumed(z, t->name);
	struct bwl_err why = { 0 }, text = { 0 };
	const struct tray_status *s;
	bool own, holds;
	int r = fleet_status_read(z->f, t);

	if (r)
		return r;
	s = word_of(z, t, &own);
	holds = own && s->has_policy;
	r = against(z, t, s, own, &why);
	if (r < 0 && r != -ESTALE)
		return r;
	if (r < 0 && (holds || by != ASSUMED_BY_NAME))
		return refused(z, t, &why, holds);
	if (r > 0 && own)
		return 0;
	if (r > 0) {
		unsaid(z, t, &text);
		bwl_fail(&why, ESTALE,
			 "what %.79s holds is not known, nor who is in the zone there: %.200s",
			 t->name, text.text);
		if (z->f->root && by == ASSUMED_NOT)
			return refused(z, t, &why, false);
	}
	bwl_warn("assumed: %.79s holds what is in the store; %.300s", t->name, why.text);
	return 0;
}

static int read_all(struct zone *z, const char *audience)
{
	struct fleet *f = z->f;
	struct weak of_all;
	size_t n;
	int r = fleet_trays(f);

	if (!r)
		r = fleet_choose(f, audience, &n);
	if (!r)
		r = of_range(z, NULL);
	of_all = z->weak;
	for (size_t i = 0; !r && i < f->n; i++) {
		if (!f->tray[i].chosen)
			continue;
		z->weak = of_all;
		r = of_range(z, f->tray[i].name);
		if (!r)
			r = held_by(z, &f->tray[i]);
	}
	/* The listing is made again when the document is put. */
	for (size_t i = 0; i < f->n; i++)
		f->tray[i].chosen = false;
	return r;
}

int fleet_zone_peers(struct fleet *f, const char *audience, const char *zone, const char *assume,
		     json_t **ret)
{
	struct zone z = { .f = f, .name = zone, .assume = assume, .peers = json_object() };
	const char *name;
	json_t *v;
	int r = read_all(&z, audience);

	if (!r && !json_object_size(z.peers)) {
		bwl_fail(&f->c->err, ENOENT, "no policy of these trays has a peer in zone '%.64s'",
			 zone);
		r = bwl_hint(&f->c->err, "`zones:` of a policy file names them");
	}
	if (!r && json_object_size(z.peers) > BWL_PAYLOAD_LIST_MAX) {
		bwl_fail(&f->c->err, E2BIG, "zone '%.64s' has %zu peer%s; a revocation names %u",
			 zone, json_object_size(z.peers), BWL_S(json_object_size(z.peers)),
			 BWL_PAYLOAD_LIST_MAX);
		r = bwl_hint(
			&f->c->err,
			"--zone needs --all: without it every grant of a tray or a label is revoked");
	}
	*ret = json_array();
	json_object_foreach(z.peers, name, v) json_array_append_new(*ret, json_string(name));
	json_decref(z.peers);
	free(z.digest);
	return r;
}

static bool all_known(const struct zone *z, const json_t *peers)
{
	const json_t *v;
	size_t i;

	json_array_foreach(peers, i,
			   v) if (!json_object_get(z->peers, json_string_value(v))) return false;
	return true;
}

static void look(struct zone *z, const char *tray)
{
	struct bwl_err *e = &z->f->c->err;
	int r = of_range(z, tray);

	if (!r && is_late(z))
		r = bwl_fail(e, ETIMEDOUT, "that takes more than " LOOK_TEXT);
	if (r && !z->part.code)
		z->part = *e;
	*e = (struct bwl_err){ 0 };
}

/* The trays are only asked for names that no policy for all has. */
static int read_until_known(struct zone *z, const char *audience, const json_t *peers)
{
	struct fleet *f = z->f;
	size_t n;
	int r = fleet_trays(f);

	z->until_ns = bwl_now_ns() + LOOK_NS;
	if (!r)
		r = fleet_choose(f, audience, &n);
	if (!r)
		look(z, NULL);
	for (size_t i = 0; !r && i < f->n && !all_known(z, peers); i++) {
		if (f->tray[i].chosen)
			look(z, f->tray[i].name);
		if (is_late(z))
			break;
	}
	for (size_t i = 0; i < f->n; i++)
		f->tray[i].chosen = false;
	return r;
}

static json_t *unknown_peer(const struct zone *z, const char *name)
{
	BWL_AUTO_FREE const char **names = bwl_must(
		calloc(json_object_size(z->peers) + 1, sizeof(*names)));
	const char *key, *near;
	size_t n = 0;
	json_t *v;

	json_object_foreach(z->peers, key, v) names[n++] = key;
	near = ctl_nearest(name, names);
	return json_pack("{s:s, s:o}", "peer", name, "why",
			 json_sprintf("no policy of these trays has such a peer%s%s%s",
				      near ? "; did you mean '" : "", near ? near : "",
				      near ? "'?" : ""));
}

int fleet_known_peers(struct fleet *f, const char *audience, json_t *peers, json_t **unknown)
{
	struct zone z = { .f = f, .peers = json_object() };
	int r = read_until_known(&z, audience, peers);

	if (!r && z.part.code && !all_known(&z, peers))
		bwl_warn(
			"not every policy could be read, so names that none has are ordered, too: %.300s; --unknown does not look",
			z.part.text);
	*unknown = json_array();
	for (size_t i = 0; !r && i < json_array_size(peers);) {
		const char *name = json_string_value(json_array_get(peers, i));

		if (json_object_get(z.peers, name) || z.part.code) {
			i++;
			continue;
		}
		json_array_append_new(*unknown, unknown_peer(&z, name));
		json_array_remove(peers, i);
	}
	json_decref(z.peers);
	free(z.digest);
	return r;
}
