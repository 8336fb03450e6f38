// SPDX-License-Identifier: GPL-2.0-or-later
/* Whether a document is taken: see docs.h. taken.c has what it then changes. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <openssl/evp.h>
#include <bwl/encode.h>
#include "docs.h"
#include "signed/bounds.h"
#include "signed/closing.h"
#include "signed/envelope.h"
#include "signed/payload.h"

static int refuse(struct bwl_err *e, int code, const char *id)
{
	if (e)
		e->id = id;
	return -code;
}

static int judge_root(const struct docs *s, const struct bwl_envelope *env, const char *bytes,
		      size_t len, struct docs_verdict *v, struct bwl_err *e)
{
	BWL_AUTO(bwl_root_free) struct bwl_root *next = NULL;
	const struct bwl_root *root = bwl_memory_root(s->m);
	uint8_t digest[32];
	int r;

	if (EVP_Digest(env->payload, env->len, digest, NULL, EVP_sha256(), NULL) != 1)
		abort();
	v->root = true;
	v->known = !memcmp(digest, bwl_root_digest(root), sizeof(digest));
	if (v->known)
		return bwl_signed_peek(bytes, len, &v->d, e);
	r = bwl_root_next(root, bytes, len, &next, e);
	if (r && e && !e->id)
		e->id = "signed-untrusted";
	return r ? r : bwl_signed_peek(bytes, len, &v->d, e);
}

/*
 * Names up to three places where it is wider, the last found first: a later end is found first, and
 * is seldom interesting.
 */
static void too_few(const struct docs_verdict *v, const struct bwl_widened *w, struct bwl_err *e)
{
	size_t kept = w->n < BWL_WIDENINGS_KEPT ? w->n : BWL_WIDENINGS_KEPT;
	char text[BWL_WIDENING_TEXT], list[3 * BWL_WIDENING_TEXT] = "";

	for (size_t i = 0; i < kept && i < 3; i++)
		snprintf(list + strlen(list), sizeof(list) - strlen(list), "%s%s", i ? "; " : "",
			 bwl_widening_text(&w->item[kept - 1 - i], text));
	bwl_fail(e, EKEYREJECTED, "the %s %s widens, but is signed by only %u: %s",
		 bwl_signed_word(v->d.type), v->d.terms.name, v->d.people, list);
	bwl_hint(e, "bwlimit-ctl approve, by another person");
	refuse(e, EKEYREJECTED, "signed-widens");
}

/* Whatever is wider than what holds needs as many people as the role's threshold says. */
static int widens(const struct docs *s, struct docs_verdict *v, const struct docs_holding *from,
		  struct docs_holding *to, struct bwl_err *e)
{
	const json_t *opens = json_object_get(v->d.body, "opens"),
		     *lifts = json_object_get(v->d.body, "lifts"), *name;
	BWL_AUTO_FREE const char **closed = bwl_must(
		calloc(json_array_size(opens) + json_array_size(lifts) + 1, sizeof(*closed)));
	struct bwl_holding was = from->h;
	struct bwl_widened w;
	size_t i;

	json_array_foreach(opens, i, name) closed[i] = json_string_value(name);
	was.closed = closed;
	was.nclosed = json_array_size(opens);
	json_array_foreach(lifts, i, name) closed[was.nclosed++] = json_string_value(name);
	if (was.nclosed && v->d.terms.issued_s <= bwl_memory_closed(s->m)) {
		bwl_fail(
			e, ESTALE,
			"the %s %s opens what a revocation closed after it was signed: sign a new one",
			bwl_signed_word(v->d.type), v->d.terms.name);
		return refuse(e, ESTALE, "signed-old");
	}
	v->widens = bwl_widens(&was, &to->h, &w);
	if (v->widens && !v->d.enough)
		too_few(v, &w, e);
	bwl_widened_free(&w);
	return v->widens && !v->d.enough ? -EKEYREJECTED : 0;
}

/* What holds where no policy does. */
static void nothing(struct docs_holding *ret)
{
	*ret = (struct docs_holding){ .pol = bwl_policy_new() };
	ret->h = (struct bwl_holding){ .pol = ret->pol };
}

static int holding_now(const struct docs *s, struct docs_holding *ret, struct bwl_err *e)
{
	const struct docs_one *now = docs_policy(s);

	if (now)
		return docs_hold(s, now, NULL, ret, e);
	nothing(ret);
	return 0;
}

static int check_policy(const struct docs_verdict *v, const struct docs_holding *to,
			struct bwl_err *e)
{
	if (!to->pol->lease_ns || bwl_payload_text(v->d.body, "lease_most"))
		return 0;
	bwl_fail(
		e, EBADMSG,
		"the policy %s has `lease`, but its document has no `lease_most`: the lease could not be renewed",
		v->d.terms.name);
	return refuse(e, EBADMSG, "signed-malformed");
}

/* Whatever its name is: a policy that was held back until people had signed another one is void. */
static int is_newer(const struct docs *s, const struct docs_verdict *v, struct bwl_err *e)
{
	const struct bwl_digest *held;
	size_t n;

	held = bwl_memory_held(s->m, &n);
	for (size_t i = 0; i < n; i++) {
		const struct docs_one *o = docs_find(s, held[i].b);
		int order = o ? bwl_signed_order(&v->d.terms, &o->d.terms) : 1;

		if (!o || v->d.terms.epoch > o->d.terms.epoch || order > 0 ||
		    (v->d.terms.issued_s == o->d.terms.issued_s &&
		     !strcmp(v->d.terms.name, o->d.terms.name)))
			continue;
		bwl_fail(
			e, ESTALE,
			"the policy %s was signed before the policy %s, which is in force: sign a new one",
			v->d.terms.name, o->d.terms.name);
		return refuse(e, ESTALE, "signed-old");
	}
	return 0;
}

static int judge_policy(const struct docs *s, struct docs_verdict *v, struct bwl_err *e)
{
	struct docs_holding from = { 0 }, to = { 0 };
	const struct docs_one as_held = { .d = v->d };
	int r = is_newer(s, v, e);

	if (!r)
		r = holding_now(s, &from, e);
	if (!r)
		r = docs_hold(s, &as_held, NULL, &to, e);
	if (!r)
		r = check_policy(v, &to, e);
	if (!r) {
		to.h.fresh_volume = bwl_payload_yes(v->d.body, "fresh_volume");
		r = widens(s, v, &from, &to, e);
	}
	v->waits = v->widens && bwl_payload_yes(v->d.body, "stages");
	docs_holding_free(&from);
	docs_holding_free(&to);
	return r;
}

static int grant_on(const struct docs *s, const struct docs_one *policy, struct docs_verdict *v,
		    struct bwl_err *e)
{
	struct docs_holding from = { 0 }, to = { 0 };
	int r = docs_hold(s, policy, NULL, &from, e);

	if (!r)
		r = docs_hold(s, policy, &v->d, &to, e);
	if (!r)
		r = widens(s, v, &from, &to, e);
	docs_holding_free(&from);
	docs_holding_free(&to);
	return r;
}

/*
 * The grant is judged on the policy that holds, and on the other one that a rollout may put in its
 * place: less than the one may be more than the other, and the controller chooses.
 */
static int judge_grant(const struct docs *s, struct docs_verdict *v, struct bwl_err *e)
{
	const struct docs_one *policy = docs_policy(s);
	const struct bwl_digest *held;
	bool is_wider;
	size_t n;
	int r;

	if (!policy) {
		bwl_fail(e, ENOENT,
			 "the grant %s: no signed policy is in force that it could belong to",
			 v->d.terms.name);
		return refuse(e, ENOENT, "signed-bounds");
	}
	if (bwl_signed_order(&v->d.terms, &policy->d.terms) < 0) {
		bwl_fail(
			e, ESTALE,
			"the grant %s was signed before the policy %s, which is in force: sign a new one",
			v->d.terms.name, policy->d.terms.name);
		return refuse(e, ESTALE, "signed-old");
	}
	r = grant_on(s, policy, v, e);
	is_wider = v->widens;
	held = bwl_memory_held(s->m, &n);
	for (size_t i = 0; !r && i < n; i++) {
		const struct docs_one *other = docs_find(s, held[i].b);

		if (other && other != policy && bwl_signed_order(&v->d.terms, &other->d.terms) >= 0)
			r = grant_on(s, other, v, e);
		if (r == -ENOENT) /* that policy lacks the peer */
			r = 0;
	}
	v->widens = is_wider;
	if (r && e && !e->id)
		e->id = "signed-malformed";
	return r;
}

/* The held policy that the lease is for. */
static const struct docs_one *leased_policy(const struct docs *s, const struct bwl_signed *lease,
					    const struct bwl_digest *held, size_t n)
{
	const char *hex = bwl_payload_text(lease->body, "policy");
	uint8_t of[32];

	for (size_t i = 0; i < n && hex && bwl_hex_decode(hex, of, sizeof(of)); i++)
		if (!memcmp(of, held[i].b, sizeof(of)))
			return docs_find(s, of);
	return NULL;
}

/*
 * Is it within what people signed? A rollout is judged by the policy that waits for one. A lease is
 * judged by the held policy that it names, so that a policy that is chosen, or gone back to,
 * already has its lease.
 */
static int judge_online(const struct docs *s, const struct docs_verdict *v,
			const struct docs_clock *c, struct bwl_err *e)
{
	const struct docs_one *policy = docs_policy(s);
	const struct bwl_digest *held;
	struct bwl_bounds b = { 0 };
	uint64_t ns;
	size_t n;

	held = bwl_memory_held(s->m, &n);
	if (v->d.type == BWL_SIGNED_ROLLOUT && n > 1)
		policy = docs_find(s, held[1].b);
	if (v->d.type == BWL_SIGNED_LEASE)
		policy = leased_policy(s, &v->d, held, n);
	if (policy)
		b = bwl_bounds_of(&policy->d);
	b.may_hold = (const uint8_t(*)[32])(const void *)held;
	b.nmay_hold = n;
	return bwl_bounds_check(&b, &v->d, docs_now(s, c), &ns, e);
}

static int judge_enrolment(const struct docs *s, const struct docs_verdict *v, struct bwl_err *e)
{
	char hex[65];

	bwl_hex_encode(bwl_root_digest(bwl_memory_root(s->m)), 32, hex);
	if (!strcmp(bwl_payload_text(v->d.body, "root"), hex))
		return 0;
	bwl_fail(e, EBADMSG, "the enrolment %s is under another root than %.16s…", v->d.terms.name,
		 hex);
	return refuse(e, EBADMSG, "signed-untrusted");
}

int docs_judge_more(const struct docs *s, struct docs_verdict *v, const struct docs_clock *c,
		    struct bwl_err *e)
{
	if (bwl_payload_yes(v->d.body, "break_glass")) {
		bwl_fail(
			e, EBADMSG,
			"the %s %s is for break-glass: apply it at the tray: bwlimit-ctl break-glass",
			bwl_signed_word(v->d.type), v->d.terms.name);
		return refuse(e, EBADMSG, "signed-bounds");
	}
	switch (v->d.type) {
	case BWL_SIGNED_POLICY:
		return judge_policy(s, v, e);
	case BWL_SIGNED_GRANT:
		return judge_grant(s, v, e);
	case BWL_SIGNED_LEASE:
	case BWL_SIGNED_ROLLOUT:
	case BWL_SIGNED_TIMESTAMP:
		return judge_online(s, v, c, e);
	case BWL_SIGNED_ENROLMENT:
		return judge_enrolment(s, v, e);
	default:
		return 0;
	}
}

/* What closes does not wait, and the controller's clock need not be this one's. */
static bool may_be_early(const struct bwl_signed *d)
{
	return bwl_closes(d->type) || bwl_signed_role(d->type) != BWL_ROLE_POLICY;
}

int docs_judge(const struct docs *s, const char *bytes, size_t len, const struct docs_clock *c,
	       struct docs_verdict *ret, struct bwl_err *e)
{
	struct bwl_envelope env;
	int r;

	*ret = (struct docs_verdict){ 0 };
	r = bwl_envelope_parse(bytes, len, &env, e);
	if (r)
		return r;
	if (env.type == BWL_SIGNED_ROOT) {
		r = judge_root(s, &env, bytes, len, ret, e);
	} else {
		r = bwl_signed_open_envelope(&env, bwl_memory_root(s->m), bwl_memory_tray(s->m),
					     docs_now(s, c), &ret->d, e);
		if (!r)
			r = bwl_memory_judge(s->m, &ret->d, e);
		if (!r && !may_be_early(&ret->d))
			r = bwl_signed_not_early(&ret->d, docs_now(s, c), e);
		ret->seconds = r == 1 && bwl_memory_seconds(s->m, &ret->d);
		ret->known = r == 1 && !ret->seconds;
		if (!r)
			r = docs_judge_more(s, ret, c, e);
	}
	bwl_envelope_free(&env);
	if (r < 0)
		docs_verdict_free(ret);
	return r < 0 ? r : 0;
}

void docs_verdict_free(struct docs_verdict *v)
{
	bwl_signed_free(&v->d);
}
