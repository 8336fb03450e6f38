/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The trays' audit logs: kept, judged, cosigned (cosign.h, lead.h). */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "lead.h"

struct reading {
	struct lead *l;
	size_t before; /* bytes of the prefix */
};

static int take_log(void *arg, const struct bwl_etcd_kv *kv)
{
	struct reading *r = arg;
	size_t n = bwl_pb_len(kv->key) - r->before;
	char tray[BWL_DOC_NAME_MOST];
	struct view_tray *t;
	struct cosigned c;
	struct bwl_err e = { 0 };

	if (!bwl_store_name_ok((const char *)kv->key.at + r->before, n))
		return 0;
	snprintf(tray, sizeof(tray), "%.*s", (int)n, (const char *)kv->key.at + r->before);
	t = view_tray(r->l->v, tray);
	if (!t)
		return 0;
	if (cosigned_parse(kv->value.at, bwl_pb_len(kv->value), &c, &e)) {
		/* Nothing is signed of what nobody can compare. */
		snprintf(c.forked, sizeof(c.forked), "%.190s", e.text);
		r->l->c->say(r->l->c, "trouble", tray, &e);
	}
	t->log = c;
	return 0;
}

int lead_logs_read(struct lead *l, struct bwl_err *e)
{
	char prefix[BWL_ETCD_KEY_MOST];
	struct reading r = { .l = l };
	int64_t revision = 0;

	r.before = (size_t)snprintf(prefix, sizeof(prefix), "%s/controller/log/-/",
				    l->c->o->prefix);
	for (size_t i = 0; i < l->v->ntrays; i++) {
		l->v->tray[i]->log = (struct cosigned){ 0 };
		l->v->tray[i]->is_new = true;
	}
	return bwl_etcd_values(l->g, prefix, take_log, &r, &revision, e);
}

/* What it was, if the store did not take what it is now. */
static int keep(struct lead *l, struct view_tray *t, enum cosign_word w, int64_t now_s,
		struct bwl_err *e)
{
	char key[BWL_ETCD_KEY_MOST], tray_key[BWL_ETCD_KEY_MOST], note[COSIGN_NOTE];
	BWL_AUTO_FREE char *text = cosigned_text(&t->log);
	struct bwl_etcd_put put[2] = {
		{ .key = key, .value = text, .len = strlen(text), .was = BWL_ETCD_ANY },
		{ .key = tray_key, .value = note, .was = BWL_ETCD_ANY },
	};
	bool signs = w == COSIGN_SIGN && l->witness;
	int r = lead_key(l, "log", "", t->name, key);

	snprintf(tray_key, sizeof(tray_key), "%s/node/%s/in/cosigned", l->c->o->prefix, t->name);
	if (!r && signs)
		r = cosign_note(&t->log.signed_, l->c->o->witness_name, l->witness, now_s, note, e);
	if (r)
		return r;
	if (signs)
		put[1].len = strlen(note);
	return lead_put(l, put, signs ? 2 : 1, e);
}

static int judge(struct lead *l, struct view_tray *t, int64_t now_s, struct bwl_err *e)
{
	struct cosigned was = t->log;
	enum cosign_word w = cosign_judge(&t->log, &t->status);
	struct bwl_err why = { 0 };
	int r;

	if (w == COSIGN_NOTHING)
		return 0;
	r = keep(l, t, w, now_s, e);
	if (r) {
		t->log = was;
		return r;
	}
	if (w == COSIGN_ALARM) {
		bwl_fail(&why, EBADMSG, "%s", t->log.forked);
		bwl_hint(
			&why,
			"compare with checkpoints that were kept: bwlimit-ctl audit verify, on that tray");
		l->c->say(l->c, "alarm", t->name, &why);
	}
	return 0;
}

int lead_logs(struct lead *l, int64_t now_s, struct bwl_err *e)
{
	for (size_t i = 0; i < l->v->ntrays && !lead_is_late(l); i++) {
		struct view_tray *t = l->v->tray[i];
		int r;

		if (!t->is_new || !t->known)
			continue;
		r = judge(l, t, now_s, e);
		if (r)
			return r;
		t->is_new = false;
	}
	return 0;
}
