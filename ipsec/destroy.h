/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Inside: this tray's own secrets, out of the disk and out of charon. */
#ifndef BWL_IPSEC_DESTROY_H
#define BWL_IPSEC_DESTROY_H

#include "ipsec/vici.h"

struct bwl_destroyed {
	json_t *ids; /* of the keys, as charon has them; the caller drops it */
	unsigned files;
};
/*
 * Every file of dir/private, ecdsa, rsa, pkcs8 and ppk: overwritten, synced, unlinked. Goes on
 * after one that fails; the first failure is the error. Flash may keep what was overwritten.
 */
int bwl_destroy_keys(const char *dir, struct bwl_destroyed *ret, struct bwl_err *e);
/*
 * Keys out of charon: these and all that it has. Where it hangs it does it when it goes on, as far
 * as ids are known.
 */
int bwl_destroy_loaded(const char *socket, uint64_t timeout_ns, const json_t *ids, unsigned *ret,
		       struct bwl_err *e);

#endif
