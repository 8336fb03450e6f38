// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A document that arrives: it is judged and taken, and what it asks for is done. docs.h has the
 * order.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <syslog.h>
#include <bwl/publish.h>
#include <bwl/text.h>
#include "agent.h"
#include "journal/journal.h"
#include "part.h"
#include "signed/payload.h"

#define LINES 64 /* refusals that may be logged at once */
#define LINE_EVERY_NS 60000000000ULL

/*
 * The same document may be handed over every minute: the log gets one line, the status has four
 * entries.
 */
static void note_refusal(struct documents *v, const char *key, const char *bytes, size_t len,
			 const struct bwl_err *e)
{
	struct docs_refusal r = { 0 };
	struct bwl_signed d;
	unsigned i;

	snprintf(r.key, sizeof(r.key), "%s", key);
	if (!bwl_signed_peek(bytes, len, &d, NULL)) { /* only what it claims about itself */
		snprintf(r.key, sizeof(r.key), "%s/%s", bwl_signed_word(d.type), d.terms.name);
		r.version = d.terms.version;
		bwl_signed_free(&d);
	}
	snprintf(r.id, sizeof(r.id), "%s", e->id ? e->id : "failed");
	snprintf(r.text, sizeof(r.text), "%.150s", e->text);
	bwl_text_plain(r.key, BWL_ASCII);
	bwl_text_plain(r.text, BWL_ASCII);
	for (i = 0; i < DOCS_REFUSED - 1; i++)
		if (!strcmp(v->refused[i].key, r.key))
			break;
	if (strcmp(v->refused[i].key, r.key) || strcmp(v->refused[i].text, r.text)) {
		if (bucket_take(&v->lines, LINES, LINE_EVERY_NS, bwl_now_ns()))
			agent_later(LOG_WARNING, "documents", "%s: refused: %s", r.key, e->text);
	}
	memmove(&v->refused[1], &v->refused[0], i * sizeof(v->refused[0]));
	v->refused[0] = r;
}

static void forget_refusal(struct documents *v, const char *key)
{
	unsigned n = 0;

	for (unsigned i = 0; i < DOCS_REFUSED; i++)
		if (strcmp(v->refused[i].key, key))
			v->refused[n++] = v->refused[i];
	memset(&v->refused[n], 0, (DOCS_REFUSED - n) * sizeof(v->refused[0]));
}

static bool changes_desired(const struct documents *v, enum bwl_signed_type t)
{
	switch (t) {
	case BWL_SIGNED_LEASE:
		return false;
	case BWL_SIGNED_TIMESTAMP: /* if the clock is behind, the ends of grants move forward */
	{
		struct docs_clock c = docs_clock_now();

		return docs_now(&v->docs, &c) - c.wall_s > 30;
	}
	default:
		return true;
	}
}

/*
 * A limit that was lowered by hand is raised again if enough people have signed that since. Once:
 * what waits for something else to be opened would raise what is lowered meanwhile.
 */
static int raise_limits(struct documents *v, struct bwl_err *e)
{
	const json_t *due = bwl_memory_due(v->docs.m);
	const char *peer = json_string_value(json_object_get(due, "raise"));
	uint64_t signed_s = (uint64_t)json_integer_value(json_object_get(due, "signed"));
	struct bwl_policy one = { .npeers = 1 };
	json_t *left;
	int r = 0;

	if (!peer || !v->terms.any)
		return 0;
	if (*peer)
		one.peers = bwl_policy_peer(v->terms.holding.pol, peer);
	if (!*peer || one.peers)
		r = bwl_journal_raise(v->pins, *peer ? &one : v->terms.holding.pol, signed_s, e);
	if (r)
		return r;
	left = bwl_must(json_deep_copy(due));
	json_object_del(left, "raise");
	if (json_object_size(left) == 1) /* when it was signed */
		json_object_clear(left);
	bwl_memory_set_due(v->docs.m, left);
	return bwl_memory_keep(v->docs.m, v->a->state_dir, e);
}

/* An enrolment opens what has exactly its name; a like name that is expelled closes it still. */
static void say_still_expelled(const struct documents *v, const struct bwl_signed *d)
{
	const char *tray = bwl_payload_text(d->body, "tray"),
		   *as = bwl_memory_expelled_as(v->docs.m, tray);

	if (as)
		agent_later(
			LOG_WARNING, "documents",
			"tray %s is enrolled, but stays closed: %s is expelled, and IKE does not tell them apart: enrol %s, too, or give one of them another name",
			tray, as, as);
}

/* Whoever signed a grant must hear that a policy has ended it: its number says "taken" still. */
static void say_ended(const struct documents *v, const struct docs_clock *c, char (*was)[DOCS_KEY],
		      size_t nwas)
{
	const struct docs_one *policy = docs_policy(&v->docs);
	BWL_AUTO_FREE char(*is)[DOCS_KEY] = NULL;
	size_t nis = docs_grants(&v->docs, c, &is), k;

	for (size_t i = 0; policy && i < nwas; i++) {
		for (k = 0; k < nis && strcmp(was[i], is[k]);)
			k++;
		if (k == nis)
			agent_later(
				LOG_NOTICE, "documents",
				"%s is not part of the policy %s, version %llu, which came after it: sign a new version of it if it shall hold on",
				was[i], policy->d.terms.name,
				(unsigned long long)policy->d.terms.version);
	}
}

/*
 * The document is taken once the memory is renamed; whatever fails later is done at the next
 * chance.
 */
static int take(struct documents *v, const struct docs_verdict *d, const char *bytes, size_t len,
		const struct docs_clock *c, struct bwl_err *e)
{
	enum bwl_signed_type t = d->d.type;
	BWL_AUTO_FREE char(*was)[DOCS_KEY] = NULL;
	size_t nwas = t == BWL_SIGNED_POLICY ? docs_grants(&v->docs, c, &was) : 0;
	struct bwl_err no = { 0 };
	int r = 0;

	if (docs_keeps_bytes(t))
		r = docs_put(v->a->state_dir, d->d.digest, bytes, len, e);
	if (!r)
		r = docs_take(&v->docs, d, bytes, len, c, e);
	if (!r)
		r = bwl_memory_keep(v->docs.m, v->a->state_dir, e);
	if (r) {
		docs_reload(v); /* back to what the disk has */
		return r;
	}
	if (t == BWL_SIGNED_TIMESTAMP && docs_keep_heard(v->a->state_dir, &v->docs, &no))
		agent_later(LOG_ERR, "documents", "%s", no.text);
	docs_sweep(v->a->state_dir, &v->docs);
	docs_rebuild(v);
	if (nwas)
		say_ended(v, c, was, nwas);
	docs_source_fresh(v->a->source, v->docs.fresh);
	if (t == BWL_SIGNED_ENROLMENT) {
		docs_spare_keys(v);
		say_still_expelled(v, &d->d);
	}
	if (raise_limits(v, &no))
		agent_later(LOG_ERR, "documents", "%s", no.text);
	return 0;
}

/* A document that was taken comes again: if its bytes are gone they are stored again. */
static int keep_again(struct documents *v, const struct docs_verdict *d, const char *bytes,
		      size_t len, struct bwl_err *e)
{
	int r;

	if (!docs_needs(&v->docs, d->d.digest) ||
	    (docs_find(&v->docs, d->d.digest) && docs_is_kept(v->a->state_dir, d->d.digest)))
		return 0;
	r = docs_put(v->a->state_dir, d->d.digest, bytes, len, e);
	if (r)
		return r;
	if (!docs_find(&v->docs, d->d.digest))
		docs_add(&v->docs, memcpy(bwl_must(malloc(len)), bytes, len), len);
	docs_rebuild(v);
	docs_source_wake(v->a->source);
	return 0;
}

/* Closing documents have already closed; nobody waits for what an enrolment opens. */
static bool is_waited_for(const struct docs_verdict *d)
{
	return !d->waits && !d->root &&
	       (d->d.type == BWL_SIGNED_POLICY || d->d.type == BWL_SIGNED_GRANT ||
		d->d.type == BWL_SIGNED_ROLLOUT);
}

int docs_receive(struct documents *v, const char *key, const char *bytes, size_t len,
		 bool *ret_wait, struct bwl_err *e)
{
	struct docs_clock c = docs_clock_now();
	struct docs_verdict d = { 0 };
	int r;

	*ret_wait = false;
	if (v->damaged || !v->docs.m) {
		bwl_fail(
			e, ENOENT,
			v->damaged ? BWL_MEMORY
				" is damaged: everything stays at its floor until this tray is enrolled again"
				   : "no root is enrolled here");
		return bwl_hint(e, "bwlimit-ctl enrol ROOT ENROLMENT --sha256 HEX");
	}
	r = docs_judge(&v->docs, bytes, len, &c, &d, e);
	if (!r && d.known)
		r = keep_again(v, &d, bytes, len, e);
	if (!r && !d.known)
		r = docs_close(v, &d.d, e);
	if (!r && !d.known)
		r = take(v, &d, bytes, len, &c, e);
	if (r) {
		note_refusal(v, key, bytes, len, e);
	} else if (!d.known) {
		char taken[DOCS_KEY];

		snprintf(taken, sizeof(taken), "%s/%s", bwl_signed_word(d.d.type), d.d.terms.name);
		forget_refusal(v, taken);
		agent_later(d.d.type == BWL_SIGNED_TIMESTAMP ? LOG_INFO : LOG_NOTICE, "documents",
			    "%s, version %llu: accepted, signed by %u%s", taken,
			    (unsigned long long)d.d.terms.version, d.d.people,
			    d.waits ? "; it waits for a rollout" : "");
		docs_mind_end(v);
		if (changes_desired(v, d.d.type)) {
			docs_source_wake(v->a->source);
			*ret_wait = is_waited_for(&d);
		}
	}
	docs_verdict_free(&d);
	return r;
}
