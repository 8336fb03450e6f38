// SPDX-License-Identifier: GPL-2.0-or-later
/* See believe.h. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include "believe.h"
#include "signed/payload.h"

void fleet_tampered(struct fleet *f, const char *tray, enum bwl_doc_kind kind, const char *name,
		    const struct bwl_err *why)
{
	char what[BWL_DOC_NAME_MAX + 16];
	const json_t *one;
	json_t *o;
	size_t i;

	snprintf(what, sizeof(what), "%s/%s", bwl_doc_kind_name(kind), name);
	o = json_pack("{s:s, s:o, s:s}", "document", what, "tray", bwl_json_text(tray), "why",
		      why->text);
	f->tampering = f->tampering ? f->tampering : json_array();
	json_array_foreach(f->tampering, i, one)
	{
		if (!json_equal(one, o))
			continue;
		json_decref(o);
		return;
	}
	bwl_warn(
		"tampering: %.90s in the store%s%.79s counts for nothing here: %.200s; or the root that is pinned here is not the newest",
		what, tray ? ", of tray " : "", tray ? tray : "", why->text);
	json_array_append_new(bwl_must(f->tampering), o);
}

json_t *fleet_tampering(const struct fleet *f)
{
	return f->tampering ? json_incref(f->tampering) : json_array();
}

static bool is_over(const struct bwl_err *why)
{
	return why->id && !strcmp(why->id, "signed-expired");
}

/* People's signature stays valid even if the document, or their root, has expired since. */
static int judge(struct fleet *f, struct fleet_doc *x, struct bwl_err *e)
{
	int r = bwl_signed_open((const char *)x->bytes, x->len, f->root, NULL, time(NULL), &x->d,
				e);

	if (!r || !is_over(e))
		return r;
	x->why_over = *e;
	x->over = true;
	r = bwl_signed_peek((const char *)x->bytes, x->len, &x->d, e);
	if (!r) {
		int64_t then_s = x->d.terms.issued_s;

		bwl_signed_free(&x->d);
		r = bwl_signed_open((const char *)x->bytes, x->len, f->root, NULL, then_s, &x->d,
				    e);
	}
	return r;
}

static bool is_what(const struct bwl_signed *d, enum bwl_doc_kind kind, const char *name,
		    struct bwl_err *e)
{
	if (fleet_kind(d->type) == kind && !strcmp(d->terms.name, name))
		return true;
	bwl_fail(e, EBADMSG, "the document there is %s/%s", bwl_signed_word(d->type),
		 d->terms.name);
	return false;
}

int fleet_doc_believe(struct fleet *f, const char *tray, enum bwl_doc_kind kind, const char *name,
		      struct fleet_doc *ret)
{
	struct bwl_err why = { 0 };
	int r = f->root ? fleet_doc_bytes(f, f->conf.prefix, tray, kind, name, ret) : -ENOENT;

	if (r == -EUCLEAN || r == -EMSGSIZE) { /* these are not parts of a document */
		why = f->c->err;
		r = -EKEYREJECTED;
	} else if (!r) {
		if (judge(f, ret, &why) || !is_what(&ret->d, kind, name, &why))
			r = -EKEYREJECTED;
	}
	if (r != -EKEYREJECTED)
		return r;
	fleet_doc_done(ret);
	fleet_tampered(f, tray, kind, name, &why);
	f->c->err = why;
	return r;
}

int fleet_enrolment(struct fleet *f, const char *tray, struct fleet_doc *ret)
{
	int r = fleet_doc_believe(f, tray, BWL_DOC_enrolment, tray, ret);

	/* A tray that was expelled and readmitted has an enrolment for all. */
	return r == -ENOENT ? fleet_doc_believe(f, NULL, BWL_DOC_enrolment, tray, ret) : r;
}

int fleet_is_expelled(struct fleet *f, const char *tray, bool *ret)
{
	struct fleet_doc x, in;
	int r = fleet_doc_believe(f, NULL, BWL_DOC_expulsion, tray, &x);

	*ret = false;
	if (r)
		return r == -ENOENT || r == -EKEYREJECTED ? 0 : r;
	*ret = !strcmp(bwl_payload_text(x.d.body, "tray"), tray);
	/* The same rule as on trays (signed/memory_expelled.c). */
	for (unsigned i = 0; *ret && i < 2; i++) {
		r = fleet_doc_believe(f, i ? NULL : tray, BWL_DOC_enrolment, tray, &in);
		if (r == -ENOENT || r == -EKEYREJECTED) {
			r = 0;
			continue;
		}
		if (r)
			break;
		*ret = in.d.terms.epoch < x.d.terms.epoch ||
		       in.d.terms.issued_s <= x.d.terms.issued_s ||
		       strcmp(bwl_payload_text(in.d.body, "tray"), tray);
		fleet_doc_done(&in);
	}
	fleet_doc_done(&x);
	return r;
}
