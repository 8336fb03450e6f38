/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Internal: the two forms of documents (envelope.c, envelope_dsse.c). */
#ifndef BWL_SIGNED_ENVELOPE_PARTS_H
#define BWL_SIGNED_ENVELOPE_PARTS_H

#include "signed/envelope.h"

int envelope_malformed(struct bwl_err *e, const char *what);

/* Strict: no duplicate or unknown key, canonical base64, no duplicate key id. */
int envelope_dsse_parse(const char *bytes, size_t len, struct bwl_envelope *ret, struct bwl_err *e);
/* What is signed: DSSE's pre-authentication encoding. */
uint8_t *envelope_dsse_signed(const struct bwl_envelope *v, size_t *ret_len);

#endif
