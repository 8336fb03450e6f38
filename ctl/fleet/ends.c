// SPDX-License-Identifier: GPL-2.0-or-later
/* See ends.h. */
#include <stdio.h>
#include <string.h>
#include "believe.h"
#include "ends.h"
#include "signed/payload.h"

#define SECOND 1000000000ULL

struct looking {
	struct fleet *f;
	const char *range, *tray;
	struct fleet_ends *ends;
	struct bwl_doc_at at[64]; /* found in the listing; they are read after it */
	unsigned n;
};

static int found(void *arg, const struct bwl_etcd_kv *kv)
{
	struct looking *l = arg;
	struct bwl_doc_at at;

	if (bwl_doc_parse_key(l->range, (const char *)kv->key.at, bwl_pb_len(kv->key), &at) ||
	    (at.kind != BWL_DOC_policy && at.kind != BWL_DOC_grant))
		return 0;
	if (l->n < sizeof(l->at) / sizeof(*l->at))
		l->at[l->n++] = at;
	return 0;
}

static void look_into(struct looking *l, const struct bwl_doc_at *at)
{
	struct fleet_ends one = { .known = true };
	struct fleet_doc x;
	uint64_t offline_ns;

	if (fleet_doc_believe(l->f, l->tray, at->kind, at->name, &x))
		return;
	one.not_after_s = x.d.terms.not_after_s;
	offline_ns = bwl_payload_span(x.d.body, "offline_for", BWL_OFFLINE_FOR_NS);
	if (l->f->time_s)
		one.offline_s = l->f->time_s + (int64_t)(offline_ns / SECOND);
	fleet_ends_worse(l->ends, &one);
	fleet_doc_done(&x);
}

static void look(struct looking *l)
{
	char range[BWL_ETCD_KEY_MAX];
	int64_t revision = 0;
	struct bwl_err e;

	l->range = range;
	l->n = 0;
	if (bwl_doc_range(range, l->f->conf.prefix, l->tray) ||
	    bwl_etcd_keys(l->f->g, range, found, l, &revision, &e))
		return;
	for (unsigned i = 0; i < l->n; i++)
		look_into(l, &l->at[i]);
}

void fleet_ends_of(struct fleet *f, const struct fleet_tray *t, struct fleet_ends *ret)
{
	struct looking l = { .f = f, .ends = &f->ends };
	struct fleet_doc x;

	if (!f->ends_read) {
		f->ends_read = true;
		if (!fleet_doc_believe(f, NULL, BWL_DOC_timestamp, "time", &x)) {
			f->time_s = x.d.terms.issued_s;
			fleet_doc_done(&x);
		}
		look(&l);
	}
	*ret = f->ends;
	l.ends = ret;
	l.tray = t->name;
	look(&l);
}

void fleet_ends_worse(struct fleet_ends *worst, const struct fleet_ends *one)
{
	if (!one->known)
		return;
	if (one->not_after_s > worst->not_after_s)
		worst->not_after_s = one->not_after_s;
	if (one->offline_s > worst->offline_s)
		worst->offline_s = one->offline_s;
	worst->known = true;
}

void fleet_ends_json(json_t *o, const struct fleet_ends *ends)
{
	char buf[BWL_TIME_BUF];

	json_object_set_new(o, "ends_at",
			    ends && ends->known ? json_string(bwl_utc(ends->not_after_s, -1, buf))
						: json_null());
	json_object_set_new(o, "ends_offline_at",
			    ends && ends->known && ends->offline_s
				    ? json_string(bwl_utc(ends->offline_s, -1, buf))
				    : json_null());
}

void fleet_ends_text(const struct fleet_ends *ends)
{
	char a[BWL_TIME_BUF], b[BWL_TIME_BUF];

	if (!ends->known) {
		puts("the store has no policy and no grant of theirs");
		return;
	}
	bwl_put(stdout,
		"what they were granted ends at %s at the latest, when it was signed to end",
		bwl_utc(ends->not_after_s, -1, a));
	if (ends->offline_s) {
		puts(";");
		bwl_put(stdout, "at %s where no newer signed time reaches them (offline_for)",
			bwl_utc(ends->offline_s, -1, b));
	}
	puts(".");
}
