// SPDX-License-Identifier: GPL-2.0-or-later
/* What changes when a document is taken, and what is due because of it: see docs.h. */
#include <stdlib.h>
#include <string.h>
#include <bwl/identity.h>
#include "docs.h"
#include "signed/closing.h"
#include "signed/payload.h"

static struct bwl_digest digest_of(const struct bwl_signed *d)
{
	struct bwl_digest ret;

	memcpy(ret.b, d->digest, sizeof(ret.b));
	return ret;
}

/* A waiting policy is kept beside the one that holds; any other policy replaces both. */
static void hold(struct docs *s, const struct docs_verdict *v, const struct docs_one *now)
{
	struct bwl_digest held[BWL_MEMORY_HELD] = { 0 };
	size_t n = 0;

	if (v->waits)
		held[n++] = now ? digest_of(&now->d) : (struct bwl_digest){ 0 };
	held[n++] = digest_of(&v->d);
	bwl_memory_hold(s->m, held, n);
}

/*
 * What is to be done once: limits that were lowered by hand are raised (of all peers, or of one),
 * and what was closed is opened. Only for a document that enough people signed.
 */
static json_t *due_of(const struct bwl_signed *d)
{
	json_t *due = json_object(), *opens = json_object_get(d->body, "opens"),
	       *lifts = json_object_get(d->body, "lifts");
	const char *peer = bwl_payload_text(d->body, "peer");

	json_object_set_new(due, "raise", json_string(peer ? peer : ""));
	if (opens)
		json_object_set(due, "opens", opens);
	if (lifts)
		json_object_set(due, "lifts", lifts);
	json_object_set_new(due, "signed", json_integer(d->terms.issued_s));
	return due;
}

static void begin_unspent(struct docs *s, const struct bwl_signed *d)
{
	if (bwl_payload_yes(d->body, "fresh_volume"))
		memcpy(s->fresh, d->digest, sizeof(s->fresh));
}

bool docs_keeps_bytes(enum bwl_signed_type t)
{
	return t == BWL_SIGNED_POLICY || t == BWL_SIGNED_GRANT || t == BWL_SIGNED_LEASE ||
	       t == BWL_SIGNED_ROLLOUT || t == BWL_SIGNED_TIMESTAMP;
}

/* Enough people signed it, or it would not wait. Going back does nothing a second time. */
static bool is_waiting(const struct docs *s, const struct docs_one *o)
{
	size_t n;
	const struct bwl_digest *held = bwl_memory_held(s->m, &n);

	return n > 1 && !memcmp(held[1].b, o->d.digest, sizeof(held[1].b));
}

/*
 * Done once, however often the controller goes back and forth. A revocation that came while the
 * policy waited, or was rolled back, stays.
 */
static json_t *due_of_rollout(struct docs *s, const struct docs_one *o)
{
	json_t *due;

	if (!is_waiting(s, o) || bwl_memory_is_done(s->m, o->d.digest))
		return bwl_must(json_object());
	bwl_memory_set_done(s->m, o->d.digest);
	begin_unspent(s, &o->d);
	due = due_of(&o->d);
	if (o->d.terms.issued_s <= bwl_memory_closed(s->m)) {
		json_object_del(due, "opens");
		json_object_del(due, "lifts");
	}
	return due;
}

static json_t *due_of_policy(struct docs *s, const struct bwl_signed *d)
{
	if (!d->enough)
		return bwl_must(json_object());
	begin_unspent(s, d);
	return due_of(d);
}

static void take_more(struct docs *s, const struct docs_verdict *v, const char *bytes, size_t len,
		      const struct docs_one *was, const struct docs_clock *c)
{
	const struct docs_one *is;
	uint8_t before[32] = { 0 };

	if (was)
		memcpy(before, was->d.digest, sizeof(before));
	if (v->d.type == BWL_SIGNED_POLICY)
		hold(s, v, was);
	if (v->d.type == BWL_SIGNED_TIMESTAMP)
		docs_heard_now(s, c);
	if (docs_keeps_bytes(v->d.type))
		docs_add(s, memcpy(bwl_must(malloc(len)), bytes, len), len);
	is = docs_policy(s);
	if (v->d.type == BWL_SIGNED_GRANT && v->widens)
		bwl_memory_set_due(s->m, due_of(&v->d));
	else if (v->d.type == BWL_SIGNED_POLICY && !v->waits)
		bwl_memory_set_due(s->m, due_of_policy(s, &v->d));
	else if (bwl_closes(v->d.type)) /* it cancels what was still to be opened */
		bwl_memory_set_due(s->m, bwl_must(json_object()));
	else if (v->d.type == BWL_SIGNED_ROLLOUT && is && memcmp(before, is->d.digest, 32))
		bwl_memory_set_due(s->m, due_of_rollout(s, is));
}

/*
 * Opens the peers that are that tray again: two people say that it is back. Not if something was
 * closed after they signed: that may mean this tray, too. Nor what is also another expelled tray.
 */
static void open_again(struct docs *s, const struct bwl_signed *d)
{
	const char *tray = bwl_payload_text(d->body, "tray");
	struct docs_terms t = { 0 };
	json_t *due, *opens;
	int64_t signed_s = d->terms.issued_s, was_s;

	if (d->terms.issued_s <= bwl_memory_closed(s->m) || docs_terms(s, &t, NULL))
		return;
	due = json_deep_copy(bwl_memory_due(s->m));
	was_s = json_integer_value(json_object_get(due, "signed"));
	if (was_s && was_s < signed_s) /* an older document already has something due */
		signed_s = was_s;
	json_object_set_new(due, "signed", json_integer(signed_s));
	opens = json_object_get(due, "opens");
	if (!opens)
		json_object_set_new(due, "opens", opens = json_array());
	for (size_t i = 0; i < t.holding.pol->npeers; i++) {
		const struct bwl_pol_peer *p = &t.holding.pol->peers[i];

		if (bwl_identity_is_peer(tray, p->name, p->ipsec_id) &&
		    !bwl_memory_is_expelled(s->m, p->name, p->ipsec_id))
			json_array_append_new(opens, json_string(p->name));
	}
	bwl_memory_set_due(s->m, due);
	docs_terms_free(&t);
}

static bool has_lease(const struct docs *s)
{
	size_t n;
	const struct bwl_memory_item *item = bwl_memory_items(s->m, &n);

	for (size_t i = 0; i < n; i++)
		if (item[i].type == BWL_SIGNED_LEASE)
			return true;
	return false;
}

/*
 * A lease that became void with its key did not expire: the policy's `tamper` does not act on it.
 */
static int take_root(struct docs *s, const char *bytes, size_t len, struct bwl_err *e)
{
	int r = bwl_memory_next_root(s->m, bytes, len, e);

	if (!r && !has_lease(s))
		s->leased = (struct docs_leased){ 0 };
	if (!r) {
		docs_drop_unneeded(s);
		docs_mind_whole(s);
	}
	return r;
}

int docs_take(struct docs *s, const struct docs_verdict *v, const char *bytes, size_t len,
	      const struct docs_clock *c, struct bwl_err *e)
{
	const struct docs_one *was = docs_policy(s);
	bool readmits;
	int r;

	memset(s->fresh, 0, sizeof(s->fresh));
	docs_unheard(s);
	if (v->root)
		return take_root(s, bytes, len, e);
	if (v->seconds) {
		bwl_memory_second(s->m, &v->d);
		return 0;
	}
	readmits = bwl_memory_readmits(s->m, &v->d);
	r = bwl_memory_accept(s->m, &v->d, e);
	if (r)
		return r;
	if (readmits)
		open_again(s, &v->d);
	take_more(s, v, bytes, len, was, c);
	docs_drop_unneeded(s);
	docs_mind_whole(s);
	return 0;
}
