/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Bytes that are to be shown, drawn at random by what nobody could choose: docs/evidence.md. */
#ifndef EV_DRAW_H
#define EV_DRAW_H

#include "audit/witness.h"
#include "hash.h"

#define EV_DRAWS_MOST 100000
#define EV_NONCE_MOST 200
/*
 * Of a checkpoint's text, of what those witnesses signed it with, and of what the auditor said:
 * nothing that who shows it could try again and again. nonce NULL: he said nothing. -EBADMSG: that
 * is no note, or one of them did not sign what stands there.
 */
int ev_seed(const struct bwl_witnesses *w, const char *note, size_t len, const char *nonce,
	    struct bwl_hash *ret, struct bwl_err *e);
/* Draw number i: one of total bytes, each as likely; total is not 0. */
uint64_t ev_draw(const struct bwl_hash *seed, uint64_t i, uint64_t total);

#endif
