/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The bytes of a document: signatures, the lines that say what it is, its terms, and a policy's
 * text. For terms and text see payload.h.
 */
#ifndef BWL_SIGNED_ENVELOPE_H
#define BWL_SIGNED_ENVELOPE_H

#include <bwl/cleanup.h>
#include "signed/document.h"
#include "signed/key.h"

struct bwl_signature {
	char key[BWL_KEY_ID];
	uint8_t sig[BWL_SIGNATURE];
};

enum bwl_form {
	BWL_FORM_DSSE = 1, /* of bwlimit 0.3.0: read, and never written */
	BWL_FORM_LINES,
};
#define BWL_SERIAL_MAX ((uint64_t)INT64_MAX)

struct bwl_envelope {
	enum bwl_form form;
	enum bwl_signed_type type;
	char fleet[BWL_NAME_LEN], audience[BWL_SIGNED_AUDIENCE];
	uint64_t serial; /* random, from 1: no two documents have the same; DSSE: 0 */
	/*
	 * What the digest is of, followed by a NUL. Lines: from `type: ` to the end, with the terms
	 * and the text in it. DSSE: the terms, with the text as a key of theirs.
	 */
	uint8_t *payload;
	size_t len, terms_at, nterms, text_at;
	struct bwl_signature *sig;
	size_t nsig;
};
/* Strict: one spelling, one order, canonical base64, no duplicate key id. */
int bwl_envelope_parse(const char *bytes, size_t len, struct bwl_envelope *ret, struct bwl_err *e);
/* An unsigned one, with a serial of its own. body: the terms, and a policy's text as `text`. */
int bwl_envelope_new(enum bwl_signed_type type, const char *fleet, const char *audience,
		     const json_t *body, struct bwl_envelope *ret, struct bwl_err *e);
void bwl_envelope_free(struct bwl_envelope *v);
/* The bytes, not of DSSE, followed by a NUL; the caller frees them. */
char *bwl_envelope_text(const struct bwl_envelope *v, size_t *ret_len);
/* Adds the signature of a key, or replaces its earlier one. -EINVAL: DSSE. */
int bwl_envelope_sign(struct bwl_envelope *v, const struct bwl_key *k, struct bwl_err *e);
/* What is signed; the caller frees it. */
uint8_t *bwl_envelope_signed(const struct bwl_envelope *v, size_t *ret_len);

/* "all", or a list of "tray:NAME" and "label:KEY=VALUE", separated by commas, each once. */
int bwl_audience_check(const char *audience, struct bwl_err *e);
bool bwl_audience_has(const char *audience, const struct bwl_tray *who);

#endif
