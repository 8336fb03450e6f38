/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The controller as a witness of the trays' audit logs: c2sp.org/tlog-cosignature, version 1
 * (Ed25519), on checkpoints as c2sp.org/tlog-checkpoint has them. Pure.
 *
 * A log may only grow. A size that was seen with another root, or a smaller size, is a log that was
 * written anew: it is told, and nothing of it is signed any more. That a larger one begins with the
 * one before is shown by a proof (audit/merkle.h); without it what is new is kept and not signed.
 */
#ifndef BWL_CONTROLLER_COSIGN_H
#define BWL_CONTROLLER_COSIGN_H

#include "bwl/err.h"
#include "signed/key.h"
#include "status.h"

struct log_head {
	char origin[STATUS_ORIGIN]; /* empty: none */
	uint64_t size;
	uint8_t root[32];
};

struct cosigned {
	struct log_head seen;    /* the newest that the tray said */
	struct log_head signed_; /* the newest that was cosigned; seen may be further */
	char forked[200];        /* what was wrong; nothing is signed any more */
	int64_t mod;             /* of this in the store */
};

enum cosign_word { COSIGN_NOTHING, COSIGN_SIGN, COSIGN_KEEP, COSIGN_ALARM };
/* What a tray's status comes to; c is brought up to it. */
enum cosign_word cosign_judge(struct cosigned *c, const struct tray_status *s);

#define COSIGN_NOTE 512
/* The checkpoint with our cosignature of this moment alone; name: of the witness. */
int cosign_note(const struct log_head *h, const char *name, const struct bwl_key *k, int64_t now_s,
		char ret[static COSIGN_NOTE], struct bwl_err *e);
/* "NAME+ID+BASE64", by which others verify it; type 4. */
char *cosign_verifier(const char *name, const struct bwl_key *k, char ret[static COSIGN_NOTE]);

/* As it lies in the store; the caller frees it. And back: -EBADMSG. */
char *cosigned_text(const struct cosigned *c);
int cosigned_parse(const void *at, size_t len, struct cosigned *ret, struct bwl_err *e);

#endif
