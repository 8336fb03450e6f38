// SPDX-License-Identifier: GPL-2.0-or-later
/* See said.h. */
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <bwl/encode.h>
#include "signed/said/said.h"
#include "signed/text.h"

#define TYPE "application/vnd.bwlimit.status+json;fleet="
#define TYPE_MAX 256

static bool type_of(const char *fleet, const char *tray, char ret[static TYPE_MAX])
{
	return bwl_is_name(fleet, strlen(fleet)) && bwl_is_name(tray, strlen(tray)) &&
	       snprintf(ret, TYPE_MAX, TYPE "%s;tray=%s", fleet, tray) < TYPE_MAX;
}

/* DSSE's pre-authentication encoding; the caller frees it. */
static uint8_t *signed_bytes(const char *type, const void *payload, size_t len, size_t *ret_len)
{
	char head[TYPE_MAX + 64];
	int n = snprintf(head, sizeof(head), "DSSEv1 %zu %s %zu ", strlen(type), type, len);
	uint8_t *at = bwl_must(malloc((size_t)n + len));

	memcpy(at, head, (size_t)n);
	memcpy(at + n, payload, len);
	*ret_len = (size_t)n + len;
	return at;
}

char *bwl_said_sign(const struct bwl_key *k, const char *fleet, const char *tray,
		    const char *payload, size_t len, struct bwl_err *e)
{
	char type[TYPE_MAX], id[BWL_KEY_ID], in_base64[BWL_BASE64_LEN(BWL_SIGNATURE) + 1], *text;
	BWL_AUTO_FREE char *body = bwl_must(malloc(BWL_BASE64_LEN(len) + 1));
	BWL_AUTO_FREE uint8_t *at = NULL;
	uint8_t sig[BWL_SIGNATURE];
	size_t n;
	json_t *o;

	if (!type_of(fleet, tray, type)) {
		bwl_fail(e, EINVAL, "'%.64s' and '%.64s': not names of a fleet and a tray", fleet,
			 tray);
		return NULL;
	}
	at = signed_bytes(type, payload, len, &n);
	if (bwl_key_sign(k, at, n, sig, e))
		return NULL;
	o = json_pack("{s:s, s:s, s:[{s:s, s:s}]}", "payloadType", type, "payload",
		      bwl_base64_encode((const uint8_t *)payload, len, body), "signatures", "keyid",
		      bwl_key_id(bwl_key_public(k), id), "sig",
		      bwl_base64_encode(sig, sizeof(sig), in_base64));
	text = bwl_must(json_dumps(bwl_must(o), JSON_COMPACT));
	json_decref(o);
	return text;
}

static json_t *parse(const char *bytes, size_t len)
{
	return len <= BWL_SAID_MAX ? json_loadb(bytes, len, JSON_REJECT_DUPLICATES, NULL) : NULL;
}

bool bwl_said_is_signed(const char *bytes, size_t len)
{
	json_t *o = parse(bytes, len);
	bool is = json_is_string(json_object_get(o, "payloadType"));

	json_decref(o);
	return is;
}

static int no_good(struct bwl_err *e, int code, const char *what)
{
	return bwl_fail(e, code, "the signed status is not accepted: %s", what);
}

/* Verifies its only signature, which must be by that key. */
static int verify(const uint8_t *pub, const char *type, const json_t *list, const char *payload,
		  size_t len, struct bwl_err *e)
{
	const json_t *one = json_array_get(list, 0), *sig = json_object_get(one, "sig");
	const char *id = json_string_value(json_object_get(one, "keyid"));
	char want[BWL_KEY_ID];
	uint8_t raw[BWL_SIGNATURE];
	BWL_AUTO_FREE uint8_t *at = NULL;
	size_t n;

	if (json_array_size(list) != 1 || json_object_size(one) != 2 || !id ||
	    !json_is_string(sig) ||
	    bwl_base64_decode(json_string_value(sig), json_string_length(sig), raw, sizeof(raw)) !=
		    sizeof(raw))
		return no_good(
			e, EBADMSG,
			"`signatures` must be one {\"keyid\": 64 hex digits, \"sig\": 64 bytes in base64}");
	if (strcmp(id, bwl_key_id(pub, want)) != 0)
		return no_good(e, EKEYREJECTED,
			       "it is signed by another key than the one its enrolment names");
	at = signed_bytes(type, payload, len, &n);
	if (!bwl_key_verifies(pub, at, n, raw))
		return no_good(e, EKEYREJECTED, "its signature is not valid");
	return 0;
}

int bwl_said_open(const uint8_t *pub, const char *fleet, const char *tray, const char *bytes,
		  size_t len, char **ret, size_t *ret_len, struct bwl_err *e)
{
	json_t *o = parse(bytes, len);
	const json_t *type = json_object_get(o, "payloadType"), *in = json_object_get(o, "payload");
	BWL_AUTO_FREE char *payload = NULL;
	char want[TYPE_MAX];
	long n = -1;
	int r = 0;

	if (json_is_string(in)) {
		payload = bwl_must(malloc(json_string_length(in) / 4 * 3 + 1));
		n = bwl_base64_decode(json_string_value(in), json_string_length(in),
				      (uint8_t *)payload, json_string_length(in) / 4 * 3);
	}
	if (n < 0 || json_object_size(o) != 3 || !json_is_string(type))
		r = no_good(
			e, EBADMSG,
			"must be JSON of at most 6144 bytes with the keys payloadType, payload and signatures, and no others");
	else if (!type_of(fleet, tray, want) || strcmp(json_string_value(type), want))
		r = no_good(e, EKEYREJECTED, "it belongs to another fleet or tray");
	else
		r = verify(pub, json_string_value(type), json_object_get(o, "signatures"), payload,
			   (size_t)n, e);
	json_decref(o);
	if (r)
		return r;
	payload[n] = '\0';
	*ret = bwl_take_ptr(&payload);
	*ret_len = (size_t)n;
	return 0;
}
