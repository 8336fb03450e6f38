// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Documents signed with the online key, and what leaders keep in the store, always behind the
 * fence: see lead.h.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "bwl/clock.h"
#include "bwl/doc.h"
#include "lead.h"
#include "signed/envelope.h"

bool lead_is_late(const struct lead *l)
{
	return bwl_now_ns() > l->until_ns;
}

static int sign(struct lead *l, const struct lead_document *d, char **ret, struct bwl_err *e)
{
	char issued[BWL_TIME_BUF], until[BWL_TIME_BUF];
	json_t *o = d->more ? d->more : json_object();
	struct bwl_envelope v;
	size_t len;
	int r;

	json_object_set_new(o, "name", json_string(d->name));
	json_object_set_new(o, "epoch", bwl_json_u64(l->v->epoch ? l->v->epoch : 1));
	json_object_set_new(o, "version", bwl_json_u64(d->version));
	json_object_set_new(o, "issued_at", json_string(bwl_utc(d->now_s, -1, issued)));
	json_object_set_new(o, "not_after", json_string(bwl_utc(d->not_after_s, -1, until)));
	r = bwl_envelope_new(d->type, bwl_root_fleet(l->v->root), d->audience, o, &v, e);
	json_decref(o);
	if (r)
		return r;
	r = bwl_envelope_sign(&v, l->online, e);
	*ret = r ? NULL : bwl_envelope_text(&v, &len);
	bwl_envelope_free(&v);
	return r;
}

int lead_publish(struct lead *l, const struct lead_document *d, const struct bwl_etcd_put *with,
		 unsigned nwith, struct bwl_err *e)
{
	struct bwl_etcd_put also[BWL_DOC_WITH_MAX] = { bwl_election_fence(l->el) };
	const char *kind = bwl_signed_word(d->type);
	struct bwl_doc doc = {
		.prefix = l->c->o->prefix,
		.tray = *d->tray ? d->tray : NULL,
		.kind = bwl_doc_kind_of(kind, strlen(kind)),
		.name = d->key_name,
		.with = also,
		.nwith = 1 + nwith,
	};
	BWL_AUTO_FREE char *text = NULL;
	int64_t revision;
	int r = sign(l, d, &text, e);

	if (r)
		return r;
	for (unsigned i = 0; i < nwith && i + 1 < BWL_DOC_WITH_MAX; i++)
		also[1 + i] = with[i];
	doc.at = text;
	doc.len = strlen(text);
	return bwl_doc_publish(l->g, &doc, BWL_ETCD_ANY, &revision, e);
}

int lead_put(struct lead *l, const struct bwl_etcd_put *put, unsigned n, struct bwl_err *e)
{
	struct bwl_etcd_put all[BWL_DOC_WITH_MAX] = { bwl_election_fence(l->el) };
	int64_t revision;

	for (unsigned i = 0; i < n && i + 1 < BWL_DOC_WITH_MAX; i++)
		all[1 + i] = put[i];
	return bwl_etcd_txn(l->g, all, 1 + n, &revision, e);
}

int lead_key(const struct lead *l, const char *what, const char *tray, const char *name,
	     char key[static BWL_ETCD_KEY_MAX])
{
	/* "-" means all: no tray has that name (bwl_is_name) */
	int n = snprintf(key, BWL_ETCD_KEY_MAX, "%s/controller/%s/%s/%s", l->c->o->prefix, what,
			 *tray ? tray : "-", name);

	return n < BWL_ETCD_KEY_MAX ? 0 : -ENAMETOOLONG;
}
