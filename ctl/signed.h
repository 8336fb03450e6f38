/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Shared by the commands for signed documents. */
#ifndef BWL_CTL_SIGNED_H
#define BWL_CTL_SIGNED_H

#include "ctl.h"
#include "signed/envelope.h"
#include "signed/root.h"

/* A whole file; the caller frees it. */
int ctl_signed_read(struct ctl *c, const char *file, char **ret, size_t *ret_len);
/* A root from its file, signed by enough of itself. */
int ctl_signed_root(struct ctl *c, const char *file, struct bwl_root **ret);
/* An envelope, replaced as a whole. */
int ctl_signed_write(struct ctl *c, const char *file, const struct bwl_envelope *v);
/* Its own claims, and its signers; people -1: not verified. enough: may it widen? */
int ctl_signed_show(struct ctl *c, const char *file, const char *bytes, size_t len,
		    const struct bwl_root *root, int people, bool enough);

/* What `approve` would report as widened by a policy or a grant, without signing. */
struct ctl_widens {
	struct bwl_root *root;
	const char *name; /* for errors: the document, and what it is compared with */
	const char *against;
	const char *bytes, *held; /* both signed */
	size_t len, held_len;
	uint64_t size; /* bytes that must not leave */
};
/* Sets the fields of docs/schema/approve.json from `widens` to `least_after_s`. */
int ctl_approve_widens(struct ctl *c, const struct ctl_widens *x, json_t *into);

/* signed.c, approve.c: the commands */
int ctl_policy_sign(struct ctl *c, int argc, char **argv);
int ctl_policy_verify(struct ctl *c, int argc, char **argv);
int ctl_lease_sign(struct ctl *c, int argc, char **argv); /* lease_sign.c */

#endif
