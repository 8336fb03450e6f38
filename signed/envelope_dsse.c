// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The first form of documents, which bwlimit 0.3.0 signed: DSSE
 * (github.com/secure-systems-lab/dsse), JSON:
 *
 *	{"payloadType": "application/vnd.bwlimit.policy+json;fleet=hall-3;audience=tray:tray-7",
 *	 "payload": BASE64, "signatures": [{"keyid": HEX, "sig": BASE64}, …]}
 *
 * It is read, so that what was signed stays valid, and never written.
 */
#include <stdio.h>
#include <string.h>
#include <bwl/encode.h>
#include "signed/envelope_parts.h"
#include "signed/text.h"

#define BEFORE "application/vnd.bwlimit."
#define FLEET "+json;fleet="
#define AUDIENCE ";audience="
#define TYPE_MAX (BWL_SIGNED_AUDIENCE + 2 * BWL_NAME_LEN + 64)

/* Only one spelling of a type is accepted; false: it is not a type. */
static bool take_type(const char *s, struct bwl_envelope *ret)
{
	const char *fleet = strstr(s, FLEET), *audience = strstr(s, AUDIENCE);
	char again[TYPE_MAX];
	size_t n;

	if (strncmp(s, BEFORE, strlen(BEFORE)) || !fleet || !audience || audience < fleet ||
	    strlen(s) >= sizeof(again))
		return false;
	fleet += strlen(FLEET);
	n = (size_t)(audience - fleet);
	audience += strlen(AUDIENCE);
	if (!bwl_is_name(fleet, n) || strlen(audience) >= sizeof(ret->audience) ||
	    bwl_audience_check(audience, NULL))
		return false;
	memcpy(ret->fleet, fleet, n);
	strcpy(ret->audience, audience);
	for (ret->type = 0; ret->type < _BWL_SIGNED_MAX; ret->type++) {
		snprintf(again, sizeof(again), BEFORE "%s" FLEET "%s" AUDIENCE "%s",
			 bwl_signed_word(ret->type), ret->fleet, ret->audience);
		if (!strcmp(again, s))
			return true;
	}
	return false;
}

static bool take_payload(const json_t *o, struct bwl_envelope *ret)
{
	size_t len = json_string_length(o);
	long n;

	if (!json_is_string(o))
		return false;
	ret->payload = bwl_must(malloc(len / 4 * 3 + 1));
	n = bwl_base64_decode(json_string_value(o), len, ret->payload, len / 4 * 3);
	if (n < 0)
		return false;
	ret->payload[n] = '\0';
	ret->len = (size_t)n;
	return true;
}

static bool take_signature(const json_t *o, struct bwl_signature *ret)
{
	const char *id = json_string_value(json_object_get(o, "keyid"));
	const json_t *sig = json_object_get(o, "sig");
	uint8_t raw[32];

	if (json_object_size(o) != 2 || !id || !json_is_string(sig) ||
	    strlen(id) != json_string_length(json_object_get(o, "keyid")) ||
	    !bwl_hex_decode(id, raw, sizeof(raw)) ||
	    bwl_base64_decode(json_string_value(sig), json_string_length(sig), ret->sig,
			      sizeof(ret->sig)) != sizeof(ret->sig))
		return false;
	strcpy(ret->key, id);
	return true;
}

static int take_signatures(const json_t *a, struct bwl_envelope *ret, struct bwl_err *e)
{
	const json_t *o;
	size_t i;

	if (!json_is_array(a) || json_array_size(a) > BWL_SIGNED_SIGNATURES_MAX)
		return envelope_malformed(e, "`signatures` must be a list of at most 32");
	ret->sig = bwl_must(calloc(json_array_size(a) + 1, sizeof(*ret->sig)));
	json_array_foreach(a, i, o)
	{
		if (!take_signature(o, &ret->sig[i]))
			return envelope_malformed(
				e,
				"a signature must be {\"keyid\": 64 hex digits, \"sig\": 64 bytes in base64}");
		for (size_t k = 0; k < i; k++)
			if (!strcmp(ret->sig[k].key, ret->sig[i].key))
				return envelope_malformed(e, "duplicate signature of one key");
		ret->nsig++;
	}
	return 0;
}

static int take(const json_t *o, struct bwl_envelope *ret, struct bwl_err *e)
{
	const json_t *type = json_object_get(o, "payloadType");

	if (!json_is_object(o) || json_object_size(o) != 3)
		return envelope_malformed(
			e,
			"must be JSON with the keys payloadType, payload and signatures, and no others");
	if (!json_is_string(type) || json_string_length(type) != strlen(json_string_value(type)) ||
	    !take_type(json_string_value(type), ret))
		return envelope_malformed(
			e,
			"`payloadType` must be application/vnd.bwlimit.TYPE+json;fleet=NAME;audience=WHO");
	return take_signatures(json_object_get(o, "signatures"), ret, e);
}

int envelope_dsse_parse(const char *bytes, size_t len, struct bwl_envelope *ret, struct bwl_err *e)
{
	json_t *o = json_loadb(bytes, len, JSON_REJECT_DUPLICATES, NULL);
	int r;

	*ret = (struct bwl_envelope){ .form = BWL_FORM_DSSE };
	r = o ? take(o, ret, e)
	      : envelope_malformed(e,
				   "it begins neither with `bwlimit-document: 2`, nor is it JSON");
	if (!r && !take_payload(json_object_get(o, "payload"), ret))
		r = envelope_malformed(e, "`payload` must be base64");
	json_decref(o);
	if (r)
		bwl_envelope_free(ret);
	return r;
}

uint8_t *envelope_dsse_signed(const struct bwl_envelope *v, size_t *ret_len)
{
	char type[TYPE_MAX], head[TYPE_MAX + 64];
	uint8_t *at;
	int n;

	snprintf(type, sizeof(type), BEFORE "%s" FLEET "%s" AUDIENCE "%s", bwl_signed_word(v->type),
		 v->fleet, v->audience);
	n = snprintf(head, sizeof(head), "DSSEv1 %zu %s %zu ", strlen(type), type, v->len);
	at = bwl_must(malloc((size_t)n + v->len));
	memcpy(at, head, (size_t)n);
	memcpy(at + n, v->payload, v->len);
	*ret_len = (size_t)n + v->len;
	return at;
}
