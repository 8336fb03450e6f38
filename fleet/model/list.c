// SPDX-License-Identifier: GPL-2.0-or-later
/* See list.h. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include "bwl/clock.h"
#include "fleet/store/publish.h"
#include "list.h"
#include "signed/document.h"

/* A key in the listing that matters and has changed. */
enum what { AT, STATUS, LABELS, COSIGNED };
struct news {
	char tray[BWL_DOC_NAME_MAX];
	enum what what;
	int64_t mod;
};

struct listing {
	struct model_set *set;
	struct status_signers *signers;
	pthread_mutex_t *lock;
	size_t before; /* bytes of "PREFIX/node/" */
	struct news *news;
	size_t n;
};

static void remember(struct listing *l, const struct model_tray *t, enum what what, int64_t mod)
{
	if (!(l->n & (l->n - 1)))
		l->news = bwl_must(reallocarray(l->news, l->n ? 2 * l->n : 1, sizeof(*l->news)));
	l->news[l->n] = (struct news){ .what = what, .mod = mod };
	memcpy(l->news[l->n++].tray, t->name, sizeof(t->name));
}

static bool is(const char *at, size_t len, const char *what)
{
	return len == strlen(what) && !memcmp(at, what, len);
}

/* Then what was accepted from the previous signer is judged again. */
static bool is_other_signer(const struct listing *l, struct model_tray *t)
{
	struct status_signer by = status_signers_get(l->signers, t->name);

	if (status_signer_is(&by, &t->by))
		return false;
	t->by = by;
	t->last = (struct status_last){ 0 };
	return true;
}

static void take_name(struct listing *l, const char *key, size_t len, int64_t mod)
{
	const char *slash = memchr(key, '/', len);
	size_t n = slash ? (size_t)(slash - key) : 0, rest = slash ? len - n - 1 : 0;
	struct model_tray *t;
	char mine[BWL_DOC_NAME_MAX + 24];

	if (!slash || (rest < 4 || (memcmp(slash + 1, "out/", 4) && memcmp(slash + 1, "in/", 3))))
		return;
	t = model_tray_add(l->set, key, n);
	if (!t)
		return;
	snprintf(mine, sizeof(mine), "in/doc/enrolment/%s", t->name);
	if (is(slash + 1, rest, "out/alive"))
		t->seen = t->there = true;
	else if (is(slash + 1, rest, "out/at") && mod != t->at_mod)
		remember(l, t, AT, mod);
	else if (is(slash + 1, rest, "out/status") &&
		 (is_other_signer(l, t) || mod != t->status_mod))
		remember(l, t, STATUS, mod);
	else if (is(slash + 1, rest, mine) && mod != t->labels_mod)
		remember(l, t, LABELS, mod);
	else if (is(slash + 1, rest, "in/cosigned") && mod != t->cosigned_mod)
		remember(l, t, COSIGNED, mod);
	/* A name that was only addressed, and never existed, is not a tray. */
	t->seen |= is(slash + 1, rest, "out/status") || is(slash + 1, rest, mine);
}

static int take_key(void *arg, const struct bwl_etcd_kv *kv)
{
	struct listing *l = arg;
	size_t len = bwl_pb_len(kv->key);

	if (len <= l->before)
		return 0;
	pthread_mutex_lock(l->lock);
	take_name(l, (const char *)kv->key.at + l->before, len - l->before, kv->mod);
	pthread_mutex_unlock(l->lock);
	return 0;
}

static void take_labels(struct model_set *s, struct model_tray *t, const uint8_t *at, size_t len)
{
	struct bwl_signed d;
	const json_t *v;
	size_t i;

	/* Unverified: wrong labels only put the tray into the wrong sum. */
	if (bwl_signed_peek((const char *)at, len, &d, NULL))
		return;
	t->nlabels = 0;
	json_array_foreach(json_object_get(d.body, "labels"), i, v)
	{
		if (t->nlabels < MODEL_LABELS)
			t->label[t->nlabels++] = model_name_of(
				&s->names, json_string_value(v) ? json_string_value(v) : "",
				&t->names_left);
	}
	bwl_signed_free(&d);
}

static void take_value(struct model_set *s, struct model_tray *t, const struct news *x,
		       const uint8_t *at, size_t len)
{
	switch (x->what) {
	case AT:
		t->at_mod = x->mod;
		*t->at = '\0';
		if (len < sizeof(t->at) && !memchr(at, '\0', len))
			snprintf(t->at, sizeof(t->at), "%.*s", (int)len, (const char *)at);
		if (strspn(t->at, "0123456789abcdefABCDEF.:[]") != strlen(t->at))
			*t->at = '\0';
		t->next_ns = 0;
		t->failures = 0;
		return;
	case STATUS:
		t->status_mod = x->mod;
		model_take_status(s, t, &(struct status_now){ bwl_now_ns(), time(NULL) },
				  (const char *)at, len);
		return;
	case LABELS:
		t->labels_mod = x->mod;
		take_labels(s, t, at, len);
		return;
	case COSIGNED:
		t->cosigned_mod = x->mod;
		model_take_cosigned(t, (const char *)at, len);
	}
}

static int key_of(char key[static BWL_ETCD_KEY_MAX], const char *prefix, const struct news *x)
{
	switch (x->what) {
	case AT:
		return bwl_out_key(key, prefix, x->tray, "at");
	case STATUS:
		return bwl_out_key(key, prefix, x->tray, "status");
	case LABELS:
		return bwl_doc_key(key, prefix, x->tray, BWL_DOC_enrolment, x->tray, false);
	case COSIGNED:
		return snprintf(key, BWL_ETCD_KEY_MAX, "%s/node/%s/in/cosigned", prefix, x->tray) <
				       BWL_ETCD_KEY_MAX
			       ? 0
			       : -ENAMETOOLONG;
	}
	return -EINVAL;
}

static int read_value(struct bwl_grpc *g, const char *prefix, struct listing *l,
		      const struct news *x, struct bwl_err *e)
{
	char key[BWL_ETCD_KEY_MAX];
	struct model_tray *t;
	uint8_t *at;
	int64_t mod;
	size_t len;
	int r = key_of(key, prefix, x);

	if (!r)
		r = bwl_doc_fetch(g, prefix, key, false, &at, &len, &mod, e);
	if (r)
		return r == -ENOENT ? 0 : r;
	pthread_mutex_lock(l->lock);
	t = model_tray(l->set, x->tray, strlen(x->tray));
	if (t)
		take_value(l->set, t, x, at, len);
	pthread_mutex_unlock(l->lock);
	free(at);
	return 0;
}

int model_list(struct bwl_grpc *g, const char *prefix, struct status_signers *signers,
	       struct model_set *s, pthread_mutex_t *lock, struct bwl_err *e)
{
	struct listing l = { .set = s, .lock = lock, .signers = signers };
	char range[BWL_ETCD_KEY_MAX];
	int64_t revision = 0;
	int r;

	for (size_t i = 0; i < s->n; i++)
		s->tray[i]->seen = s->tray[i]->there = false;
	l.before = (size_t)snprintf(range, sizeof(range), "%s/node/", prefix);
	r = bwl_etcd_keys(g, range, take_key, &l, &revision, e);
	for (size_t i = 0; !r && i < l.n; i++)
		r = read_value(g, prefix, &l, &l.news[i], e);
	free(l.news);
	if (r)
		return r;
	pthread_mutex_lock(lock);
	for (size_t i = 0; i < s->n; i++) {
		struct model_tray *t = s->tray[i];

		t->alive = t->there;
		if (!t->alive) {
			*t->at = '\0';
			t->at_mod = 0;
		}
	}
	model_sweep(s);
	pthread_mutex_unlock(lock);
	return 0;
}
