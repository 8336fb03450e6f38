// SPDX-License-Identifier: GPL-2.0-or-later
/* See fleet.h. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <bwl/identity.h>
#include "../signed.h"
#include "believe.h"
#include "fleet.h"
#include "fleet/status/log.h"
#include "says.h"
#include "signed/payload.h"

static int open_server(struct fleet *f, const char *server)
{
	struct bwl_etcd_status s;
	struct bwl_err *e = &f->c->err;
	int r = bwl_grpc_open(server, &f->conf.tls, &f->g, e);

	if (!r)
		r = bwl_etcd_status(f->g, &s, e);
	if (!r && !s.leader)
		r = bwl_fail(e, EHOSTUNREACH, "%s has no leader: it cannot reach the other servers",
			     server);
	if (!r && !f->conf.accept_holes)
		r = bwl_etcd_version_ok(s.version, e);
	if (r) {
		bwl_grpc_close(f->g);
		f->g = NULL;
	}
	return r;
}

int fleet_open(struct ctl *c, struct fleet *f)
{
	int r = fleet_conf_settle(c, &f->conf);

	f->c = c;
	if (r)
		return r;
	if (!f->conf.nservers) {
		bwl_fail(&c->err, EINVAL, "no store is configured");
		return bwl_hint(&c->err,
				"servers = https://HOST:PORT in " FLEET_CONF ", or --servers");
	}
	for (unsigned i = 0; i < f->conf.nservers; i++) {
		r = open_server(f, f->conf.server[i]);
		if (!r)
			break;
	}
	if (!r && f->conf.root)
		r = ctl_signed_root(c, f->conf.root, &f->root);
	return r;
}

static void forget_trays(struct fleet *f)
{
	for (size_t i = 0; i < f->n; i++) {
		for (size_t k = 0; k < f->tray[i].nlabels; k++)
			free(f->tray[i].labels[k]);
		free(f->tray[i].labels);
		free(f->tray[i].status);
	}
	free(f->tray);
	f->tray = NULL;
	f->n = 0;
	f->labels_read = false;
}

void fleet_close(struct fleet *f)
{
	forget_trays(f);
	json_decref(f->tampering);
	bwl_root_free(f->root);
	bwl_grpc_close(f->g);
	fleet_conf_done(&f->conf);
}

struct roots {
	const char *range;
	char name[16][BWL_DOC_NAME_MAX];
	unsigned n;
};

static int take_root(void *arg, const struct bwl_etcd_kv *kv)
{
	struct roots *l = arg;
	struct bwl_doc_at at;

	if (l->n < 16 &&
	    !bwl_doc_parse_key(l->range, (const char *)kv->key.at, bwl_pb_len(kv->key), &at) &&
	    at.kind == BWL_DOC_root)
		memcpy(l->name[l->n++], at.name, sizeof(at.name));
	return 0;
}

/* The newest root, whatever roots are called in the store. */
static int newest_root(struct fleet *f, struct fleet_doc *ret)
{
	char range[BWL_ETCD_KEY_MAX];
	struct roots l = { .range = range };
	struct fleet_doc x;
	int64_t revision = 0;
	int r = bwl_doc_range(range, f->conf.prefix, NULL);

	*ret = (struct fleet_doc){ 0 };
	if (!r)
		r = bwl_etcd_keys(f->g, range, take_root, &l, &revision, &f->c->err);
	for (unsigned i = 0; !r && i < l.n; i++) {
		if (fleet_doc_read(f, f->conf.prefix, NULL, BWL_DOC_root, l.name[i], &x))
			continue;
		if (!ret->bytes || x.d.terms.version > ret->d.terms.version) {
			fleet_doc_done(ret);
			*ret = x;
		} else {
			fleet_doc_done(&x);
		}
	}
	return r ? r : ret->bytes ? 0 : -ENOENT;
}

int fleet_is_ours(struct fleet *f, const char *name)
{
	if (!f->conf.fleet || !strcmp(f->conf.fleet, name))
		return 0;
	bwl_fail(&f->c->err, EXDEV, "this desk belongs to fleet %.64s, not to fleet %.64s",
		 f->conf.fleet, name);
	return bwl_hint(&f->c->err, "fleet = NAME in " FLEET_CONF);
}

/* If no root is pinned, name and epoch are only what the store says: trays judge the result. */
int fleet_know(struct fleet *f)
{
	struct fleet_doc x;
	int r;

	if (f->root) {
		snprintf(f->name, sizeof(f->name), "%s", bwl_root_fleet(f->root));
		f->epoch = bwl_root_terms(f->root)->epoch;
	} else {
		r = newest_root(f, &x);
		if (r == -ENOENT) {
			bwl_fail(&f->c->err, ENOENT, "the store has no root, and none was given");
			return bwl_hint(&f->c->err, "root = FILE in " FLEET_CONF ", or --root");
		}
		if (r)
			return r;
		snprintf(f->name, sizeof(f->name), "%s", x.d.fleet);
		f->epoch = x.d.terms.epoch;
		fleet_doc_done(&x);
	}
	r = fleet_is_ours(f, f->name);
	if (r)
		return r;
	r = f->root ? fleet_doc_believe(f, NULL, BWL_DOC_timestamp, "time", &x)
		    : fleet_doc_read(f, f->conf.prefix, NULL, BWL_DOC_timestamp, "time", &x);
	if (!r) {
		if (x.d.terms.epoch > f->epoch)
			f->epoch = x.d.terms.epoch;
		fleet_doc_done(&x);
	}
	return r == -ENOENT || r == -EKEYREJECTED ? 0 : r;
}

static int by_name(const void *a, const void *b)
{
	return strcmp(((const struct fleet_tray *)a)->name, ((const struct fleet_tray *)b)->name);
}

struct fleet_tray *fleet_tray(struct fleet *f, const char *name)
{
	struct fleet_tray key = { 0 };

	if (!bwl_store_name_ok(name, strlen(name)))
		return NULL;
	snprintf(key.name, sizeof(key.name), "%s", name);
	return f->n ? bsearch(&key, f->tray, f->n, sizeof(key), by_name) : NULL;
}

static struct fleet_tray *append(struct fleet *f, const char *name, size_t len)
{
	if (!(f->n & (f->n - 1)))
		f->tray = bwl_must(reallocarray(f->tray, f->n ? 2 * f->n : 1, sizeof(*f->tray)));
	f->tray[f->n] = (struct fleet_tray){ 0 };
	memcpy(f->tray[f->n].name, name, len);
	return &f->tray[f->n++];
}

/* Whatever lies there under its name, whoever signed it. */
static bool has_doc_for_all(struct fleet *f, enum bwl_doc_kind kind, const char *name)
{
	struct fleet_doc x = { 0 };
	int r = fleet_doc_bytes(f, f->conf.prefix, NULL, kind, name, &x);

	fleet_doc_done(&x);
	f->c->err = (struct bwl_err){ 0 };
	return r != -ENOENT;
}

int fleet_known_tray(struct fleet *f, const char *name)
{
	BWL_AUTO_FREE const char **names = NULL;
	const struct fleet_tray *t;
	const char *near;
	size_t n = 0;
	int r = fleet_trays(f);

	if (r)
		return r;
	t = fleet_tray(f, name);
	if ((t && (t->enrolled || t->alive || t->has_status)) ||
	    has_doc_for_all(f, BWL_DOC_enrolment, name) ||
	    has_doc_for_all(f, BWL_DOC_expulsion, name))
		return 0;
	names = bwl_must(calloc(f->n + 1, sizeof(*names)));
	for (size_t i = 0; i < f->n; i++)
		if (&f->tray[i] != t)
			names[n++] = f->tray[i].name;
	near = ctl_nearest(name, names);
	bwl_fail(&f->c->err, ENOENT,
		 "the store knows no tray %.79s%s%.79s%s: nothing was published", name,
		 near ? "; did you mean '" : "", near ? near : "", near ? "'?" : "");
	return bwl_hint(
		&f->c->err,
		"bwlimit-ctl --fleet trays lists them; --unknown publishes it all the same");
}

struct fleet_tray *fleet_tray_add(struct fleet *f, const char *name)
{
	struct fleet_tray *t = fleet_tray(f, name);

	if (t || !bwl_store_name_ok(name, strlen(name)))
		return t;
	append(f, name, strlen(name));
	qsort(f->tray, f->n, sizeof(*f->tray), by_name);
	return fleet_tray(f, name);
}

struct listing {
	struct fleet *f;
	size_t before;    /* bytes of "PREFIX/node/" */
	json_t *expelled; /* names in expulsions */
};

/* Keys come in order, so a tray's keys are next to each other. */
static int take_key(void *arg, const struct bwl_etcd_kv *kv)
{
	struct listing *l = arg;
	const char *key = (const char *)kv->key.at + l->before, *slash;
	size_t len = bwl_pb_len(kv->key);
	struct fleet_tray *t;
	size_t n, rest;

	if (len <= l->before)
		return 0;
	len -= l->before;
	slash = memchr(key, '/', len);
	n = slash ? (size_t)(slash - key) : len;
	if (!slash || !bwl_store_name_ok(key, n))
		return 0;
	t = l->f->n ? &l->f->tray[l->f->n - 1] : NULL;
	if (!t || strlen(t->name) != n || memcmp(t->name, key, n))
		t = append(l->f, key, n);
	rest = len - n - 1;
#define IS(s) (rest == strlen(s) && !memcmp(slash + 1, s, rest))
	t->alive |= IS("out/alive");
	t->has_status |= IS("out/status");
	if (rest > 17 && !memcmp(slash + 1, "in/doc/enrolment/", 17))
		t->enrolled = true;
#undef IS
	return 0;
}

/* An expulsion is named after its tray. */
static int take_expelled(void *arg, const struct bwl_etcd_kv *kv)
{
	struct listing *l = arg;
	size_t len = bwl_pb_len(kv->key);

	if (len > l->before)
		json_array_append_new(l->expelled,
				      json_stringn((const char *)kv->key.at + l->before,
						   len - l->before));
	return 0;
}

/* By its name, or by one that IKE does not tell from it, as on trays. */
static int is_expelled(struct fleet *f, struct fleet_tray *t, const json_t *expelled)
{
	const json_t *v;
	size_t i;
	int r;

	json_array_foreach(expelled, i, v)
	{
		const char *as = json_string_value(v);

		if (!as || !bwl_identity_is_peer(as, t->name, NULL))
			continue;
		r = fleet_is_expelled(f, as, &t->expelled);
		if (r || t->expelled)
			return r;
	}
	return 0;
}

int fleet_trays(struct fleet *f)
{
	char range[BWL_ETCD_KEY_MAX];
	struct listing l = { .f = f };
	int64_t revision = 0;
	int r;

	forget_trays(f);
	l.before = (size_t)snprintf(range, sizeof(range), "%s/node/", f->conf.prefix);
	r = bwl_etcd_keys(f->g, range, take_key, &l, &revision, &f->c->err);
	if (f->n)
		qsort(f->tray, f->n, sizeof(*f->tray), by_name);
	l.before = (size_t)snprintf(range, sizeof(range), "%s/all/doc/expulsion/", f->conf.prefix);
	l.expelled = json_array();
	r = r ? r : bwl_etcd_keys(f->g, range, take_expelled, &l, &revision, &f->c->err);
	for (size_t i = 0; !r && i < f->n; i++)
		r = is_expelled(f, &f->tray[i], l.expelled);
	json_decref(l.expelled);
	return r;
}

static void take_labels(struct fleet_tray *t, const json_t *body)
{
	const json_t *list = json_object_get(body, "labels"), *v;
	size_t i;

	t->labels = bwl_must(calloc(json_array_size(list) + 1, sizeof(*t->labels)));
	json_array_foreach(list, i, v)
		t->labels[t->nlabels++] = bwl_must(strdup(json_string_value(v)));
}

int fleet_labels(struct fleet *f)
{
	for (size_t i = 0; i < f->n && !f->labels_read; i++) {
		struct fleet_tray *t = &f->tray[i];
		struct fleet_doc x;
		int r = !t->enrolled ? -ENOENT
			: f->root    ? fleet_doc_believe(f, t->name, BWL_DOC_enrolment, t->name, &x)
				     : fleet_doc_read(f, f->conf.prefix, t->name, BWL_DOC_enrolment,
						      t->name, &x);

		t->labels_unknown = r == -EKEYREJECTED;
		if (r && r != -ENOENT && r != -EKEYREJECTED)
			return r;
		if (!r) {
			take_labels(t, x.d.body);
			fleet_doc_done(&x);
		}
	}
	f->labels_read = true;
	return 0;
}

static int choose_named(struct fleet *f, const char *audience)
{
	BWL_AUTO_FREE char *list = bwl_must(strdup(audience));
	struct fleet_tray *t;
	char *at;

	for (char *one = strtok_r(list, ",", &at); one; one = strtok_r(NULL, ",", &at)) {
		if (strncmp(one, "tray:", 5))
			continue;
		t = fleet_tray_add(f, one + 5);
		if (!t)
			return bwl_fail(&f->c->err, EINVAL, "'%.80s' is not a valid tray name",
					one);
		t->named = true;
	}
	return 0;
}

int fleet_choose(struct fleet *f, const char *audience, size_t *ret_n)
{
	int r = bwl_audience_check(audience, &f->c->err);

	if (!r)
		r = choose_named(f, audience);
	if (!r && strstr(audience, "label:"))
		r = fleet_labels(f);
	*ret_n = 0;
	for (size_t i = 0; i < f->n && !r; i++) {
		struct fleet_tray *t = &f->tray[i];
		struct bwl_tray who = { .labels = (const char *const *)t->labels,
					.nlabels = t->nlabels };

		snprintf(who.name, sizeof(who.name), "%.*s", (int)sizeof(who.name) - 1, t->name);
		t->chosen = t->named ||
			    (!t->expelled && (t->enrolled || t->alive || t->has_status) &&
			     (bwl_audience_has(audience, &who) ||
			      (t->labels_unknown && strstr(audience, "label:"))));
		*ret_n += t->chosen;
	}
	if (!r && !*ret_n && strcmp(audience, "all")) {
		bwl_fail(&f->c->err, ENOENT, "no tray in the store matches %.200s", audience);
		r = bwl_hint(&f->c->err, "bwlimit-ctl --fleet trays lists them");
	}
	return r;
}

static int take_log(void *arg, const struct bwl_etcd_kv *kv)
{
	struct log_state l;

	if (!log_state_parse(kv->value.at, bwl_pb_len(kv->value), &l, NULL))
		*(struct bwl_signed_terms *)arg = (struct bwl_signed_terms){
			.epoch = l.enrolled_epoch, .version = l.enrolled_version
		};
	return 0;
}

/*
 * The controllers record which enrolment a signed status was judged by: so an older one that was
 * put back is noticed. Their record is in the store, too; it cannot make anything more credible.
 */
static bool mind_controllers(struct fleet *f, struct fleet_tray *t,
			     const struct bwl_signed_terms *terms)
{
	char key[BWL_ETCD_KEY_MAX];
	struct bwl_etcd_range ask = { .key = key, .end = "" };
	struct bwl_signed_terms kept = { 0 };
	struct bwl_etcd_page page;
	struct bwl_err e = { 0 };

	if (snprintf(key, sizeof(key), "%s/controller/log/-/%s", f->conf.prefix, t->name) >=
		    (int)sizeof(key) ||
	    bwl_etcd_range(f->g, &ask, take_log, &kept, &page, &e))
		return false;
	if (log_is_before(terms, kept.epoch, kept.version))
		status_signer_unjudged(LOG_ENROLMENT_OLD, &t->by);
	return true;
}

/* If it cannot be read now it is retried. Until then the tray's status cannot be judged. */
static void read_signer(struct fleet *f, struct fleet_tray *t)
{
	struct bwl_signed_terms terms = { 0 };
	struct fleet_doc x;
	int r;

	if (t->signer_read)
		return;
	t->by = (struct status_signer){ 0 };
	r = fleet_enrolment(f, t->name, &x);
	t->signer_read = !r || r == -ENOENT || r == -EKEYREJECTED;
	if (r == -EKEYREJECTED)
		status_signer_unjudged(f->c->err.text, &t->by);
	if (!r) {
		terms = x.d.terms;
		if (x.over)
			status_signer_unjudged(x.why_over.text, &t->by);
		else if (!strcmp(bwl_payload_text(x.d.body, "tray"), t->name))
			status_signer_of(x.d.fleet, x.d.body, &t->by);
		else
			status_signer_unjudged("it is for another tray", &t->by);
		fleet_doc_done(&x);
	}
	if (!r && f->root && !t->by.unjudged)
		t->signer_read = mind_controllers(f, t, &terms);
	if (t->signer_read)
		return;
	f->c->err = (struct bwl_err){ 0 };
	status_signer_unjudged("its enrolment cannot be read now", &t->by);
}

void fleet_status_take(struct fleet *f, struct fleet_tray *t, const void *at, size_t len)
{
	struct fleet_status *s = bwl_must(malloc(sizeof(*s)));
	struct status_now now = { bwl_now_ns(), time(NULL) };
	int r;

	read_signer(f, t);
	r = status_take(t->name, &t->by, &t->last, &now, at, len, &s->s, &s->taken, NULL, NULL);
	if (r == -EKEYREJECTED) { /* the tray's own last status stays */
		free(s);
		return;
	}
	free(t->status);
	t->status = r < 0 ? NULL : s;
	if (r < 0)
		free(s);
}

struct taking {
	uint8_t *at;
	size_t len;
};

/* Copied: the key may have to be read over the same connection. */
static int take_status(void *arg, const struct bwl_etcd_kv *kv)
{
	struct taking *x = arg;

	x->len = bwl_pb_len(kv->value);
	free(x->at);
	x->at = bwl_must(malloc(x->len + 1));
	memcpy(x->at, kv->value.at, x->len);
	return 0;
}

int fleet_status_read(struct fleet *f, struct fleet_tray *t)
{
	char key[BWL_ETCD_KEY_MAX];
	struct bwl_etcd_range ask = { .key = key, .end = "" };
	struct bwl_etcd_page page;
	struct taking x = { 0 };
	int r = bwl_out_key(key, f->conf.prefix, t->name, "status");

	r = r ? r : bwl_etcd_range(f->g, &ask, take_status, &x, &page, &f->c->err);
	if (!r && x.at)
		fleet_status_take(f, t, x.at, x.len);
	free(x.at);
	return r;
}
