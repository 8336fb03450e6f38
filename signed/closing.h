/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The closing documents named by a signed time: a list, `closing`, of the newest of each. So a tray
 * that gets the time, but not one of these documents for it, knows that it is withheld.
 */
#ifndef BWL_SIGNED_CLOSING_H
#define BWL_SIGNED_CLOSING_H

#include "signed/document.h"

#define BWL_CLOSING_BYTES (32UL << 10) /* of a list, as JSON: every tray reads it each minute */

struct bwl_closing {
	enum bwl_signed_type type; /* a revocation or an expulsion */
	char name[BWL_NAME_LEN];
	uint64_t epoch, version;
	uint8_t digest[32];
	int64_t issued_s;
	const char *audience; /* borrowed */
};
/* Does this type close, and no more? */
bool bwl_closes(enum bwl_signed_type t);
/*
 * What a document closes, and for whom: all of it except its terms and its reason. Another document
 * of its name with the same content replaces it; one with other content is separate.
 */
void bwl_closing_what(const struct bwl_signed *d, uint8_t ret[static 32]);
/* false: invalid, or it has further keys. */
bool bwl_closing_read(const json_t *o, struct bwl_closing *ret);
json_t *bwl_closing_json(const struct bwl_closing *c);

#endif
