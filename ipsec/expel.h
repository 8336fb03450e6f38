/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A tray is out of the fleet. On the others: nothing passes to it or from it, its SAs are gone and
 * charon takes its certificate no more, for no connection has its identity any longer (a peer that
 * is revoked gets none: number.h). On itself: all of that for every peer, and its own long-lived
 * keys are destroyed. There is no way back from that but a new key and a new certificate: only for
 * what enough people signed, or where the policy says so of a sign of tampering (`destroy`).
 */
#ifndef BWL_IPSEC_EXPEL_H
#define BWL_IPSEC_EXPEL_H

#include "ipsec/revoke.h"
#include "ipsec/xfrm.h"
#include <bwl/publish.h>

struct bwl_expulsion {
	const char *const *peer; /* peers of these maps that are that tray, by name */
	size_t npeers;
	bool is_us;          /* it is this tray: peer is not looked at */
	const char *swanctl; /* NULL: SWANCTL_DIR, or BWL_IPSEC_DIR */
	const char *vici;    /* NULL: BWL_VICI_SOCKET */
	uint64_t timeout_ns; /* for charon, all in all */
};

struct bwl_expelled {
	struct bwl_xfrm_dropped kernel;
	struct bwl_ipsec_drop charon;
	unsigned keys;        /* files destroyed */
	unsigned unloaded;    /* keys that charon had */
	char charon_why[256]; /* empty: charon did all of it; else it hangs or is dead */
};
/*
 * In this order: the maps, the kernel's SAs and policies (both within milliseconds, whatever
 * charon does), the files, charon, the kernel once more. May be called again: what is done already
 * is no error, nor is a charon that hangs or is dead. Waits for a disk and for charon: on a thread
 * that nobody waits for. The journal is the caller's (bwl_journal_closed()). An error: a peer that
 * could not be closed, SAs that are left, a key that could not be destroyed.
 */
int bwl_expel(struct bwl_pins *p, const struct bwl_expulsion *x, struct bwl_expelled *ret,
	      struct bwl_err *e);

/*
 * The part of it that is about keys alone, for a sign of tampering: files and charon's. why: empty,
 * or why charon did not.
 */
int bwl_ipsec_destroy(const char *swanctl, const char *vici, uint64_t timeout_ns,
		      unsigned *ret_files, unsigned *ret_unloaded, char why[static 256],
		      struct bwl_err *e);

#endif
