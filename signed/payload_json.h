/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The JSON of a payload, of which a policy's `text` is nearly all. jansson looks at each byte
 * several times (13 ms for 2 MB), so it is given the rest, with a mark where the text was, which is
 * nowhere else in it: so the text is that key's, and no other's. What cannot be taken apart so is
 * given to it whole: the result is the same, also where it is none.
 */
#ifndef BWL_SIGNED_PAYLOAD_JSON_H
#define BWL_SIGNED_PAYLOAD_JSON_H

#include <stddef.h>
#include <jansson.h>

/* NULL: it is not JSON, or has a key twice. */
json_t *bwl_payload_json(const char *bytes, size_t len);

#endif
