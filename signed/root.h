/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The root: the keys, their owners and roles, and how many different owners a role needs. It is
 * itself a signed document, and the next one is signed by enough of this one and enough of its own
 * (TUF's rule), so that it can be replaced without visiting a tray.
 */
#ifndef BWL_SIGNED_ROOT_H
#define BWL_SIGNED_ROOT_H

#include <bwl/cleanup.h>
#include "signed/document.h"

struct bwl_root;

/*
 * A root that somebody brings in person: signed by enough of its own keys. It is trusted because
 * people compared its digest (`bwlimit-ctl enrol`), or because this file was kept.
 */
int bwl_root_first(const char *bytes, size_t len, struct bwl_root **ret, struct bwl_err *e);
/*
 * The next root: version exactly one higher, the same fleet, signed by enough of `old` and of
 * itself. An expired root can still be replaced, otherwise nobody could.
 */
int bwl_root_next(const struct bwl_root *old, const char *bytes, size_t len, struct bwl_root **ret,
		  struct bwl_err *e);
void bwl_root_free(struct bwl_root *r);
BWL_AUTO_DEFINE(bwl_root_free, struct bwl_root *)

const char *bwl_root_fleet(const struct bwl_root *r);
const struct bwl_signed_terms *bwl_root_terms(const struct bwl_root *r);
const uint8_t *bwl_root_digest(const struct bwl_root *r); /* 32 bytes */
unsigned bwl_root_threshold(const struct bwl_root *r, enum bwl_role role);
const char *bwl_role_word(enum bwl_role role);
/* The key's owner, if it has the role; NULL. */
const char *bwl_root_owner(const struct bwl_root *r, const char *id, enum bwl_role role);
/* Has every key of the role in a that role in b, too? */
bool bwl_root_keeps(const struct bwl_root *a, const struct bwl_root *b, enum bwl_role role);
/*
 * How many different owners of keys of the role have valid signatures. ret_one may be NULL: the
 * owner if it is only one person, otherwise empty.
 */
struct bwl_envelope;
unsigned bwl_root_people(const struct bwl_root *r, enum bwl_role role, const struct bwl_envelope *v,
			 char *ret_one);

#endif
