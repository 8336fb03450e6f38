/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What a signed time says of the documents that close: a list, `closing`, of the newest of each. So
 * who gets the time, and not one of these that is for him, knows that it is held back.
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
 * What one closes, and for whom: all of it but its terms and its reason. Another one of its name
 * that says the same takes its place; one that says something else is another one.
 */
void bwl_closing_what(const struct bwl_signed *d, uint8_t ret[static 32]);
/* false: it is none, or has other keys as well. */
bool bwl_closing_read(const json_t *o, struct bwl_closing *ret);
json_t *bwl_closing_json(const struct bwl_closing *c);

#endif
