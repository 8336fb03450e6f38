/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Internal: removes this tray's own secrets from the disk and from charon. */
#ifndef BWL_IPSEC_DESTROY_H
#define BWL_IPSEC_DESTROY_H

#include "ipsec/vici.h"

struct bwl_destroyed {
	json_t *ids; /* ids of the keys in charon; the caller drops it */
	unsigned files;
};
/*
 * Overwrites, syncs and unlinks every file of dir/private, ecdsa, rsa, pkcs8 and ppk. Continues
 * after a failure; the first failure is the error. Flash may keep what was overwritten.
 */
int bwl_destroy_keys(const char *dir, struct bwl_destroyed *ret, struct bwl_err *e);
/*
 * Unloads keys from charon: these, and all that it has. A charon that hangs does it when it
 * continues, for known ids.
 */
int bwl_destroy_loaded(const char *socket, uint64_t timeout_ns, const json_t *ids, unsigned *ret,
		       struct bwl_err *e);

#endif
