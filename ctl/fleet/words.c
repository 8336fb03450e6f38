// SPDX-License-Identifier: GPL-2.0-or-later
/* See words.h. */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <bwl/text.h>
#include "../signed.h"
#include "signed/payload.h"
#include "says.h"
#include "words.h"

#define ASK 512

static int holds(const struct fleet *f, const struct fleet_doc *x)
{
	struct bwl_err *e = &f->c->err;
	struct bwl_signed d = { 0 };
	int r = bwl_signed_open((const char *)x->bytes, x->len, f->root, NULL, time(NULL), &d, e);

	if (!r && !d.enough)
		r = bwl_fail(
			e, EKEYREJECTED,
			"the published policy %s is signed by %u: on other trays another may hold",
			d.terms.name, d.people);
	bwl_signed_free(&d);
	return r ? bwl_hint(e, "nothing was compared: give --against, the policy in force there")
		 : 0;
}

/*
 * A writer of the store can restore an older one, and there may be several with other names: what
 * trays report that they hold counts. Silent trays are not asked.
 */
static int held_by_trays(struct fleet *f, const char *audience, const struct fleet_doc *x)
{
	struct bwl_err *e = &f->c->err;
	size_t n;
	int r = fleet_trays(f);

	if (!r)
		r = fleet_choose(f, audience, &n);
	for (size_t i = 0; !r && i < f->n; i++) {
		struct fleet_tray *t = &f->tray[i];
		const struct tray_status *s;

		if (!t->chosen)
			continue;
		r = fleet_status_read(f, t);
		s = !r && t->status ? &t->status->s : NULL;
		if (!r && *t->last.refused) {
			r = bwl_fail(e, ESTALE, "what %.79s holds is not known: its status: %.200s",
				     t->name, t->last.refused);
			bwl_hint(e,
				 "nothing was compared: give --against, the policy in force there");
			break;
		}
		if (!s || !s->has_policy || !memcmp(s->policy, x->d.digest, sizeof(s->policy)))
			continue;
		r = bwl_fail(
			e, ESTALE,
			"%.79s holds policy %.79s, version %llu, and not the published %s, version %llu",
			t->name, s->policy_name, (unsigned long long)s->policy_version,
			x->d.terms.name, (unsigned long long)x->d.terms.version);
		bwl_hint(e, "nothing was compared: give --against, the policy in force there");
	}
	return r;
}

int fleet_published(struct fleet *f, const struct fleet_doc *doc, struct fleet_doc *ret)
{
	const char *audience = doc->d.audience,
		   *tray = !strncmp(audience, "tray:", 5) && !strchr(audience, ',') ? audience + 5
										    : NULL;
	int r = doc->d.type == BWL_SIGNED_POLICY
			? fleet_doc_read(f, f->conf.prefix, tray, BWL_DOC_policy, doc->d.terms.name,
					 ret)
			: -ENOENT;

	if (r == -ENOENT) {
		bwl_fail(&f->c->err, ENOENT,
			 "nothing of that name was published, so it is not known what it widens");
		return bwl_hint(&f->c->err, "give --against, the policy in force there");
	}
	if (r)
		return r;
	r = holds(f, ret);
	if (!r)
		r = held_by_trays(f, audience, ret);
	if (r)
		fleet_doc_done(ret);
	return r;
}

/* Whatever is not printable ASCII becomes '?': anybody may have written the document. */
__attribute__((format(printf, 2, 3))) static void ask(json_t *list, const char *fmt, ...)
{
	char text[ASK];
	va_list args;

	va_start(args, fmt);
	vsnprintf(text, sizeof(text), fmt, args);
	va_end(args);
	bwl_text_plain(text, BWL_ASCII);
	json_array_append_new(list, json_string(text));
}

static const char *word(const json_t *o, const char *key)
{
	const char *s = json_string_value(json_object_get(o, key));

	return s ? s : "?";
}

/* "rate 10mbit, volume 1gb per 1d" */
static void ask_grant(json_t *list, const json_t *body)
{
	char limit[ASK / 2] = "";
	const char *key;
	json_t *v;

	json_object_foreach(json_object_get(body, "limit"), key, v)
	{
		size_t n = strlen(limit);

		snprintf(limit + n, sizeof(limit) - n, "%s%.24s %.48s", n ? ", " : "", key,
			 json_is_string(v) ? json_string_value(v) : "?");
	}
	ask(list, "grants peer %.63s: %s", word(body, "peer"), limit);
}

static json_t *asks(const struct bwl_signed *d)
{
	const json_t *body = d->body, *v;
	json_t *list = json_array();
	size_t i;

	if (d->type == BWL_SIGNED_GRANT)
		ask_grant(list, body);
	else if (d->type == BWL_SIGNED_ENROLMENT)
		ask(list, "lets tray %.79s in: it is no longer expelled", word(body, "tray"));
	else if (d->type == BWL_SIGNED_EXPULSION)
		ask(list,
		    "expels %.79s, for good: with these signatures its own keys are destroyed",
		    word(body, "tray"));
	else if (d->type == BWL_SIGNED_ROOT)
		ask(list, "changes who may sign: another root of this fleet");
	json_array_foreach(json_object_get(body, "labels"), i, v)
		ask(list, "label %.120s", json_is_string(v) ? json_string_value(v) : "?");
	json_array_foreach(json_object_get(body, "opens"), i, v)
		ask(list, "opens %.63s, which is closed",
		    json_is_string(v) ? json_string_value(v) : "?");
	json_array_foreach(json_object_get(body, "lifts"), i, v)
		ask(list, "lifts %.63s", json_is_string(v) ? json_string_value(v) : "?");
	if (bwl_payload_yes(body, "fresh_volume"))
		ask(list, "volumes begin unspent");
	if (bwl_payload_yes(body, "break_glass"))
		ask(list,
		    "breaks glass: without the controller and a signed time, for a few hours");
	if (json_is_string(json_object_get(body, "reason")))
		ask(list, "reason: %.300s", word(body, "reason"));
	return list;
}

static int widens(struct fleet *f, const struct fleet_doc *doc, uint64_t size, json_t *into)
{
	struct ctl_widens x = {
		.root = f->root,
		.name = doc->d.terms.name,
		.against = "the published policy",
		.bytes = (const char *)doc->bytes,
		.len = doc->len,
		.size = size,
	};
	struct fleet_doc held;
	int r;

	if (!f->root)
		return bwl_fail(&f->c->err, EINVAL, "nothing is compared: no root is pinned here");
	r = fleet_published(f, doc, &held);
	if (r)
		return r;
	x.held = (const char *)held.bytes;
	x.held_len = held.len;
	r = ctl_approve_widens(f->c, &x, into);
	fleet_doc_done(&held);
	return r;
}

void fleet_words(struct fleet *f, const struct fleet_doc *doc, uint64_t size, bool compare,
		 json_t *into)
{
	bool is_policy = doc->d.type == BWL_SIGNED_POLICY;
	const char *why = !is_policy ? "it is not a policy: what it asks for is listed in full"
				     : "too many are pending: `approve` says what this one widens";
	char text[sizeof(f->c->err.text)];

	json_object_set_new(into, "asks", asks(&doc->d));
	json_object_set_new(into, "why", json_null());
	if (is_policy && compare && !widens(f, doc, size, into))
		return;
	if (is_policy && compare) {
		snprintf(text, sizeof(text), "%s", f->c->err.text);
		f->c->err = (struct bwl_err){ 0 };
		why = text;
	}
	json_object_set_new(into, "widens", json_null());
	json_object_set_new(into, "widening_count", json_null());
	json_object_set_new(into, "widenings", json_array());
	json_object_set_new(into, "size_bytes", bwl_json_u64(size));
	json_object_set_new(into, "least_before_s", json_null());
	json_object_set_new(into, "least_after_s", json_null());
	json_object_set_new(into, "why", json_string(why));
}
