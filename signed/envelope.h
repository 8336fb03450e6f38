/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The envelope: DSSE as JSON, parsed and built. For the payload see payload.h. */
#ifndef BWL_SIGNED_ENVELOPE_H
#define BWL_SIGNED_ENVELOPE_H

#include <bwl/cleanup.h>
#include "signed/document.h"
#include "signed/key.h"

struct bwl_signature {
	char key[BWL_KEY_ID];
	uint8_t sig[BWL_SIGNATURE];
};

struct bwl_envelope {
	enum bwl_signed_type type;
	char fleet[BWL_NAME_LEN], audience[BWL_SIGNED_AUDIENCE];
	uint8_t *payload; /* followed by a NUL */
	size_t len;
	struct bwl_signature *sig;
	size_t nsig;
};
/* Strict: no duplicate or unknown key, canonical base64, no duplicate key id. */
int bwl_envelope_parse(const char *bytes, size_t len, struct bwl_envelope *ret, struct bwl_err *e);
/* An unsigned envelope; the payload is copied. */
int bwl_envelope_new(enum bwl_signed_type type, const char *fleet, const char *audience,
		     const char *payload, size_t len, struct bwl_envelope *ret, struct bwl_err *e);
void bwl_envelope_free(struct bwl_envelope *v);
/* As JSON, one line; the caller frees it. */
char *bwl_envelope_text(const struct bwl_envelope *v);
/* Adds the signature of a key, or replaces its earlier one. */
int bwl_envelope_sign(struct bwl_envelope *v, const struct bwl_key *k, struct bwl_err *e);
/* What is signed (DSSE's pre-authentication encoding); the caller frees it. */
uint8_t *bwl_envelope_signed(const struct bwl_envelope *v, size_t *ret_len);

/* "all", or a list of "tray:NAME" and "label:KEY=VALUE", separated by commas, each once. */
int bwl_audience_check(const char *audience, struct bwl_err *e);
bool bwl_audience_has(const char *audience, const struct bwl_tray *who);

#endif
