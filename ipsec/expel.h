/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Expels a tray from the fleet. On the others: nothing passes to it or from it, its SAs are gone
 * and charon no longer accepts its certificate, because no connection has its identity any more (a
 * revoked peer gets none: number.h). On itself: the same for every peer, and its own long-lived
 * keys are destroyed. The only way back from that is a new key and a new certificate: so only for
 * documents that enough people signed, or if the policy says so for a sign of tampering
 * (`destroy`).
 */
#ifndef BWL_IPSEC_EXPEL_H
#define BWL_IPSEC_EXPEL_H

#include "ipsec/revoke.h"
#include "ipsec/xfrm.h"
#include <bwl/publish.h>

struct bwl_expulsion {
	const char *const *peer; /* peers in these maps that are that tray, by name */
	size_t npeers;
	bool is_us;          /* it is this tray: peer is ignored */
	const char *swanctl; /* NULL: SWANCTL_DIR, or BWL_IPSEC_DIR */
	const char *vici;    /* NULL: BWL_VICI_SOCKET */
	uint64_t timeout_ns; /* for charon, in total */
};

struct bwl_expelled {
	struct bwl_xfrm_dropped kernel;
	struct bwl_ipsec_drop charon;
	unsigned keys;        /* files destroyed */
	unsigned unloaded;    /* keys that charon had */
	char charon_why[256]; /* empty: charon did everything; otherwise it hangs or is dead */
};
/*
 * In this order: the maps, the kernel's SAs and policies (both within milliseconds, whatever charon
 * does), the files, charon, the kernel once more. May be repeated: completed steps are no error,
 * nor is a charon that hangs or is dead. Waits for a disk and for charon, so run it on a thread
 * that nobody waits for. The journal is up to the caller (bwl_journal_closed()). An error: a peer
 * that could not be closed, remaining SAs, a key that could not be destroyed.
 */
int bwl_expel(struct bwl_pins *p, const struct bwl_expulsion *x, struct bwl_expelled *ret,
	      struct bwl_err *e);

/*
 * Only the part about keys, for a sign of tampering: files and charon's. why: empty, or why charon
 * did not.
 */
int bwl_ipsec_destroy(const char *swanctl, const char *vici, uint64_t timeout_ns,
		      unsigned *ret_files, unsigned *ret_unloaded, char why[static 256],
		      struct bwl_err *e);

#endif
