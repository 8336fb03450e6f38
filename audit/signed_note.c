// SPDX-License-Identifier: GPL-2.0-or-later
/* See signed_note.h. */
#include <errno.h>
#include <jansson.h>
#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/rand.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <bwl/encode.h>
#include "signed_note.h"

#define DASH "\xe2\x80\x94 " /* em dash, space */
#define SIGNATURES_MAX 100
#define SIGNATURE 64
#define TIME 8 /* bytes of it in a cosignature, big-endian */

char *bwl_hash_format(const struct bwl_hash *h, char buf[static BWL_HASH_TEXT])
{
	EVP_EncodeBlock((uint8_t *)buf, h->b, sizeof(h->b));
	return buf;
}

bool bwl_hash_parse(const char *text, size_t len, struct bwl_hash *ret)
{
	return bwl_base64_decode(text, len, ret->b, sizeof(ret->b)) == sizeof(ret->b);
}

static uint32_t key_id(const char *name, uint8_t type, const uint8_t pub[32])
{
	uint8_t in[BWL_NOTE_NAME + 34], out[32];
	size_t n = strlen(name);

	memcpy(in, name, n);
	in[n++] = '\n';
	in[n++] = type;
	memcpy(in + n, pub, 32);
	if (!EVP_Digest(in, n + 32, out, NULL, EVP_sha256(), NULL))
		abort();
	return (uint32_t)out[0] << 24 | (uint32_t)out[1] << 16 | (uint32_t)out[2] << 8 | out[3];
}

/* We accept fewer names than the format allows: no Unicode. */
static bool is_name(const char *s, size_t n)
{
	if (!n || n >= BWL_NOTE_NAME)
		return false;
	for (size_t i = 0; i < n; i++)
		if (s[i] <= ' ' || s[i] > '~' || s[i] == '+')
			return false;
	return true;
}

static bool derive(struct bwl_note_key *k)
{
	EVP_PKEY *p = EVP_PKEY_new_raw_private_key(EVP_PKEY_ED25519, NULL, k->seed, 32);
	size_t n = 32;
	bool ok = p && EVP_PKEY_get_raw_public_key(p, k->pub, &n) == 1 && n == 32;

	EVP_PKEY_free(p);
	return ok;
}

static int bad_name(const char *name, struct bwl_err *e)
{
	return bwl_fail(
		e, EINVAL,
		"'%.64s': the name of a key must be 1 to %d printable ASCII characters, no space, no +",
		name, BWL_NOTE_NAME - 1);
}

int bwl_note_key_new(const char *name, struct bwl_note_key *ret, struct bwl_err *e)
{
	memset(ret, 0, sizeof(*ret));
	if (!is_name(name, strlen(name)))
		return bad_name(name, e);
	strcpy(ret->name, name);
	if (RAND_priv_bytes(ret->seed, sizeof(ret->seed)) != 1 || !derive(ret))
		return bwl_fail(e, EIO, "libcrypto cannot make an Ed25519 key");
	ret->type = BWL_NOTE_ED25519;
	ret->id = key_id(name, ret->type, ret->pub);
	ret->can_sign = true;
	return 0;
}

#define SECRET "PRIVATE+KEY+"

static bool parse_key(const char *text, uint8_t type, struct bwl_note_key *ret)
{
	bool secret = type == BWL_NOTE_ED25519 && !strncmp(text, SECRET, strlen(SECRET));
	const char *name = secret ? text + strlen(SECRET) : text, *id, *data;
	size_t len;
	uint8_t raw[33];
	char want[9];

	id = strchr(name, '+');
	data = id ? strchr(id + 1, '+') : NULL;
	if (!data || !is_name(name, (size_t)(id - name)) || data - id != 9)
		return false;
	len = strlen(data + 1);
	while (len && strchr(" \r\n\t", data[len]))
		len--;
	if (bwl_base64_decode(data + 1, len, raw, sizeof(raw)) != sizeof(raw) || raw[0] != type)
		return false;
	ret->type = type;
	memcpy(ret->name, name, (size_t)(id - name));
	memcpy(secret ? ret->seed : ret->pub, raw + 1, 32);
	OPENSSL_cleanse(raw, sizeof(raw));
	ret->can_sign = secret;
	if (secret && !derive(ret))
		return false;
	ret->id = key_id(ret->name, type, ret->pub);
	snprintf(want, sizeof(want), "%08x", ret->id);
	return !memcmp(want, id + 1, 8);
}

int bwl_note_key_parse(const char *text, struct bwl_note_key *ret, struct bwl_err *e)
{
	memset(ret, 0, sizeof(*ret));
	if (parse_key(text, BWL_NOTE_ED25519, ret))
		return 0;
	memset(ret, 0, sizeof(*ret));
	return bwl_fail(e, EINVAL, "not a key: must be NAME+ID+BASE64, Ed25519, in one line");
}

int bwl_witness_key_parse(const char *text, struct bwl_note_key *ret, struct bwl_err *e)
{
	memset(ret, 0, sizeof(*ret));
	if (parse_key(text, BWL_NOTE_COSIGNATURE, ret))
		return 0;
	memset(ret, 0, sizeof(*ret));
	return bwl_fail(
		e, EINVAL,
		"not a witness's key: must be NAME+ID+BASE64, type 4 (Ed25519 cosignatures), in one line");
}

int bwl_witness_key(const char *name, const uint8_t pub[32], struct bwl_note_key *ret,
		    struct bwl_err *e)
{
	memset(ret, 0, sizeof(*ret));
	if (!is_name(name, strlen(name)))
		return bad_name(name, e);
	ret->type = BWL_NOTE_COSIGNATURE;
	strcpy(ret->name, name);
	memcpy(ret->pub, pub, 32);
	ret->id = key_id(name, ret->type, pub);
	return 0;
}

char *bwl_note_key_format(const struct bwl_note_key *k, bool secret,
			  char buf[static BWL_NOTE_KEY_TEXT])
{
	uint8_t raw[33] = { k->type };
	char b64[48];

	memcpy(raw + 1, secret ? k->seed : k->pub, 32);
	EVP_EncodeBlock((uint8_t *)b64, raw, sizeof(raw));
	snprintf(buf, BWL_NOTE_KEY_TEXT, "%s%s+%08x+%s", secret ? SECRET : "", k->name, k->id, b64);
	OPENSSL_cleanse(raw, sizeof(raw));
	OPENSSL_cleanse(b64, sizeof(b64));
	return buf;
}

int bwl_note_sign(const struct bwl_note_key *k, const char *text, char *buf, size_t size,
		  size_t *ret_len, struct bwl_err *e)
{
	EVP_PKEY *p = k->can_sign
			      ? EVP_PKEY_new_raw_private_key(EVP_PKEY_ED25519, NULL, k->seed, 32)
			      : NULL;
	EVP_MD_CTX *ctx = EVP_MD_CTX_new();
	uint8_t raw[68] = { k->id >> 24, k->id >> 16 & 255, k->id >> 8 & 255, k->id & 255 };
	size_t n = 64, len = strlen(text);
	char b64[96];
	bool ok;
	int r;

	ok = p && ctx && len && text[len - 1] == '\n' &&
	     EVP_DigestSignInit(ctx, NULL, NULL, NULL, p) == 1 &&
	     EVP_DigestSign(ctx, raw + 4, &n, (const uint8_t *)text, len) == 1 && n == 64;
	EVP_MD_CTX_free(ctx);
	EVP_PKEY_free(p);
	if (!ok)
		return bwl_fail(e, EIO, "cannot sign with the key %.64s", k->name);
	EVP_EncodeBlock((uint8_t *)b64, raw, sizeof(raw));
	r = snprintf(buf, size, "%s\n" DASH "%s %s\n", text, k->name, b64);
	if (r < 0 || (size_t)r >= size)
		return bwl_fail(e, EMSGSIZE, "a note of %d bytes is too long", r);
	*ret_len = (size_t)r;
	return 0;
}

char *bwl_cosignature_said(const char *text, size_t len, uint64_t time_s, size_t *ret_len)
{
	char *said;
	int n = asprintf(&said, "cosignature/v1\ntime %llu\n%.*s", (unsigned long long)time_s,
			 (int)len, text);

	if (n < 0)
		abort();
	*ret_len = (size_t)n;
	return said;
}

void bwl_cosignature_line(const struct bwl_note_key *k, uint64_t time_s, const uint8_t sig[64],
			  char buf[static BWL_COSIGNATURE_LINE])
{
	uint8_t raw[4 + TIME + SIGNATURE];
	char b64[BWL_BASE64_LEN(sizeof(raw)) + 1];

	for (unsigned i = 0; i < 4; i++)
		raw[i] = (uint8_t)(k->id >> (24 - 8 * i));
	for (unsigned i = 0; i < TIME; i++)
		raw[4 + i] = (uint8_t)(time_s >> (56 - 8 * i));
	memcpy(raw + 4 + TIME, sig, SIGNATURE);
	snprintf(buf, BWL_COSIGNATURE_LINE, DASH "%s %s\n", k->name,
		 bwl_base64_encode(raw, sizeof(raw), b64));
}

/* sig: without the key's id. A witness's has the time before the signature. */
static int verify(const struct bwl_note_key *k, const char *text, size_t len, const uint8_t *sig,
		  struct bwl_err *e)
{
	EVP_PKEY *p = EVP_PKEY_new_raw_public_key(EVP_PKEY_ED25519, NULL, k->pub, 32);
	EVP_MD_CTX *ctx = EVP_MD_CTX_new();
	char *said = NULL;
	uint64_t time_s = 0;
	bool ok;

	if (k->type == BWL_NOTE_COSIGNATURE) {
		for (unsigned i = 0; i < TIME; i++)
			time_s = time_s << 8 | *sig++;
		text = said = bwl_cosignature_said(text, len, time_s, &len);
	}
	ok = p && ctx && EVP_DigestVerifyInit(ctx, NULL, NULL, NULL, p) == 1 &&
	     EVP_DigestVerify(ctx, sig, SIGNATURE, (const uint8_t *)text, len) == 1;
	free(said);
	EVP_MD_CTX_free(ctx);
	EVP_PKEY_free(p);
	return ok ? 0
		  : bwl_fail(e, EBADMSG, "the signature of %.64s does not match the text", k->name);
}

static int malformed(struct bwl_err *e)
{
	return bwl_fail(e, EBADMSG, "not a signed note");
}

/* Valid UTF-8 without control characters other than newlines, ending with a newline. */
static bool is_text(const char *s, size_t len)
{
	json_t *utf8;

	if (!len || len > BWL_NOTE_MAX || s[len - 1] != '\n')
		return false;
	for (size_t i = 0; i < len; i++)
		if ((uint8_t)s[i] < ' ' && s[i] != '\n')
			return false;
	utf8 = json_stringn(s, len);
	json_decref(utf8);
	return utf8;
}

/* One signature line without its newline. 1: it is by k, *sig is set; 0: by somebody else. */
static int signature(const struct bwl_note_key *k, const char *line, size_t len,
		     uint8_t sig[static TIME + SIGNATURE])
{
	const char *name, *space;
	const size_t n = 4 + (k->type == BWL_NOTE_COSIGNATURE ? TIME : 0) + SIGNATURE;
	const size_t want = BWL_BASE64_LEN(n);
	size_t name_len, b64_len;
	uint8_t raw[4 + TIME + SIGNATURE];
	uint32_t id;

	if (len < 4 || memcmp(line, DASH, 4))
		return -EBADMSG;
	name = line + 4;
	space = memchr(name, ' ', len - 4);
	if (!space || space == name || memchr(name, '+', (size_t)(space - name)))
		return -EBADMSG;
	name_len = (size_t)(space - name);
	b64_len = len - 4 - name_len - 1;
	if (b64_len < 8 || memchr(space + 1, ' ', b64_len))
		return -EBADMSG;
	if (strlen(k->name) != name_len || memcmp(k->name, name, name_len) || b64_len < want)
		return 0;
	if (bwl_base64_decode(space + 1, 4, raw, 3) != 3)
		return -EBADMSG;
	/* a key of the same name but another kind may have signatures of another length */
	if (b64_len != want || bwl_base64_decode(space + 1, b64_len, raw, n) != (long)n)
		return b64_len == want ? -EBADMSG : 0;
	id = (uint32_t)raw[0] << 24 | (uint32_t)raw[1] << 16 | (uint32_t)raw[2] << 8 | raw[3];
	if (id != k->id)
		return 0;
	memcpy(sig, raw + 4, n - 4);
	return 1;
}

/* The text ends at the last empty line. */
size_t bwl_note_text(const char *note, size_t len)
{
	size_t at = len;

	if (!is_text(note, len))
		return 0;
	while (at >= 2 && !(note[at - 1] == '\n' && note[at - 2] == '\n'))
		at--;
	return at < 2 || at == len ? 0 : at - 1;
}

static int open_note(const struct bwl_note_key *k, const char *note, size_t len, size_t *ret_text,
		     uint8_t ret[static TIME + SIGNATURE], struct bwl_err *e)
{
	unsigned lines = 0;
	uint8_t sig[TIME + SIGNATURE] = { 0 };
	bool found = false;
	size_t text = bwl_note_text(note, len), at = text + 1;
	int r = 0;

	if (!text)
		return malformed(e);
	while (at < len && r >= 0) {
		size_t n = (size_t)((const char *)memchr(note + at, '\n', len - at) - (note + at));

		if (++lines > SIGNATURES_MAX)
			return malformed(e);
		r = signature(k, note + at, n, sig);
		if (r > 0 && !found) {
			found = true;
			r = verify(k, note, text, sig, e);
			if (r)
				return r;
			memcpy(ret, sig, sizeof(sig));
		}
		at += n + 1;
	}
	if (r < 0)
		return malformed(e);
	if (!found)
		return bwl_fail(e, ENOKEY, "not signed by %.64s (key %08x)", k->name, k->id);
	*ret_text = text;
	return 0;
}

int bwl_note_open(const struct bwl_note_key *k, const char *note, size_t len, size_t *ret_text,
		  struct bwl_err *e)
{
	uint8_t sig[TIME + SIGNATURE];

	return open_note(k, note, len, ret_text, sig, e);
}

int bwl_note_signature(const struct bwl_note_key *k, const char *note, size_t len,
		       uint8_t ret[static BWL_NOTE_SIGNATURE], struct bwl_err *e)
{
	size_t text;

	_Static_assert(TIME + SIGNATURE == BWL_NOTE_SIGNATURE, "the time, and the signature");
	return open_note(k, note, len, &text, ret, e);
}

int bwl_checkpoint_sign(const struct bwl_note_key *k, const struct bwl_checkpoint *c,
			char buf[static BWL_CHECKPOINT_NOTE], size_t *ret_len, struct bwl_err *e)
{
	char text[BWL_NOTE_NAME + 80 + sizeof(c->extension)], root[BWL_HASH_TEXT];

	snprintf(text, sizeof(text), "%s\n%llu\n%s\n%s%s", c->origin, (unsigned long long)c->size,
		 bwl_hash_format(&c->root, root), c->extension, *c->extension ? "\n" : "");
	return bwl_note_sign(k, text, buf, BWL_CHECKPOINT_NOTE, ret_len, e);
}

int bwl_checkpoint_open(const struct bwl_note_key *k, const char *note, size_t len,
			struct bwl_checkpoint *ret, struct bwl_err *e)
{
	size_t text;
	int r = bwl_note_open(k, note, len, &text, e);

	memset(ret, 0, sizeof(*ret));
	return r ? r : bwl_checkpoint_read(note, len, ret, e);
}

int bwl_checkpoint_read(const char *note, size_t len, struct bwl_checkpoint *ret, struct bwl_err *e)
{
	size_t text = bwl_note_text(note, len), n;
	const char *line[4];

	memset(ret, 0, sizeof(*ret));
	if (!text)
		return malformed(e);
	line[0] = note;
	for (unsigned i = 1; i < 4; i++) {
		const char *nl = memchr(line[i - 1], '\n', text - (size_t)(line[i - 1] - note));

		if (!nl || nl == line[i - 1])
			goto bad;
		line[i] = nl + 1;
	}
	n = (size_t)(line[1] - line[0] - 1);
	if (n >= sizeof(ret->origin))
		goto bad;
	memcpy(ret->origin, note, n);
	n = (size_t)(line[2] - line[1] - 1);
	if (n > 19 || (n > 1 && *line[1] == '0'))
		goto bad;
	for (const char *s = line[1]; *s != '\n'; s++) {
		if (*s < '0' || *s > '9')
			goto bad;
		ret->size = ret->size * 10 + (uint64_t)(*s - '0');
	}
	n = text - (size_t)(line[3] - note);
	if (n && n <= sizeof(ret->extension) && memchr(line[3], '\n', n) == line[3] + n - 1)
		memcpy(ret->extension, line[3], n - 1);
	if (bwl_hash_parse(line[2], (size_t)(line[3] - line[2] - 1), &ret->root))
		return 0;
bad:
	memset(ret, 0, sizeof(*ret));
	return bwl_fail(
		e, EBADMSG,
		"a note but not a checkpoint: must have origin, tree size and root, one per line");
}
