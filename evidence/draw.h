/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Draws the bytes that must be shown, at random and beyond anybody's control: docs/evidence.md. */
#ifndef EV_DRAW_H
#define EV_DRAW_H

#include "audit/witness.h"
#include "hash.h"

#define EV_DRAWS_MAX 100000
#define EV_NONCE_MAX 200
/*
 * The seed depends on a checkpoint's text, those witnesses' signatures on it and the auditor's
 * text: nothing that the prover could vary to try again. nonce NULL: none. -EBADMSG: not a note, or
 * one of those signatures is invalid.
 */
int ev_seed(const struct bwl_witnesses *w, const char *note, size_t len, const char *nonce,
	    struct bwl_hash *ret, struct bwl_err *e);
/* Draw number i: one of total bytes, with equal probability; total is not 0. */
uint64_t ev_draw(const struct bwl_hash *seed, uint64_t i, uint64_t total);

#endif
