// SPDX-License-Identifier: GPL-2.0-or-later
/* See hash.h. */
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <stdlib.h>
#include <string.h>
#include "hash.h"

static EVP_MD *sha256;

/* Fetched once: a record takes several hashes, and each would look up the algorithm again. */
__attribute__((constructor)) static void fetch(void)
{
	sha256 = EVP_MD_fetch(NULL, "SHA256", NULL);
}

__attribute__((destructor)) static void drop(void)
{
	EVP_MD_free(sha256);
}

/* Ends the process, for example if it is out of memory: a wrong hash must not be written. */
static void must(bool good)
{
	if (!good)
		abort();
}

struct ev_hasher *ev_hash_begin(enum ev_prefix p)
{
	EVP_MD_CTX *ctx = EVP_MD_CTX_new();
	uint8_t b = (uint8_t)p;

	must(ctx && sha256 && EVP_DigestInit_ex(ctx, sha256, NULL) && EVP_DigestUpdate(ctx, &b, 1));
	return (struct ev_hasher *)ctx;
}

void ev_hash_bytes(struct ev_hasher *h, const void *data, size_t len)
{
	must(EVP_DigestUpdate((EVP_MD_CTX *)h, data, len));
}

void ev_hash_number(struct ev_hasher *h, uint64_t n)
{
	uint8_t b[8];

	for (int i = 0; i < 8; i++)
		b[i] = (uint8_t)(n >> (56 - 8 * i));
	ev_hash_bytes(h, b, sizeof(b));
}

void ev_hash_text(struct ev_hasher *h, const void *text, size_t len)
{
	ev_hash_number(h, len);
	ev_hash_bytes(h, text, len);
}

void ev_hash_sum(struct ev_hasher *h, const struct ev_sum *x)
{
	for (int i = 0; i < EV_NUMBERS; i++)
		ev_hash_number(h, x->v[i]);
}

void ev_hash_end(struct ev_hasher *h, struct bwl_hash *ret)
{
	must(EVP_DigestFinal_ex((EVP_MD_CTX *)h, ret->b, NULL));
	EVP_MD_CTX_free((EVP_MD_CTX *)h);
}

void ev_secret(const uint8_t key[32], enum ev_of of, const void *data, size_t len,
	       uint8_t ret[static 32])
{
	uint8_t said[512];
	unsigned n = 32;

	must(len < sizeof(said));
	said[0] = (uint8_t)of;
	memcpy(said + 1, data, len);
	must(HMAC(sha256, key, 32, said, len + 1, ret, &n) && n == 32);
}

bool ev_sum_add(struct ev_sum *to, const struct ev_sum *x)
{
	struct ev_sum sum;

	for (int i = 0; i < EV_NUMBERS; i++)
		if (__builtin_add_overflow(to->v[i], x->v[i], &sum.v[i]))
			return false;
	*to = sum;
	return true;
}

bool ev_sum_less(struct ev_sum *to, const struct ev_sum *x)
{
	struct ev_sum left;

	for (int i = 0; i < EV_NUMBERS; i++)
		if (__builtin_sub_overflow(to->v[i], x->v[i], &left.v[i]))
			return false;
	*to = left;
	return true;
}

bool ev_sum_same(const struct ev_sum *a, const struct ev_sum *b)
{
	return !memcmp(a, b, sizeof(*a));
}

bool ev_sum_is_zero(const struct ev_sum *x)
{
	return ev_sum_same(x, &(struct ev_sum){ { 0 } });
}
