/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The controller as a witness of the trays' audit logs: c2sp.org/tlog-cosignature, version 1
 * (Ed25519), on checkpoints as c2sp.org/tlog-checkpoint has them. Pure.
 *
 * A log may only grow, under the key that it had first. What its own key signed and contradicts
 * what it signed before is a log that was written anew: it is told, kept, and nothing of that log
 * is signed any more. That a larger one begins with the one before is shown by a proof
 * (audit/merkle.h); without it what is new is kept and not signed.
 */
#ifndef BWL_CONTROLLER_COSIGN_H
#define BWL_CONTROLLER_COSIGN_H

#include "bwl/err.h"
#include "fleet/status/log.h"
#include "fleet/status/status.h"
#include "signed/key.h"

#define COSIGN_OVERDUE_S 600 /* a log that has grown for so long without a proof is told */

/* What is known of a log; the rest is not kept over a change of leaders. */
struct cosigned {
	struct log_state log;
	int64_t unproven_s; /* since when it has grown without one; 0: it has not */
	bool told_unproven;
	char stranger[200]; /* what was told of statuses that are not of this log */
};

enum cosign_word {
	COSIGN_NOTHING,
	COSIGN_SIGN,     /* the newest in c is to be signed */
	COSIGN_KEEP,     /* and to be kept alone */
	COSIGN_ALARM,    /* kept, with why; */
	COSIGN_UNPROVEN, /* it grows, and does not prove it: kept, and told once */
	COSIGN_STRANGER, /* not of this log, or not signed: nothing changes; told once */
};
/*
 * What a tray's status comes to; c is brought up to it. why (of the last three): what is to be
 * told.
 */
enum cosign_word cosign_judge(struct cosigned *c, const struct tray_status *s, int64_t now_s,
			      struct bwl_err *why);

#define COSIGN_NOTE (BWL_CHECKPOINT_NOTE + BWL_COSIGNATURE_LINE)
/* The checkpoint with our cosignature of this moment below it; name: of the witness. */
int cosign_note(const struct log_head *h, const char *name, const struct bwl_key *k, int64_t now_s,
		char ret[static COSIGN_NOTE], struct bwl_err *e);

#endif
