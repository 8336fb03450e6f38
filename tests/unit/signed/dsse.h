/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Documents in the form of bwlimit 0.3.0, which nothing else writes any more. */
#ifndef BWL_TEST_DSSE_H
#define BWL_TEST_DSSE_H

#include "rig.h"

/* Takes the reference. who: bit per signer. */
static inline char *dsse_sign(enum bwl_signed_type type, const char *fleet, const char *audience,
			      json_t *body, unsigned who)
{
	char *payload = json_dumps(body, JSON_COMPACT), *base64, *at, *text, word[200];
	char sig[BWL_BASE64_LEN(BWL_SIGNATURE) + 1];
	json_t *o, *a = json_array();
	uint8_t raw[BWL_SIGNATURE];
	struct bwl_err e;
	int n;

	snprintf(word, sizeof(word), "application/vnd.bwlimit.%s+json;fleet=%s;audience=%s",
		 bwl_signed_word(type), fleet, audience);
	n = asprintf(&at, "DSSEv1 %zu %s %zu %s", strlen(word), word, strlen(payload), payload);
	assert_true(n > 0);
	for (unsigned i = 0; i < NKEYS; i++) {
		if (!(who & 1U << i))
			continue;
		assert_int_equal(bwl_key_sign(key[i], (uint8_t *)at, (size_t)n, raw, &e), 0);
		json_array_append_new(a, json_pack("{s:s, s:s}", "keyid", rig_id(i), "sig",
						   bwl_base64_encode(raw, BWL_SIGNATURE, sig)));
	}
	base64 = malloc(BWL_BASE64_LEN(strlen(payload)) + 1);
	o = json_pack("{s:s, s:s, s:o}", "payloadType", word, "payload",
		      bwl_base64_encode((uint8_t *)payload, strlen(payload), base64), "signatures",
		      a);
	text = json_dumps(o, JSON_COMPACT);
	json_decref(o);
	json_decref(body);
	free(base64);
	free(payload);
	free(at);
	return text;
}

#endif
