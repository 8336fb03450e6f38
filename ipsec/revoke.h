/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What revoking means in charon. The map was closed before (promise 9): this ends SAs on both
 * sides, and what would make new ones.
 */
#ifndef BWL_IPSEC_REVOKE_H
#define BWL_IPSEC_REVOKE_H

#include "ipsec/conn.h"

struct bwl_ipsec_drop {
	/* unloaded; ended by `terminate` (unloading ends some, too); unloaded */
	unsigned conns, sas, secrets;
	/* how long each step took; 0: not come to */
	uint64_t connect_ns;
	uint64_t unload_ns;    /* connections: nobody can come in any more */
	uint64_t terminate_ns; /* IKE_SAs with their CHILD_SAs; the other side is told, not waited
				  for */
	uint64_t verify_ns; /* charon has no SA of theirs: looked, and ended again what was left */
	uint64_t credentials_ns; /* preshared keys that no connection uses; cached certificates */
	bool posted;             /* charon hangs; it does all this when it goes on */
};

/*
 * Ends within timeout_ns (and a few milliseconds), whatever charon does. all: everything of ours,
 * and the peers named, whom a charon that hangs is told of unasked. -ETIMEDOUT: charon hangs;
 * -ENOENT or -ECONNREFUSED: it is dead. In both cases SAs in the kernel are for the caller to
 * delete. Peers without a connection or an SA are no error.
 */
int bwl_ipsec_drop_peers(const char *socket, const char *const *peers, size_t npeers, bool all,
			 uint64_t timeout_ns, struct bwl_ipsec_drop *ret, struct bwl_err *e);

#endif
