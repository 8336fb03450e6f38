// SPDX-License-Identifier: GPL-2.0-or-later
/* See expel.h. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "ipsec/destroy.h"
#include "ipsec/expel.h"

struct whom {
	const struct bwl_pins *pins;
	const struct bwl_expulsion *x;
};

static bool is_expelled(uint32_t peer, const void *arg)
{
	const struct whom *w = arg;

	if (!peer || peer >= w->pins->schema.max_peers)
		return false;
	for (size_t i = 0; i < w->x->npeers && !w->x->is_us; i++)
		if (!strncmp(w->pins->name[peer].name, w->x->peer[i], BWL_NAME_LEN))
			return true;
	return w->x->is_us;
}

/* A name that is not in the maps cannot be open. */
static int close_maps(struct bwl_pins *p, const struct bwl_expulsion *x, struct bwl_err *e)
{
	int r = x->is_us ? bwl_revoke(p, NULL, e) : 0;

	for (size_t i = 0; i < x->npeers && !x->is_us; i++) {
		struct bwl_err one = { 0 };
		int err = bwl_revoke(p, x->peer[i], &one);

		if (err && err != -ENOENT && !r) {
			*e = one;
			r = err;
		}
	}
	return r;
}

static int drop_kernel(const struct whom *w, struct bwl_expelled *ret, struct bwl_err *e)
{
	struct bwl_xfrm_dropped d = { 0 };
	int r = bwl_xfrm_drop(is_expelled, w, &d, e);

	ret->kernel.sas += d.sas;
	ret->kernel.policies += d.policies;
	return r;
}

int bwl_ipsec_destroy(const char *swanctl, const char *vici, uint64_t timeout_ns,
		      unsigned *ret_files, unsigned *ret_unloaded, char why[static 256],
		      struct bwl_err *e)
{
	struct bwl_destroyed gone;
	struct bwl_err charon = { 0 };
	const char *said = getenv("SWANCTL_DIR"); /* strongSwan's own variable */
	int r = bwl_destroy_keys(swanctl ? swanctl : said ? said : BWL_IPSEC_DIR, &gone, e);

	*why = '\0';
	*ret_files = gone.files;
	if (bwl_destroy_loaded(vici, timeout_ns, gone.ids, ret_unloaded, &charon))
		snprintf(why, 256, "%.255s", charon.text);
	json_decref(gone.ids);
	return r;
}

static void drop_charon(const struct bwl_expulsion *x, struct bwl_expelled *ret)
{
	struct bwl_err e = { 0 };
	int r = bwl_ipsec_drop_peers(x->vici, x->peer, x->is_us ? 0 : x->npeers, x->is_us,
				     x->timeout_ns, &ret->charon, &e);

	if (r && !*ret->charon_why)
		snprintf(ret->charon_why, sizeof(ret->charon_why), "%.255s", e.text);
}

int bwl_expel(struct bwl_pins *p, const struct bwl_expulsion *x, struct bwl_expelled *ret,
	      struct bwl_err *e)
{
	const struct whom w = { p, x };
	struct bwl_err err[4] = { 0 };
	int r[4] = { 0 };

	*ret = (struct bwl_expelled){ 0 };
	r[0] = bwl_pins_whole(p, &err[0]);
	if (!r[0])
		r[0] = close_maps(p, x, &err[0]);
	r[1] = drop_kernel(&w, ret, &err[1]);
	if (x->is_us)
		r[2] = bwl_ipsec_destroy(x->swanctl, x->vici, x->timeout_ns, &ret->keys,
					 &ret->unloaded, ret->charon_why, &err[2]);
	drop_charon(x, ret);
	r[3] = drop_kernel(&w, ret, &err[3]);
	if (!r[3])
		r[1] = 0; /* the second attempt counts */
	for (unsigned i = 0; i < 4; i++) {
		if (!r[i])
			continue;
		*e = err[i];
		return r[i];
	}
	return 0;
}
