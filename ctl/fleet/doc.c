// SPDX-License-Identifier: GPL-2.0-or-later
/* Documents as they are in the store: see fleet.h. */
#include <stdlib.h>
#include <string.h>
#include "../signed.h"
#include "fleet.h"

enum bwl_doc_kind fleet_kind(enum bwl_signed_type t)
{
	const char *word = bwl_signed_word(t);

	return bwl_doc_kind_of(word, strlen(word));
}

void fleet_doc_done(struct fleet_doc *x)
{
	free(x->bytes);
	bwl_signed_free(&x->d);
	*x = (struct fleet_doc){ 0 };
}

/* In one value or in parts. If both exist, the one that was written later. */
int fleet_doc_bytes(struct fleet *f, const char *prefix, const char *tray, enum bwl_doc_kind kind,
		    const char *name, struct fleet_doc *ret)
{
	struct fleet_doc two[2] = { { .big = false }, { .big = true } };
	char key[BWL_ETCD_KEY_MAX];
	int r = -ENOENT;

	*ret = (struct fleet_doc){ 0 };
	for (unsigned i = 0; i < 2; i++) {
		struct bwl_err e = { 0 };
		int one = bwl_doc_key(key, prefix, tray, kind, name, i);

		if (!one)
			one = bwl_doc_fetch(f->g, prefix, key, i, &two[i].bytes, &two[i].len,
					    &two[i].mod, &e);
		if (one && one != -ENOENT) {
			f->c->err = e;
			r = one;
			break;
		}
		if (!one)
			r = 0;
	}
	if (!r) {
		unsigned newer = two[1].mod > two[0].mod;

		*ret = two[newer];
		two[newer].bytes = NULL;
	}
	free(two[0].bytes);
	free(two[1].bytes);
	return r;
}

int fleet_doc_read(struct fleet *f, const char *prefix, const char *tray, enum bwl_doc_kind kind,
		   const char *name, struct fleet_doc *ret)
{
	int r = fleet_doc_bytes(f, prefix, tray, kind, name, ret);

	r = r ? r : bwl_signed_peek((const char *)ret->bytes, ret->len, &ret->d, &f->c->err);
	if (r)
		fleet_doc_done(ret);
	return r;
}
