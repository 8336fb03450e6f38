// SPDX-License-Identifier: GPL-2.0-or-later
/* See envelope.h. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <openssl/rand.h>
#include <bwl/encode.h>
#include "signed/envelope_parts.h"
#include "signed/payload.h"
#include "signed/text.h"

#define FIRST "bwlimit-document: 2\n"
#define SIGNATURE "signature: "

/* --- reading: every line has one spelling, and its place */

struct rest {
	const char *at, *end;
};

/* Is this the next line's key? Its value then, and the lines after it. */
static bool line(struct rest *r, const char *key, const char **ret, size_t *ret_len)
{
	size_t n = strlen(key), left = (size_t)(r->end - r->at);
	const char *nl;

	if (left < n || memcmp(r->at, key, n))
		return false;
	nl = memchr(r->at + n, '\n', left - n);
	if (!nl)
		return false;
	*ret = r->at + n;
	*ret_len = (size_t)(nl - *ret);
	r->at = nl + 1;
	return true;
}

/* A word that fits, with its NUL; no other NUL. */
static bool take_word(struct rest *r, const char *key, char *ret, size_t most)
{
	const char *s;
	size_t n;

	if (!line(r, key, &s, &n) || n >= most || memchr(s, '\0', n))
		return false;
	memcpy(ret, s, n);
	ret[n] = '\0';
	return true;
}

/* KEYID SP BASE64 */
static int take_signature(const char *s, size_t n, struct bwl_envelope *ret, struct bwl_err *e)
{
	struct bwl_signature one = { 0 };
	const size_t id = BWL_KEY_ID - 1;
	uint8_t raw[32];

	if (n != id + 1 + BWL_BASE64_LEN(BWL_SIGNATURE) || s[id] != ' ')
		return envelope_malformed(
			e, "a signature must be 64 hex digits, a space, and 64 bytes in base64");
	memcpy(one.key, s, id);
	if (!bwl_hex_decode(one.key, raw, sizeof(raw)) ||
	    bwl_base64_decode(s + id + 1, n - id - 1, one.sig, sizeof(one.sig)) != sizeof(one.sig))
		return envelope_malformed(
			e, "a signature must be 64 hex digits, a space, and 64 bytes in base64");
	for (size_t i = 0; i < ret->nsig; i++)
		if (!strcmp(ret->sig[i].key, one.key))
			return envelope_malformed(e, "duplicate signature of one key");
	if (ret->nsig == BWL_SIGNED_SIGNATURES_MAX)
		return envelope_malformed(e, "it has more than 32 signatures");
	ret->sig = bwl_must(reallocarray(ret->sig, ret->nsig + 1, sizeof(*ret->sig)));
	ret->sig[ret->nsig++] = one;
	return 0;
}

static bool take_number(struct rest *r, const char *key, uint64_t most, uint64_t *ret)
{
	char text[24], again[24];

	if (!take_word(r, key, text, sizeof(text)) || sscanf(text, "%" SCNu64, ret) != 1)
		return false;
	snprintf(again, sizeof(again), "%" PRIu64, *ret);
	return !strcmp(text, again) && *ret <= most;
}

/* From `type: ` on, which is what is signed. */
static int take_signed(struct rest r, struct bwl_envelope *ret, struct bwl_err *e)
{
	const char *from = r.at, *terms;
	char type[32];
	uint64_t n;

	if (!take_word(&r, "type: ", type, sizeof(type)))
		return envelope_malformed(e, "`type` must be its first line that is signed");
	for (ret->type = 0;
	     ret->type < _BWL_SIGNED_MAX && strcmp(type, bwl_signed_word(ret->type));)
		ret->type++;
	if (ret->type == _BWL_SIGNED_MAX)
		return envelope_malformed(e, "its `type` is not known");
	if (!take_word(&r, "fleet: ", ret->fleet, sizeof(ret->fleet)) ||
	    !bwl_is_name(ret->fleet, strlen(ret->fleet)))
		return envelope_malformed(e, "`fleet` must be a name, and follow `type`");
	if (!take_word(&r, "audience: ", ret->audience, sizeof(ret->audience)) ||
	    bwl_audience_check(ret->audience, NULL))
		return envelope_malformed(
			e,
			"`audience` must be `all`, or tray:NAME and label:KEY=VALUE separated by commas, and follow `fleet`");
	if (!take_number(&r, "serial: ", BWL_SERIAL_MAX, &ret->serial) || !ret->serial)
		return envelope_malformed(
			e, "`serial` must be a number from 1, and follow `audience`");
	if (!take_number(&r, "bytes: ", BWL_SIGNED_BYTES_MAX, &n))
		return envelope_malformed(
			e,
			"`bytes` must be the length of what follows the blank line, and follow `serial`");
	if (!line(&r, "terms: ", &terms, &ret->nterms))
		return envelope_malformed(e,
					  "`terms` must be JSON in one line, and follow `bytes`");
	if (r.at == r.end || *r.at++ != '\n')
		return envelope_malformed(
			e, "a blank line must follow `terms`, also where nothing follows it");
	/* One newline may follow: whoever prints a document ends the line. */
	if ((size_t)(r.end - r.at) == n + 1 && r.at[n] == '\n')
		r.end--;
	if ((size_t)(r.end - r.at) != n)
		return envelope_malformed(
			e, "what follows the blank line is not as long as `bytes` says");
	ret->len = (size_t)(r.end - from);
	ret->terms_at = (size_t)(terms - from);
	ret->text_at = (size_t)(r.at - from);
	ret->payload = bwl_must(malloc(ret->len + 1));
	memcpy(ret->payload, from, ret->len);
	ret->payload[ret->len] = '\0';
	return 0;
}

static int parse_lines(const char *bytes, size_t len, struct bwl_envelope *ret, struct bwl_err *e)
{
	struct rest r = { bytes + strlen(FIRST), bytes + len };
	const char *s;
	size_t n;
	int err = 0;

	*ret = (struct bwl_envelope){ .form = BWL_FORM_LINES };
	while (!err && line(&r, SIGNATURE, &s, &n))
		err = take_signature(s, n, ret, e);
	if (!err)
		err = take_signed(r, ret, e);
	if (err)
		bwl_envelope_free(ret);
	return err;
}

int bwl_envelope_parse(const char *bytes, size_t len, struct bwl_envelope *ret, struct bwl_err *e)
{
	*ret = (struct bwl_envelope){ 0 };
	if (len > BWL_SIGNED_BYTES_MAX)
		return envelope_malformed(e, "it is larger than 64 MiB");
	if (len > strlen(FIRST) && !memcmp(bytes, FIRST, strlen(FIRST)))
		return parse_lines(bytes, len, ret, e);
	return envelope_dsse_parse(bytes, len, ret, e);
}

/* --- writing */

/* Numbers differ: they need not be secret. */
static uint64_t new_serial(void)
{
	uint64_t n = 0;

	while (!n)
		if (RAND_bytes((unsigned char *)&n, sizeof(n)) != 1)
			abort();
		else
			n &= BWL_SERIAL_MAX;
	return n;
}

int bwl_envelope_new(enum bwl_signed_type type, const char *fleet, const char *audience,
		     const json_t *body, struct bwl_envelope *ret, struct bwl_err *e)
{
	const json_t *text = json_object_get(body, "text");
	size_t n = json_string_length(text);
	BWL_AUTO_FREE char *line = NULL;
	json_t *terms;
	int r = bwl_audience_check(audience, e), head;

	*ret = (struct bwl_envelope){ .form = BWL_FORM_LINES, .type = type };
	if (r)
		return r;
	if (!bwl_is_name(fleet, strlen(fleet)) || strlen(audience) >= sizeof(ret->audience))
		return bwl_fail(
			e, EINVAL,
			"a fleet must be a name of 1 to 31 of A-Z a-z 0-9 . _ - that does not begin with -; an audience may have at most 1023 bytes");
	strcpy(ret->fleet, fleet);
	strcpy(ret->audience, audience);
	ret->serial = new_serial();
	terms = bwl_must(json_copy((json_t *)(uintptr_t)body));
	if (text)
		json_object_del(terms, "text");
	line = bwl_must(json_dumps(terms, JSON_COMPACT));
	json_decref(terms);
	ret->nterms = strlen(line);
	ret->payload = bwl_must(malloc(strlen(audience) + ret->nterms + n + 256));
	head = sprintf((char *)ret->payload,
		       "type: %s\nfleet: %s\naudience: %s\nserial: %" PRIu64
		       "\nbytes: %zu\nterms: ",
		       bwl_signed_word(type), fleet, audience, ret->serial, n);
	ret->terms_at = (size_t)head;
	ret->text_at = ret->terms_at + (size_t)sprintf((char *)ret->payload + head, "%s\n\n", line);
	memcpy(ret->payload + ret->text_at, n ? json_string_value(text) : "", n);
	ret->len = ret->text_at + n;
	ret->payload[ret->len] = '\0';
	return 0;
}

char *bwl_envelope_text(const struct bwl_envelope *v, size_t *ret_len)
{
	const size_t each = sizeof(SIGNATURE) + BWL_KEY_ID + BWL_BASE64_LEN(BWL_SIGNATURE) + 2;
	char *text = bwl_must(malloc(sizeof(FIRST) + v->nsig * each + v->len + 1)), *at = text;
	char sig[BWL_BASE64_LEN(BWL_SIGNATURE) + 1];

	at = stpcpy(at, FIRST);
	for (size_t i = 0; i < v->nsig; i++)
		at += sprintf(at, SIGNATURE "%s %s\n", v->sig[i].key,
			      bwl_base64_encode(v->sig[i].sig, BWL_SIGNATURE, sig));
	memcpy(at, v->payload, v->len + 1);
	*ret_len = (size_t)(at - text) + v->len;
	return text;
}

uint8_t *bwl_envelope_signed(const struct bwl_envelope *v, size_t *ret_len)
{
	const size_t n = strlen(FIRST);
	uint8_t *at;

	if (v->form == BWL_FORM_DSSE)
		return envelope_dsse_signed(v, ret_len);
	at = bwl_must(malloc(n + v->len));
	memcpy(at, FIRST, n);
	memcpy(at + n, v->payload, v->len);
	*ret_len = n + v->len;
	return at;
}

int bwl_envelope_sign(struct bwl_envelope *v, const struct bwl_key *k, struct bwl_err *e)
{
	struct bwl_signature s = { 0 };
	size_t len, i = 0;
	uint8_t *at;
	int r;

	if (v->form == BWL_FORM_DSSE) {
		bwl_fail(e, EINVAL,
			 "it has the form of bwlimit 0.3.0, which is not written any more");
		return bwl_hint(
			e,
			"sign the policy, or the JSON that it was made from, again: bwlimit-ctl policy sign FILE");
	}
	at = bwl_envelope_signed(v, &len);
	r = bwl_key_sign(k, at, len, s.sig, e);
	free(at);
	if (r)
		return r;
	bwl_key_id(bwl_key_public(k), s.key);
	while (i < v->nsig && strcmp(v->sig[i].key, s.key))
		i++;
	if (i == BWL_SIGNED_SIGNATURES_MAX)
		return bwl_fail(e, E2BIG, "a document may have at most %d signatures",
				BWL_SIGNED_SIGNATURES_MAX);
	if (i == v->nsig) {
		v->sig = bwl_must(reallocarray(v->sig, v->nsig + 1, sizeof(*v->sig)));
		v->nsig++;
	}
	v->sig[i] = s;
	return 0;
}
