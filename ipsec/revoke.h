/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Revocation in charon. The map was closed before (promise 9): this ends SAs on both sides, and
 * whatever would make new ones.
 */
#ifndef BWL_IPSEC_REVOKE_H
#define BWL_IPSEC_REVOKE_H

#include "ipsec/conn.h"

struct bwl_ipsec_drop {
	/* unloaded; ended by `terminate` (unloading ends some, too); unloaded */
	unsigned conns, sas, secrets;
	/* duration of each step; 0: not reached */
	uint64_t connect_ns;
	uint64_t unload_ns; /* connections: afterwards nobody can connect */
	/* IKE_SAs with their CHILD_SAs; the other side is told, but not waited for */
	uint64_t terminate_ns;
	uint64_t verify_ns; /* checks that charon has no SA of theirs, and ends remaining ones */
	uint64_t credentials_ns; /* preshared keys that no connection uses; cached certificates */
	bool posted;             /* charon hangs; it will do all this when it continues */
};

/*
 * Returns within timeout_ns (and a few milliseconds), whatever charon does. all: everything of
 * ours, and the named peers, which a hanging charon is told about blindly. -ETIMEDOUT: charon
 * hangs; -ENOENT or -ECONNREFUSED: it is dead. In both cases the caller must delete SAs in the
 * kernel. Peers without a connection or an SA are no error.
 */
int bwl_ipsec_drop_peers(const char *socket, const char *const *peers, size_t npeers, bool all,
			 uint64_t timeout_ns, struct bwl_ipsec_drop *ret, struct bwl_err *e);

#endif
