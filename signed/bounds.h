/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What people allow the controller's online key: to state the time, to renew leases up to a
 * maximum, and to choose among policies that they signed. A stolen one can do no more than that.
 */
#ifndef BWL_SIGNED_BOUNDS_H
#define BWL_SIGNED_BOUNDS_H

#include "signed/document.h"

/* From the policy in force; made from its document, which people signed. */
struct bwl_bounds {
	uint8_t policy[32]; /* its digest */
	uint64_t epoch;
	int64_t not_after_s;
	uint64_t lease_most_ns; /* 0: no lease is renewed remotely */
	bool stages;
	/*
	 * Digests of policies that people signed and that may hold: a rollout chooses among them.
	 */
	const uint8_t (*may_hold)[32];
	size_t nmay_hold;
};
struct bwl_bounds bwl_bounds_of(const struct bwl_signed *policy);

/*
 * Is this verified document of the online key within them? Otherwise "signed-bounds".
 * *ret_lease_ns: for a lease, how long it may run from now on.
 */
int bwl_bounds_check(const struct bwl_bounds *b, const struct bwl_signed *d, int64_t now_s,
		     uint64_t *ret_lease_ns, struct bwl_err *e);

#endif
