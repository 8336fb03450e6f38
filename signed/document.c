// SPDX-License-Identifier: GPL-2.0-or-later
/* See document.h. */
#include <stdio.h>
#include <string.h>
#include <openssl/evp.h>
#include <bwl/doc.h>
#include "signed/envelope.h"
#include "signed/payload.h"
#include "signed/root.h"

/* Clocks differ: a document may be issued this far in the future. */
#define AHEAD_S 60

static bool one_suffices(enum bwl_signed_type t)
{
	static const bool one_of[] = {
#define X(type, w, role, one) [BWL_SIGNED_##type] = one,
		BWL_SIGNED_TYPES(X)
#undef X
	};

	return one_of[t];
}

static int refuse(struct bwl_err *e, int code, const char *id)
{
	if (e)
		e->id = id;
	return -code;
}

/* Under an expired root one person's signature still closes, but nothing opens. */
static int is_trusted(const struct bwl_envelope *v, const struct bwl_root *root, int64_t now_s,
		      struct bwl_signed *ret, struct bwl_err *e)
{
	bool ended = bwl_root_terms(root)->not_after_s <= now_s;
	enum bwl_role role = bwl_signed_role(v->type);
	unsigned most = bwl_root_threshold(root, role), least = one_suffices(v->type) ? 1 : most;

	ret->people = bwl_root_people(root, role, v, ret->by);
	ret->enough = ret->people >= most && !ended;
	if (ended && !one_suffices(v->type)) {
		bwl_fail(e, ETIME, "the root has expired: a new one is needed before any %s",
			 bwl_signed_word(v->type));
		return refuse(e, ETIME, "signed-expired");
	}
	if (ret->people >= least)
		return 0;
	bwl_fail(
		e, EKEYREJECTED,
		"the %s is signed by %u of the people of role %s but needs %u: signatures by other keys, or over other bytes, do not count",
		bwl_signed_word(v->type), ret->people, bwl_role_word(role), least);
	return refuse(e, EKEYREJECTED, "signed-untrusted");
}

static int is_for(const struct bwl_envelope *v, const struct bwl_root *root,
		  const struct bwl_tray *who, struct bwl_err *e)
{
	if (strcmp(v->fleet, bwl_root_fleet(root)))
		bwl_fail(e, EXDEV, "the %s is for fleet %s, but this is fleet %s",
			 bwl_signed_word(v->type), v->fleet, bwl_root_fleet(root));
	else if (who && !bwl_audience_has(v->audience, who))
		bwl_fail(e, EXDEV, "the %s is for %.200s, but this is tray %s",
			 bwl_signed_word(v->type), v->audience, who->name);
	else
		return 0;
	return refuse(e, EXDEV, "signed-audience");
}

int bwl_signed_not_early(const struct bwl_signed *d, int64_t now_s, struct bwl_err *e)
{
	char when[BWL_TIME_BUF];

	if (d->terms.issued_s <= now_s)
		return 0;
	bwl_fail(e, EAGAIN, "the %s %s, version %llu, is from the future: %s, in %lld s",
		 bwl_signed_word(d->type), d->terms.name, (unsigned long long)d->terms.version,
		 bwl_utc(d->terms.issued_s, -1, when), (long long)(d->terms.issued_s - now_s));
	bwl_hint(e, "it counts from then on; check the clock of this machine and the signer's");
	return refuse(e, EAGAIN, "signed-early");
}

static int is_timely(const struct bwl_signed *d, int64_t now_s, struct bwl_err *e)
{
	char when[BWL_TIME_BUF];

	if (d->terms.not_after_s <= now_s) {
		bwl_fail(e, ETIME, "the %s %s, version %llu, ended at %s", bwl_signed_word(d->type),
			 d->terms.name, (unsigned long long)d->terms.version,
			 bwl_utc(d->terms.not_after_s, -1, when));
		return refuse(e, ETIME, "signed-expired");
	}
	/* a timestamp may be ahead of this clock, because it corrects the clock */
	if (d->type == BWL_SIGNED_TIMESTAMP || d->terms.issued_s <= now_s + AHEAD_S)
		return 0;
	return bwl_signed_not_early(d, now_s, e);
}

static int take(const struct bwl_envelope *v, struct bwl_signed *ret, struct bwl_err *e)
{
	int r = bwl_payload_parse(v, &ret->terms, &ret->body, e);

	if (!r && EVP_Digest(v->payload, v->len, ret->digest, NULL, EVP_sha256(), NULL) != 1)
		abort();
	ret->type = v->type;
	ret->serial = v->serial;
	strcpy(ret->fleet, v->fleet);
	strcpy(ret->audience, v->audience);
	return r;
}

int bwl_signed_open_envelope(const struct bwl_envelope *v, const struct bwl_root *root,
			     const struct bwl_tray *who, int64_t now_s, struct bwl_signed *ret,
			     struct bwl_err *e)
{
	int r = 0;

	*ret = (struct bwl_signed){ 0 };
	if (v->type == BWL_SIGNED_ROOT) {
		bwl_fail(e, EBADMSG, "a root is enrolled, not applied: bwlimit-ctl enrol");
		r = refuse(e, EBADMSG, "signed-malformed");
	}
	if (!r)
		r = is_for(v, root, who, e);
	if (!r)
		r = is_trusted(v, root, now_s, ret, e);
	if (!r)
		r = take(v, ret, e);
	if (!r)
		r = is_timely(ret, now_s, e);
	if (r)
		bwl_signed_free(ret);
	return r;
}

int bwl_signed_open(const char *bytes, size_t len, const struct bwl_root *root,
		    const struct bwl_tray *who, int64_t now_s, struct bwl_signed *ret,
		    struct bwl_err *e)
{
	struct bwl_envelope v;
	int r = bwl_envelope_parse(bytes, len, &v, e);

	*ret = (struct bwl_signed){ 0 };
	if (r)
		return r;
	r = bwl_signed_open_envelope(&v, root, who, now_s, ret, e);
	bwl_envelope_free(&v);
	return r;
}

int bwl_signed_peek(const char *bytes, size_t len, struct bwl_signed *ret, struct bwl_err *e)
{
	struct bwl_envelope v;
	int r = bwl_envelope_parse(bytes, len, &v, e);

	*ret = (struct bwl_signed){ 0 };
	if (r)
		return r;
	r = take(&v, ret, e);
	bwl_envelope_free(&v);
	if (r)
		bwl_signed_free(ret);
	return r;
}

int bwl_signed_order(const struct bwl_signed_terms *a, const struct bwl_signed_terms *b)
{
	if (a->issued_s != b->issued_s)
		return a->issued_s < b->issued_s ? -1 : 1;
	if (a->issued_ms < 0 || b->issued_ms < 0)
		return 0;
	return (a->issued_ms > b->issued_ms) - (a->issued_ms < b->issued_ms);
}

void bwl_signed_free(struct bwl_signed *d)
{
	json_decref(d->body);
	*d = (struct bwl_signed){ 0 };
}
