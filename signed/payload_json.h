/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Parses the JSON of a payload, of which a policy's `text` is nearly all. jansson reads each byte
 * several times (13 ms for 2 MB), so it gets the rest, with a unique mark instead of the text: so
 * the text can only belong to that key. Whatever cannot be split this way is parsed whole: the
 * result is the same, also for invalid JSON.
 */
#ifndef BWL_SIGNED_PAYLOAD_JSON_H
#define BWL_SIGNED_PAYLOAD_JSON_H

#include <stddef.h>
#include <jansson.h>

/* NULL: it is not JSON, or has a duplicate key. */
json_t *bwl_payload_json(const char *bytes, size_t len);

#endif
