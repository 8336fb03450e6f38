// SPDX-License-Identifier: GPL-2.0-or-later
/* See view.h. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "signed/closing.h"
#include "signed/envelope.h"
#include "signed/payload.h"
#include "view.h"

static void free_policy(struct view_policy *p)
{
	free(p->audience);
	free(p);
}

static void free_tray(struct view_tray *t)
{
	json_decref(t->labels);
	free(t);
}

void view_done(struct view *v)
{
	for (size_t i = 0; i < v->npolicies; i++)
		free_policy(v->policy[i]);
	for (size_t i = 0; i < v->ntrays; i++)
		free_tray(v->tray[i]);
	free(v->policy);
	free(v->tray);
	view_closing_done(v);
	bwl_root_free(v->root);
}

/* Where it is, or would be inserted, in the list by name. */
static size_t tray_place(const struct view *v, const char *name, bool *ret_found)
{
	size_t from = 0, to = v->ntrays;

	*ret_found = false;
	while (from < to) {
		size_t mid = from + (to - from) / 2;
		int c = strcmp(v->tray[mid]->name, name);

		if (!c) {
			*ret_found = true;
			return mid;
		}
		if (c < 0)
			from = mid + 1;
		else
			to = mid;
	}
	return from;
}

struct view_tray *view_tray(struct view *v, const char *name)
{
	bool found;
	size_t at = tray_place(v, name, &found);

	return found ? v->tray[at] : NULL;
}

static void *insert(void ***list, size_t *n, size_t at, size_t size)
{
	void *one = bwl_must(calloc(1, size));

	*list = bwl_must(reallocarray(*list, *n + 1, sizeof(**list)));
	memmove(*list + at + 1, *list + at, (*n - at) * sizeof(**list));
	(*list)[at] = one;
	(*n)++;
	return one;
}

/* Reported once per read. */
static void leave_out(struct view *v, enum view_most of, const char *what, unsigned most)
{
	struct bwl_err why = { 0 };

	bwl_fail(&why, E2BIG, "more than %u %s are in the store: the rest is ignored", most, what);
	bwl_hint(&why, "delete what is not needed there, or split the fleet in two");
	view_tell_most(v, of, what, &why);
}

static struct view_tray *tray_for(struct view *v, const char *name)
{
	struct view_tray *t;
	bool found;
	size_t at = tray_place(v, name, &found);

	if (found)
		return v->tray[at];
	if (v->ntrays == VIEW_TRAYS_MAX) {
		leave_out(v, VIEW_CUT_TRAYS, "trays", VIEW_TRAYS_MAX);
		return NULL;
	}
	t = insert((void ***)&v->tray, &v->ntrays, at, sizeof(*t));
	snprintf(t->name, sizeof(t->name), "%s", name);
	return t;
}

static int policy_order(const struct view_policy *p, const char *tray, const char *name)
{
	int c = strcmp(p->tray, tray);

	return c ? c : strcmp(p->name, name);
}

static size_t policy_place(const struct view *v, const char *tray, const char *name,
			   bool *ret_found)
{
	size_t from = 0, to = v->npolicies;

	*ret_found = false;
	while (from < to) {
		size_t mid = from + (to - from) / 2;
		int c = policy_order(v->policy[mid], tray, name);

		if (!c) {
			*ret_found = true;
			return mid;
		}
		if (c < 0)
			from = mid + 1;
		else
			to = mid;
	}
	return from;
}

static void drop_policy(struct view *v, size_t at)
{
	free_policy(v->policy[at]);
	memmove(v->policy + at, v->policy + at + 1, (--v->npolicies - at) * sizeof(*v->policy));
}

static void rise(uint64_t *epoch, uint64_t to)
{
	*epoch = to > *epoch ? to : *epoch;
}

void view_policy_bytes(struct view *v, struct view_policy *p, const char *bytes, size_t len,
		       int64_t now_s)
{
	struct bwl_err e = { 0 };
	struct bwl_signed d;
	char what[BWL_DOC_NAME_MAX + 16];

	p->ok = false;
	p->to_fetch = !v->root;
	if (!v->root)
		return;
	snprintf(what, sizeof(what), "policy/%s", p->name);
	if (bwl_signed_open(bytes, len, v->root, NULL, now_s, &d, &e)) {
		view_tell(v, what, &e);
		return;
	}
	if (d.type != BWL_SIGNED_POLICY || strcmp(d.terms.name, p->name)) {
		bwl_fail(&e, EBADMSG, "the document there is %s/%s", bwl_signed_word(d.type),
			 d.terms.name);
		view_tell(v, what, &e);
	} else {
		free(p->audience);
		p->audience = bwl_must(strdup(d.audience));
		p->terms = d.terms;
		memcpy(p->digest, d.digest, sizeof(p->digest));
		p->lease_most_ns = bwl_payload_span(d.body, "lease_most", 0);
		p->stages = bwl_payload_yes(d.body, "stages");
		p->leased_ns = 0;
		p->ok = true;
		if (d.enough) /* one person's epoch would give signed times that no tray takes */
			rise(&v->epoch, d.terms.epoch);
	}
	bwl_signed_free(&d);
}

static void take_policy(struct view *v, const char *tray, const struct bwl_doc_at *at,
			const struct bwl_etcd_kv *kv, int64_t now_s)
{
	struct view_policy *p;
	bool found;
	size_t i = policy_place(v, tray, at->name, &found);

	if (kv->gone) {
		if (found && v->policy[i]->big == at->big)
			drop_policy(v, i);
		return;
	}
	if (!found && v->npolicies == VIEW_POLICIES_MAX) {
		leave_out(v, VIEW_CUT_POLICIES, "policies", VIEW_POLICIES_MAX);
		return;
	}
	p = found ? v->policy[i] : insert((void ***)&v->policy, &v->npolicies, i, sizeof(*p));
	p->seen = true;
	if (found && p->mod == kv->mod && !p->to_fetch)
		return;
	/* A small document and one in parts may exist side by side: the later one counts. */
	if (found && p->big != at->big && p->mod > kv->mod)
		return;
	snprintf(p->tray, sizeof(p->tray), "%s", tray);
	snprintf(p->name, sizeof(p->name), "%s", at->name);
	p->mod = kv->mod;
	p->big = at->big;
	if (at->big)
		p->to_fetch = true;
	else
		view_policy_bytes(v, p, (const char *)kv->value.at, bwl_pb_len(kv->value), now_s);
}

/* If this is the root that follows ours, everything that it judges is judged again. */
static void take_root(struct view *v, const struct bwl_etcd_kv *kv)
{
	struct bwl_root *next;

	if (!v->root ||
	    bwl_root_next(v->root, (const char *)kv->value.at, bwl_pb_len(kv->value), &next, NULL))
		return;
	bwl_root_free(v->root);
	v->root = next;
	rise(&v->epoch, bwl_root_terms(next)->epoch);
	view_closing_root(v);
	for (size_t i = 0; i < v->npolicies; i++)
		v->policy[i]->to_fetch = true;
	view_tell(v, "root", NULL);
}

/*
 * A status under another key is judged again by the next read, and is no sign of life. If an
 * enrolment that could not be judged meanwhile brings back the previous key, an older number stays
 * older.
 */
static void set_signer(struct view *v, struct view_tray *t, const struct status_signer *by)
{
	if (status_signer_is(by, &t->by))
		return;
	t->by = *by;
	if (by->named && !status_signer_is(by, &t->was))
		t->last = (struct status_last){ 0 };
	status_last_again(&t->last);
	if (by->named)
		t->was = *by;
	t->known = t->told = false;
	t->mod = 0;
	if (v->signers)
		status_signers_set(v->signers, t->name, by);
}

void view_unjudged(struct view *v, struct view_tray *t, const char *why)
{
	struct status_signer by;

	status_signer_unjudged(why, &by);
	set_signer(v, t, &by);
}

/* The newest enrolment counts; an older one that somebody put back changes nothing. */
static void take_enrolment(struct view *v, struct view_tray *t, const struct bwl_signed *d)
{
	struct status_signer by;

	if (d->terms.epoch < t->enrolled.epoch ||
	    (d->terms.epoch == t->enrolled.epoch && d->terms.version < t->enrolled.version))
		return;
	t->relabelled |= d->terms.version != t->enrolled.version ||
			 d->terms.epoch != t->enrolled.epoch;
	t->enrolled = d->terms;
	json_decref(t->labels);
	t->labels = json_incref(json_object_get(d->body, "labels"));
	status_signer_of(d->fleet, d->body, &by);
	set_signer(v, t, &by);
}

/*
 * In the place of a tray's enrolment there is one that this root's people did not sign, or that has
 * expired: then it is unknown with which key the tray signs, or whether it signs.
 */
static void take_no_enrolment(struct view *v, const char *tray, const struct bwl_doc_at *at,
			      const struct bwl_err *why)
{
	struct view_tray *t = strcmp(tray, *tray ? at->name : "") ? NULL : tray_for(v, at->name);

	/* An enrolment for all is about a tray that was readmitted; the tray itself has it, too. */
	if (t && (*tray || !t->enrolled.version))
		view_unjudged(v, t, why->text);
}

/* Of other documents that people signed: labels of trays, and epochs that end other epochs. */
static void take_other(struct view *v, const char *tray, const struct bwl_doc_at *at,
		       const struct bwl_etcd_kv *kv, int64_t now_s)
{
	struct bwl_err why = { 0 };
	struct view_tray *t;
	struct bwl_signed d;

	if (!v->root)
		return;
	if (bwl_signed_open((const char *)kv->value.at, bwl_pb_len(kv->value), v->root, NULL, now_s,
			    &d, &why)) {
		if (at->kind == BWL_DOC_enrolment)
			take_no_enrolment(v, tray, at, &why);
		return;
	}
	if (bwl_closes(d.type))
		view_take_closing(v, &d, tray, at->name);
	if (d.type == BWL_SIGNED_TIMESTAMP && d.terms.issued_s >= v->time.issued_s)
		v->time = d.terms;
	t = d.type == BWL_SIGNED_ENROLMENT ? tray_for(v, bwl_payload_text(d.body, "tray")) : NULL;
	if (t) {
		t->seen = true;
		take_enrolment(v, t, &d);
	}
	bwl_signed_free(&d);
}

void view_document(struct view *v, const char *tray, const struct bwl_doc_at *at,
		   const struct bwl_etcd_kv *kv, int64_t now_s)
{
	switch (at->kind) {
	case BWL_DOC_policy:
		take_policy(v, tray, at, kv, now_s);
		return;
	case BWL_DOC_root:
		if (!kv->gone && !at->big)
			take_root(v, kv);
		return;
	case BWL_DOC_timestamp:
	case BWL_DOC_enrolment:
	case BWL_DOC_revocation:
	case BWL_DOC_expulsion:
		if (!kv->gone && !at->big)
			take_other(v, tray, at, kv, now_s);
		else if (!kv->gone && at->kind != BWL_DOC_enrolment)
			view_note_part(v, tray, at);
		return;
	default:
		return;
	}
}

static void tell_once(struct view *v, struct view_tray *t, const struct bwl_err *why)
{
	if (!t->told)
		view_tell(v, t->name, why);
	t->told = true;
}

static void take_status(struct view *v, struct view_tray *t, const struct bwl_etcd_kv *kv,
			const struct status_now *now)
{
	uint64_t now_ns = now->ns;
	struct tray_status s;
	struct bwl_err e = { 0 };
	int r;

	if (t->mod == kv->mod)
		return;
	t->mod = kv->mod;
	r = status_take(t->name, &t->by, &t->last, now, kv->value.at, bwl_pb_len(kv->value), &s,
			NULL, NULL, &e);
	if (r < 0) {
		tell_once(v, t, &e);
		return;
	}
	if (r) /* a copied status is no sign of life */
		return;
	/* Nor is a late one. If the tray is off that is not worth reporting. */
	if (status_worth(&t->by, &t->last, now) == STATUS_LATE) {
		if (t->alive && status_doubt(&t->by, &t->last, now, &e))
			tell_once(v, t, &e);
		return;
	}
	t->told = false;
	t->taken = kv->mod;
	/* What a read finds first may have been there for long: it is no sign of life. */
	if (t->known)
		t->heard_ns = now_ns;
	t->status = s;
	t->known = t->is_new = true;
	if (!t->later.at_ns || now_ns - t->later.at_ns >= VIEW_SAMPLE_NS) {
		t->before = t->later.at_ns ? t->later : (struct view_sample){ 0 };
		t->later = (struct view_sample){ now_ns, s.passed, s.dropped };
	}
}

void view_said(struct view *v, const char *tray, const char *what, const struct bwl_etcd_kv *kv,
	       const struct status_now *now)
{
	struct view_tray *t = tray_for(v, tray);

	if (!t)
		return;
	t->seen = true;
	if (!strcmp(what, "alive"))
		t->alive = !kv->gone;
	else if (!strcmp(what, "status") && !kv->gone)
		take_status(v, t, kv, now);
}

void view_read_begin(struct view *v)
{
	for (size_t i = 0; i < v->ntrays; i++) {
		v->tray[i]->seen = false;
		v->tray[i]->alive = false;
	}
	for (size_t i = 0; i < v->npolicies; i++)
		v->policy[i]->seen = false;
	v->left_out = 0;
}

void view_read_end(struct view *v)
{
	size_t n = 0;

	for (size_t i = v->npolicies; i-- > 0;)
		if (!v->policy[i]->seen)
			drop_policy(v, i);
	for (size_t i = 0; i < v->ntrays; i++)
		if (v->tray[i]->seen)
			v->tray[n++] = v->tray[i];
		else
			free_tray(v->tray[i]);
	v->ntrays = n;
	view_closing_read_end(v);
}
