/* SPDX-License-Identifier: GPL-2.0-or-later */
/* See cosign.h. */
#include <jansson.h>
#include <openssl/evp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "audit/merkle.h"
#include "bwl/encode.h"
#include "cosign.h"

#define DASH "\xe2\x80\x94 " /* em dash, space */
#define COSIGNATURE_V1 4     /* the type of its keys */

static enum cosign_word alarm_of(struct cosigned *c, const char *what, uint64_t was, uint64_t is)
{
	snprintf(c->forked, sizeof(c->forked), "%s (size %llu before, %llu now)", what,
		 (unsigned long long)was, (unsigned long long)is);
	return COSIGN_ALARM;
}

/* Does the proof show that it begins with the one that was cosigned? */
static bool is_proven(const struct log_head *before, const struct tray_status *s)
{
	struct bwl_hash m, n, proof[STATUS_PROOF_MOST];

	if (!s->nproof || s->proof_from != before->size)
		return false;
	memcpy(m.b, before->root, 32);
	memcpy(n.b, s->root, 32);
	for (unsigned i = 0; i < s->nproof; i++)
		memcpy(proof[i].b, s->proof[i], 32);
	return bwl_proof_holds(before->size, &m, s->size, &n, proof, s->nproof);
}

enum cosign_word cosign_judge(struct cosigned *c, const struct tray_status *s)
{
	struct log_head now = { .size = s->size }, before = c->seen;

	if (!s->has_checkpoint || *c->forked)
		return COSIGN_NOTHING;
	memcpy(now.origin, s->origin, sizeof(now.origin));
	memcpy(now.root, s->root, sizeof(now.root));
	if (*before.origin && strcmp(before.origin, now.origin))
		return alarm_of(c, "its audit log is another one", before.size, now.size);
	if (*before.origin && now.size < before.size)
		return alarm_of(c, "its audit log has become shorter", before.size, now.size);
	if (*before.origin && now.size == before.size &&
	    memcmp(before.root, now.root, sizeof(now.root)))
		return alarm_of(c, "its audit log has two histories", before.size, now.size);
	c->seen = now;
	if (!*c->signed_.origin || is_proven(&c->signed_, s)) {
		c->signed_ = now;
		return COSIGN_SIGN;
	}
	if (s->nproof && s->proof_from == c->signed_.size && s->size > c->signed_.size)
		return alarm_of(c, "its audit log does not begin as it did", c->signed_.size,
				now.size);
	return *before.origin && before.size == now.size ? COSIGN_NOTHING : COSIGN_KEEP;
}

static uint32_t key_id(const char *name, const struct bwl_key *k)
{
	uint8_t in[128 + 2 + BWL_PUBLIC], out[32];
	size_t n = (size_t)snprintf((char *)in, 128, "%s\n%c", name, COSIGNATURE_V1);

	memcpy(in + n, bwl_key_public(k), BWL_PUBLIC);
	if (!EVP_Digest(in, n + BWL_PUBLIC, out, NULL, EVP_sha256(), NULL))
		abort();
	return (uint32_t)out[0] << 24 | (uint32_t)out[1] << 16 | (uint32_t)out[2] << 8 | out[3];
}

static int body(const struct log_head *h, char *buf, size_t size)
{
	char root[BWL_BASE64_LEN(32) + 1];

	return snprintf(buf, size, "%s\n%llu\n%s\n", h->origin, (unsigned long long)h->size,
			bwl_base64_encode(h->root, 32, root));
}

int cosign_note(const struct log_head *h, const char *name, const struct bwl_key *k, int64_t now_s,
		char ret[static COSIGN_NOTE], struct bwl_err *e)
{
	uint8_t raw[4 + 8 + BWL_SIGNATURE];
	char said[COSIGN_NOTE], sig[BWL_BASE64_LEN(sizeof(raw)) + 1];
	uint32_t id = key_id(name, k);
	int n, r;

	n = snprintf(said, sizeof(said), "cosignature/v1\ntime %lld\n", (long long)now_s);
	n += body(h, said + n, sizeof(said) - (size_t)n);
	for (unsigned i = 0; i < 4; i++)
		raw[i] = (uint8_t)(id >> (24 - 8 * i));
	for (unsigned i = 0; i < 8; i++)
		raw[4 + i] = (uint8_t)((uint64_t)now_s >> (56 - 8 * i));
	r = bwl_key_sign(k, (const uint8_t *)said, (size_t)n, raw + 12, e);
	if (r)
		return r;
	bwl_base64_encode(raw, sizeof(raw), sig);
	n = body(h, ret, COSIGN_NOTE);
	if (snprintf(ret + n, COSIGN_NOTE - (size_t)n, "\n" DASH "%s %s\n", name, sig) >=
	    COSIGN_NOTE - n)
		return bwl_fail(e, EMSGSIZE, "the name of witness %.40s… is too long", name);
	return 0;
}

char *cosign_verifier(const char *name, const struct bwl_key *k, char ret[static COSIGN_NOTE])
{
	uint8_t raw[1 + BWL_PUBLIC] = { COSIGNATURE_V1 };
	char b64[BWL_BASE64_LEN(sizeof(raw)) + 1];

	memcpy(raw + 1, bwl_key_public(k), BWL_PUBLIC);
	snprintf(ret, COSIGN_NOTE, "%s+%08x+%s", name, key_id(name, k),
		 bwl_base64_encode(raw, sizeof(raw), b64));
	return ret;
}

static json_t *head_json(const struct log_head *h)
{
	char hex[65];

	return *h->origin ? json_pack("{s:s, s:I, s:s}", "origin", h->origin, "size",
				      (json_int_t)h->size, "root", bwl_hex_encode(h->root, 32, hex))
			  : json_null();
}

char *cosigned_text(const struct cosigned *c)
{
	json_t *o = json_pack("{s:o, s:o, s:s}", "seen", head_json(&c->seen), "cosigned",
			      head_json(&c->signed_), "forked", c->forked);
	char *text = bwl_must(json_dumps(bwl_must(o), JSON_COMPACT));

	json_decref(o);
	return text;
}

static bool take_head(const json_t *v, struct log_head *ret)
{
	const char *origin = json_string_value(json_object_get(v, "origin"));
	const char *root = json_string_value(json_object_get(v, "root"));

	if (json_is_null(v))
		return true;
	ret->size = (uint64_t)json_integer_value(json_object_get(v, "size"));
	return origin && snprintf(ret->origin, STATUS_ORIGIN, "%s", origin) < STATUS_ORIGIN &&
	       root && bwl_hex_decode(root, ret->root, sizeof(ret->root));
}

int cosigned_parse(const void *at, size_t len, struct cosigned *ret, struct bwl_err *e)
{
	json_t *o = json_loadb(at, len, JSON_REJECT_DUPLICATES, NULL);
	const char *forked = json_string_value(json_object_get(o, "forked"));
	bool ok;

	*ret = (struct cosigned){ 0 };
	ok = forked && take_head(json_object_get(o, "seen"), &ret->seen) &&
	     take_head(json_object_get(o, "cosigned"), &ret->signed_) &&
	     snprintf(ret->forked, sizeof(ret->forked), "%s", forked) < (int)sizeof(ret->forked);
	json_decref(o);
	return ok ? 0
		  : bwl_fail(e, EBADMSG,
			     "what was kept of an audit log is not what a controller wrote");
}
