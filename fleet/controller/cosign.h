/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The controller as a witness of the trays' audit logs: c2sp.org/tlog-cosignature, version 1
 * (Ed25519), on checkpoints as in c2sp.org/tlog-checkpoint. Pure.
 *
 * A log may only grow, under its first key. If its own key signed something that contradicts what
 * it signed before, the log was rewritten: this is reported and kept, and nothing of that log is
 * signed any more. A proof shows that a larger log extends the previous one (audit/merkle.h);
 * without it the new checkpoint is kept but not signed.
 */
#ifndef BWL_CONTROLLER_COSIGN_H
#define BWL_CONTROLLER_COSIGN_H

#include "bwl/err.h"
#include "fleet/status/log.h"
#include "fleet/status/status.h"
#include "signed/key.h"

#define COSIGN_OVERDUE_S 600 /* a log that has grown for this long without a proof is reported */

/* What is known of a log; the rest is lost when the leader changes. */
struct cosigned {
	struct log_state log;
	int64_t unproven_s; /* since when it has grown without a proof; 0: it has not */
	bool told_unproven;
	char stranger[200]; /* last report about statuses that do not belong to this log */
};

enum cosign_word {
	COSIGN_NOTHING,
	COSIGN_SIGN,     /* sign the newest in c */
	COSIGN_KEEP,     /* only keep it */
	COSIGN_ALARM,    /* keep it, with why; */
	COSIGN_UNPROVEN, /* it grows without proving it: keep it, and report once */
	COSIGN_STRANGER, /* not of this log, or unsigned: nothing changes; report once */
};
/* Judges a tray's status and updates c. why (for the last three): the text to report. */
enum cosign_word cosign_judge(struct cosigned *c, const struct tray_status *s, int64_t now_s,
			      struct bwl_err *why);

#define COSIGN_NOTE (BWL_CHECKPOINT_NOTE + BWL_COSIGNATURE_LINE)
/* The checkpoint with our present cosignature below it; name: the witness's. */
int cosign_note(const struct log_head *h, const char *name, const struct bwl_key *k, int64_t now_s,
		char ret[static COSIGN_NOTE], struct bwl_err *e);

#endif
