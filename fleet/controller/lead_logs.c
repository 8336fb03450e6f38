// SPDX-License-Identifier: GPL-2.0-or-later
/* The trays' audit logs: kept, judged and cosigned (cosign.h, lead.h). */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "lead.h"

struct reading {
	struct lead *l;
	size_t before; /* bytes of the keys' prefix */
};

static int take_log(void *arg, const struct bwl_etcd_kv *kv)
{
	struct reading *r = arg;
	size_t n = bwl_pb_len(kv->key) - r->before;
	char tray[BWL_DOC_NAME_MAX];
	struct view_tray *t;
	struct log_state log;
	struct bwl_err e = { 0 };

	if (!bwl_store_name_ok((const char *)kv->key.at + r->before, n))
		return 0;
	snprintf(tray, sizeof(tray), "%.*s", (int)n, (const char *)kv->key.at + r->before);
	t = view_tray(r->l->v, tray);
	if (!t)
		return 0;
	if (log_state_parse(kv->value.at, bwl_pb_len(kv->value), &log, &e)) {
		/* What nobody can compare is not cosigned. */
		snprintf(log.wrong, sizeof(log.wrong), "%.190s", e.text);
		r->l->c->say(r->l->c, "trouble", tray, &e);
	}
	t->log.log = log;
	/*
	 * Another leader judged by a newer enrolment: nothing is accepted until that one is back.
	 */
	if (log_is_before(&t->enrolled, log.enrolled_epoch, log.enrolled_version)) {
		t->enrolled.epoch = log.enrolled_epoch;
		t->enrolled.version = log.enrolled_version;
		view_unjudged(r->l->v, t, LOG_ENROLMENT_OLD);
	}
	return 0;
}

int lead_logs_read(struct lead *l, struct bwl_err *e)
{
	char prefix[BWL_ETCD_KEY_MAX];
	struct reading r = { .l = l };
	int64_t revision = 0;

	r.before = (size_t)snprintf(prefix, sizeof(prefix), "%s/controller/log/-/",
				    l->c->o->prefix);
	for (size_t i = 0; i < l->v->ntrays; i++) {
		l->v->tray[i]->log.log = (struct log_state){ 0 };
		l->v->tray[i]->is_new = true;
	}
	return bwl_etcd_values(l->g, prefix, take_log, &r, &revision, e);
}

/* Keeps the old state if the store does not accept the new one. */
static int keep(struct lead *l, struct view_tray *t, enum cosign_word w, int64_t now_s,
		struct bwl_err *e)
{
	char key[BWL_ETCD_KEY_MAX], tray_key[BWL_ETCD_KEY_MAX], note[COSIGN_NOTE];
	BWL_AUTO_FREE char *text = log_state_text(&t->log.log);
	struct bwl_etcd_put put[2] = {
		{ .key = key, .value = text, .len = strlen(text), .was = BWL_ETCD_ANY },
		{ .key = tray_key, .value = note, .was = BWL_ETCD_ANY },
	};
	bool signs = w == COSIGN_SIGN && l->witness;
	int r = lead_key(l, "log", "", t->name, key);

	bwl_cosigned_key(tray_key, l->c->o->prefix, t->name);
	if (!r && signs)
		r = cosign_note(&t->log.log.cosigned, l->c->o->witness_name, l->witness, now_s,
				note, e);
	if (r)
		return r;
	if (signs)
		put[1].len = strlen(note);
	return lead_put(l, put, signs ? 2 : 1, e);
}

static int judge(struct lead *l, struct view_tray *t, int64_t now_s, struct bwl_err *e)
{
	struct cosigned was = t->log;
	struct bwl_err why = { 0 };
	enum cosign_word w = cosign_judge(&t->log, &t->status, now_s, &why);
	int r = 0;

	if (w == COSIGN_NOTHING)
		return 0;
	if (t->status.is_signed) {
		t->log.log.enrolled_epoch = t->enrolled.epoch;
		t->log.log.enrolled_version = t->enrolled.version;
	}
	if (w != COSIGN_STRANGER)
		r = keep(l, t, w, now_s, e);
	if (r) {
		t->log = was;
		return r;
	}
	if (w == COSIGN_ALARM || w == COSIGN_UNPROVEN || w == COSIGN_STRANGER) {
		bwl_hint(
			&why,
			"bwlimit-ctl --fleet logs; on that tray: bwlimit-ctl audit verify, with checkpoints that were kept");
		l->c->say(l->c, "alarm", t->name, &why);
	}
	return 0;
}

/* People may have cleared an alarm (by deleting the key): the kept states are read again. */
static int look_again(struct lead *l, uint64_t now_ns, struct bwl_err *e)
{
	bool wrong = false;

	for (size_t i = 0; i < l->v->ntrays && !wrong; i++)
		wrong = *l->v->tray[i]->log.log.wrong;
	if (!wrong || now_ns < l->logs_ns)
		return 0;
	l->logs_ns = now_ns + LEAD_LOGS_NS;
	return lead_logs_read(l, e);
}

int lead_logs(struct lead *l, uint64_t now_ns, int64_t now_s, struct bwl_err *e)
{
	int again = look_again(l, now_ns, e);

	if (again)
		return again;
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
