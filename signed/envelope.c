/* SPDX-License-Identifier: GPL-2.0-or-later */
/* See envelope.h. */
#include <stdio.h>
#include <string.h>
#include <bwl/encode.h>
#include "signed/envelope.h"
#include "signed/text.h"

#define BEFORE "application/vnd.bwlimit."
#define FLEET "+json;fleet="
#define AUDIENCE ";audience="
#define TYPE_MOST (BWL_SIGNED_AUDIENCE + 2 * BWL_NAME_LEN + 64)

static const char *const word[] = {
#define X(t, w, role, one) [BWL_SIGNED_##t] = (w),
	BWL_SIGNED_TYPES(X)
#undef X
};

const char *bwl_signed_word(enum bwl_signed_type t)
{
	return t < _BWL_SIGNED_MAX ? word[t] : "?";
}

enum bwl_role bwl_signed_role(enum bwl_signed_type t)
{
	static const enum bwl_role role_of[] = {
#define X(t, w, role, one) [BWL_SIGNED_##t] = role,
		BWL_SIGNED_TYPES(X)
#undef X
	};

	return role_of[t];
}

static int malformed(struct bwl_err *e, const char *what)
{
	bwl_fail(e, EBADMSG, "not a signed document: %s", what);
	if (e)
		e->id = "signed-malformed";
	return -EBADMSG;
}

/* "tray:NAME" or "label:KEY=VALUE" */
static bool is_audience_word(const char *s, size_t n)
{
	const char *eq = memchr(s, '=', n);

	if (n > 5 && !memcmp(s, "tray:", 5))
		return bwl_is_name(s + 5, n - 5);
	return n > 6 && !memcmp(s, "label:", 6) && bwl_is_label(s + 6, n - 6) && eq;
}

/* The next word of a list; NULL: the end. */
static const char *next_word(const char **at, size_t *ret_len)
{
	const char *s = *at;

	if (!s)
		return NULL;
	*ret_len = strcspn(s, ",");
	*at = s[*ret_len] ? s + *ret_len + 1 : NULL;
	return s;
}

int bwl_audience_check(const char *audience, struct bwl_err *e)
{
	const char *at = audience, *s, *other;
	size_t n, m;

	if (!strcmp(audience, "all"))
		return 0;
	while ((s = next_word(&at, &n))) {
		const char *rest = at;

		if (!is_audience_word(s, n))
			return bwl_fail(e, EINVAL,
					"'%.64s': an audience must be `all`, or tray:NAME and "
					"label:KEY=VALUE separated by commas",
					audience);
		while ((other = next_word(&rest, &m)))
			if (m == n && !memcmp(s, other, n))
				return bwl_fail(e, EINVAL,
						"duplicate '%.*s' in an "
						"audience",
						(int)n, s);
	}
	return 0;
}

bool bwl_audience_has(const char *audience, const struct bwl_tray *who)
{
	const char *at = audience, *s;
	size_t n;

	if (!strcmp(audience, "all"))
		return true;
	while ((s = next_word(&at, &n))) {
		if (n > 5 && !memcmp(s, "tray:", 5) && strlen(who->name) == n - 5 &&
		    !memcmp(s + 5, who->name, n - 5))
			return true;
		for (size_t i = 0; i < who->nlabels; i++)
			if (n > 6 && !memcmp(s, "label:", 6) && strlen(who->labels[i]) == n - 6 &&
			    !memcmp(s + 6, who->labels[i], n - 6))
				return true;
	}
	return false;
}

/* Only one spelling of a type is accepted; false: it is not a type. */
static bool take_type(const char *s, struct bwl_envelope *ret)
{
	const char *fleet = strstr(s, FLEET), *audience = strstr(s, AUDIENCE);
	char again[TYPE_MOST];
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
			 word[ret->type], ret->fleet, ret->audience);
		if (!strcmp(again, s))
			return true;
	}
	return false;
}

/*
 * Where the payload's base64 is; NULL: not found. It is nearly all of the bytes, and the JSON
 * parser looks at each letter several times: so it is given the rest, with an empty string in its
 * place.
 */
static const char *find_payload(const char *bytes, size_t len, size_t *ret_len)
{
	static const char key[] = "\"payload\"";
	const char *end = bytes + len, *at = memmem(bytes, len, key, sizeof(key) - 1), *close;

	if (!at)
		return NULL;
	at += sizeof(key) - 1;
	for (bool colon = false; at < end && *at != '"'; at++) {
		if (*at == ':' && !colon)
			colon = true;
		else if (!strchr(" \t\r\n", *at) || !*at)
			return NULL;
	}
	close = at < end ? memchr(at + 1, '"', (size_t)(end - at - 1)) : NULL;
	if (!close)
		return NULL;
	*ret_len = (size_t)(close - at - 1);
	return at + 1;
}

static bool take_payload(const char *base64, size_t len, struct bwl_envelope *ret)
{
	long n;

	ret->payload = bwl_must(malloc(len / 4 * 3 + 1));
	n = bwl_base64_decode(base64, len, ret->payload, len / 4 * 3);
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

	if (!json_is_array(a) || json_array_size(a) > BWL_SIGNED_MOST_SIGNATURES)
		return malformed(e, "`signatures` must be a list of at most 32");
	ret->sig = bwl_must(calloc(json_array_size(a) + 1, sizeof(*ret->sig)));
	json_array_foreach(a, i, o)
	{
		if (!take_signature(o, &ret->sig[i]))
			return malformed(
				e,
				"a signature must be {\"keyid\": 64 hex digits, \"sig\": 64 bytes "
				"in base64}");
		for (size_t k = 0; k < i; k++)
			if (!strcmp(ret->sig[k].key, ret->sig[i].key))
				return malformed(e, "duplicate signature of one key");
		ret->nsig++;
	}
	return 0;
}

static int take(const json_t *o, struct bwl_envelope *ret, struct bwl_err *e)
{
	const json_t *type = json_object_get(o, "payloadType");

	if (!json_is_object(o) || json_object_size(o) != 3)
		return malformed(
			e, "must be JSON with the keys payloadType, payload and signatures, and no "
			   "others");
	if (!json_is_string(type) || json_string_length(type) != strlen(json_string_value(type)) ||
	    !take_type(json_string_value(type), ret))
		return malformed(e, "`payloadType` must be "
				    "application/vnd.bwlimit.TYPE+json;fleet=NAME;audience=WHO");
	return take_signatures(json_object_get(o, "signatures"), ret, e);
}

int bwl_envelope_parse(const char *bytes, size_t len, struct bwl_envelope *ret, struct bwl_err *e)
{
	size_t npayload = 0, before;
	const char *payload;
	BWL_AUTO_FREE char *rest = NULL;
	json_t *o, *empty;
	int r;

	*ret = (struct bwl_envelope){ 0 };
	if (len > BWL_SIGNED_BYTES_MOST)
		return malformed(e, "it is larger than 64 MiB");
	payload = find_payload(bytes, len, &npayload);
	before = payload ? (size_t)(payload - bytes) : len;
	rest = bwl_must(malloc(len - npayload + 1));
	memcpy(rest, bytes, before);
	memcpy(rest + before, bytes + before + npayload, len - before - npayload);
	o = json_loadb(rest, len - npayload, JSON_REJECT_DUPLICATES, NULL);
	r = o ? take(o, ret, e) : malformed(e, "it is not JSON");
	/* Checks that what was found was this key's string. */
	empty = json_object_get(o, "payload");
	if (!r && (!payload || !json_is_string(empty) || json_string_length(empty) ||
		   !take_payload(payload, npayload, ret)))
		r = malformed(e, "`payload` must be base64");
	json_decref(o);
	if (r)
		bwl_envelope_free(ret);
	return r;
}

int bwl_envelope_new(enum bwl_signed_type type, const char *fleet, const char *audience,
		     const char *payload, size_t len, struct bwl_envelope *ret, struct bwl_err *e)
{
	int r = bwl_audience_check(audience, e);

	*ret = (struct bwl_envelope){ .type = type, .len = len };
	if (r)
		return r;
	if (!bwl_is_name(fleet, strlen(fleet)) || strlen(audience) >= sizeof(ret->audience))
		return bwl_fail(
			e, EINVAL,
			"a fleet must be a name of 1 to 31 of A-Z a-z 0-9 . _ - that does not "
			"begin with -; an audience may have at most 1023 bytes");
	strcpy(ret->fleet, fleet);
	strcpy(ret->audience, audience);
	ret->payload = bwl_must(malloc(len + 1));
	memcpy(ret->payload, payload, len);
	ret->payload[len] = '\0';
	return 0;
}

void bwl_envelope_free(struct bwl_envelope *v)
{
	free(v->payload);
	free(v->sig);
	*v = (struct bwl_envelope){ 0 };
}

static char *type_text(const struct bwl_envelope *v, char buf[static TYPE_MOST])
{
	snprintf(buf, TYPE_MOST, BEFORE "%s" FLEET "%s" AUDIENCE "%s", word[v->type], v->fleet,
		 v->audience);
	return buf;
}

char *bwl_envelope_text(const struct bwl_envelope *v)
{
	BWL_AUTO_FREE char *payload = bwl_must(malloc(BWL_BASE64_LEN(v->len) + 1));
	char type[TYPE_MOST], sig[BWL_BASE64_LEN(BWL_SIGNATURE) + 1], *text;
	json_t *o = json_object(), *a = json_array();

	json_object_set_new(o, "payloadType", json_string(type_text(v, type)));
	json_object_set_new(o, "payload",
			    json_string(bwl_base64_encode(v->payload, v->len, payload)));
	for (size_t i = 0; i < v->nsig; i++)
		json_array_append_new(a, json_pack("{s:s, s:s}", "keyid", v->sig[i].key, "sig",
						   bwl_base64_encode(v->sig[i].sig, BWL_SIGNATURE,
								     sig)));
	json_object_set_new(o, "signatures", a);
	text = bwl_must(json_dumps(o, JSON_COMPACT));
	json_decref(o);
	return text;
}

uint8_t *bwl_envelope_signed(const struct bwl_envelope *v, size_t *ret_len)
{
	char type[TYPE_MOST], head[TYPE_MOST + 64];
	uint8_t *at;
	int n;

	type_text(v, type);
	n = snprintf(head, sizeof(head), "DSSEv1 %zu %s %zu ", strlen(type), type, v->len);
	at = bwl_must(malloc((size_t)n + v->len));
	memcpy(at, head, (size_t)n);
	memcpy(at + n, v->payload, v->len);
	*ret_len = (size_t)n + v->len;
	return at;
}

int bwl_envelope_sign(struct bwl_envelope *v, const struct bwl_key *k, struct bwl_err *e)
{
	struct bwl_signature s = { 0 };
	size_t len, i = 0;
	uint8_t *at = bwl_envelope_signed(v, &len);
	int r = bwl_key_sign(k, at, len, s.sig, e);

	free(at);
	if (r)
		return r;
	bwl_key_id(bwl_key_public(k), s.key);
	while (i < v->nsig && strcmp(v->sig[i].key, s.key))
		i++;
	if (i == BWL_SIGNED_MOST_SIGNATURES)
		return bwl_fail(e, E2BIG, "a document may have at most %d signatures",
				BWL_SIGNED_MOST_SIGNATURES);
	if (i == v->nsig) {
		v->sig = bwl_must(reallocarray(v->sig, v->nsig + 1, sizeof(*v->sig)));
		v->nsig++;
	}
	v->sig[i] = s;
	return 0;
}
