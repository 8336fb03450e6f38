// SPDX-License-Identifier: GPL-2.0-or-later
/* See key.h. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <bwl/encode.h>
#include "signed/key_parts.h"

struct bwl_key *bwl_key_wrap(EVP_PKEY *p)
{
	struct bwl_key *k = bwl_must(calloc(1, sizeof(*k)));
	size_t n = sizeof(k->pub);

	k->pkey = p;
	if (p && EVP_PKEY_is_a(p, "ED25519") && EVP_PKEY_get_raw_public_key(p, k->pub, &n) == 1 &&
	    n == sizeof(k->pub))
		return k;
	bwl_key_free(k);
	return NULL;
}

struct bwl_key *bwl_key_random(void)
{
	return bwl_must(bwl_key_wrap(EVP_PKEY_Q_keygen(NULL, NULL, "ED25519")));
}

struct bwl_key *bwl_key_of_seed(const uint8_t seed[32])
{
	return bwl_must(bwl_key_wrap(
		bwl_must(EVP_PKEY_new_raw_private_key(EVP_PKEY_ED25519, NULL, seed, 32))));
}

void bwl_key_free(struct bwl_key *k)
{
	if (k)
		EVP_PKEY_free(k->pkey);
	if (k && k->forget)
		k->forget(k->token);
	free(k);
}

const uint8_t *bwl_key_public(const struct bwl_key *k)
{
	return k->pub;
}

char *bwl_key_id(const uint8_t pub[BWL_PUBLIC], char ret[static BWL_KEY_ID])
{
	uint8_t d[32];

	if (EVP_Digest(pub, BWL_PUBLIC, d, NULL, EVP_sha256(), NULL) != 1)
		abort();
	return bwl_hex_encode(d, sizeof(d), ret);
}

int bwl_key_write(const struct bwl_key *k, const char *path, struct bwl_err *e)
{
	BWL_AUTO_CLOSE int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC,
				     0600);
	FILE *f = fd < 0 ? NULL : fdopen(dup(fd), "w");
	bool ok;

	if (fd < 0 && errno == EEXIST)
		return bwl_fail(e, EEXIST, "%s: the file exists; a key never overwrites a file",
				path);
	if (!f)
		return bwl_fail(e, errno, "cannot write %s: %s", path, strerror(errno));
	ok = PEM_write_PrivateKey(f, k->pkey, NULL, NULL, 0, NULL, NULL) == 1;
	ok = !fflush(f) && ok && !fsync(fd);
	fclose(f);
	if (ok)
		return 0;
	unlink(path);
	return bwl_fail(e, EIO, "cannot write the key to %s", path);
}

int bwl_key_sign(const struct bwl_key *k, const uint8_t *at, size_t n, uint8_t ret[BWL_SIGNATURE],
		 struct bwl_err *e)
{
	size_t len = BWL_SIGNATURE;
	EVP_MD_CTX *c;
	bool ok;

	if (k->sign) {
		int r = k->sign(k->token, at, n, ret, e);

		if (r)
			return r;
		ok = bwl_key_verifies(k->pub, at, n, ret); /* verified, whatever the token did */
	} else {
		c = EVP_MD_CTX_new();
		ok = c && EVP_DigestSignInit(c, NULL, NULL, NULL, k->pkey) == 1 &&
		     EVP_DigestSign(c, ret, &len, at, n) == 1 && len == BWL_SIGNATURE;
		EVP_MD_CTX_free(c);
	}
	return ok ? 0 : bwl_fail(e, EIO, "this key cannot sign");
}

bool bwl_key_verifies(const uint8_t pub[BWL_PUBLIC], const uint8_t *at, size_t n,
		      const uint8_t sig[BWL_SIGNATURE])
{
	EVP_PKEY *p = EVP_PKEY_new_raw_public_key(EVP_PKEY_ED25519, NULL, pub, BWL_PUBLIC);
	EVP_MD_CTX *c = EVP_MD_CTX_new();
	bool ok = p && c && EVP_DigestVerifyInit(c, NULL, NULL, NULL, p) == 1 &&
		  EVP_DigestVerify(c, sig, BWL_SIGNATURE, at, n) == 1;

	EVP_MD_CTX_free(c);
	EVP_PKEY_free(p);
	ERR_clear_error();
	return ok;
}
