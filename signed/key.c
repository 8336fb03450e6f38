/* SPDX-License-Identifier: GPL-2.0-or-later */
/* See key.h. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/store.h>
#include <bwl/encode.h>
#include "signed/key.h"

struct bwl_key {
	EVP_PKEY *pkey;
	uint8_t pub[BWL_PUBLIC];
};

/* Takes the reference. */
static struct bwl_key *wrap(EVP_PKEY *p)
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
	return bwl_must(wrap(EVP_PKEY_Q_keygen(NULL, NULL, "ED25519")));
}

void bwl_key_free(struct bwl_key *k)
{
	if (k)
		EVP_PKEY_free(k->pkey);
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
		return bwl_fail(e, EEXIST,
				"%s: there is a file; a key is never written over another", path);
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

static int read_file(const char *path, struct bwl_key **ret, struct bwl_err *e)
{
	BWL_AUTO_CLOSE int fd = open(path, O_RDONLY | O_CLOEXEC);
	FILE *f = fd < 0 ? NULL : fdopen(dup(fd), "r");
	struct stat st;

	if (!f)
		return bwl_fail(e, errno, "cannot read the key %s: %s", path, strerror(errno));
	if (fstat(fd, &st) || (st.st_mode & 077)) {
		fclose(f);
		bwl_fail(e, EPERM, "%s: others than its owner may read or write this key", path);
		return bwl_hint(e, "chmod 600 %s, if nobody has read it", path);
	}
	*ret = wrap(PEM_read_PrivateKey(f, NULL, NULL, NULL));
	fclose(f);
	ERR_clear_error();
	return *ret ? 0 : bwl_fail(e, EBADMSG, "%s is no Ed25519 key as PEM", path);
}

/* The first private key that the store behind a URI has. */
static int read_token(const char *uri, struct bwl_key **ret, struct bwl_err *e)
{
	OSSL_STORE_CTX *s = OSSL_STORE_open(uri, NULL, NULL, NULL, NULL);
	OSSL_STORE_INFO *i;

	if (!s) {
		bwl_fail(e, ENOTSUP, "libcrypto opens no '%.32s…': it has no PKCS#11 provider",
			 uri);
		return bwl_hint(
			e,
			"install pkcs11-provider and name it in openssl.cnf (Debian 13; Debian 12 has none)");
	}
	while (!*ret && !OSSL_STORE_eof(s)) {
		i = OSSL_STORE_load(s);
		if (i && OSSL_STORE_INFO_get_type(i) == OSSL_STORE_INFO_PKEY)
			*ret = wrap(OSSL_STORE_INFO_get1_PKEY(i));
		OSSL_STORE_INFO_free(i);
	}
	OSSL_STORE_close(s);
	ERR_clear_error();
	return *ret ? 0 : bwl_fail(e, ENOKEY, "there is no Ed25519 private key at '%.64s'", uri);
}

int bwl_key_read(const char *where, struct bwl_key **ret, struct bwl_err *e)
{
	*ret = NULL;
	return strncmp(where, "pkcs11:", 7) ? read_file(where, ret, e) : read_token(where, ret, e);
}

int bwl_key_sign(const struct bwl_key *k, const uint8_t *at, size_t n, uint8_t ret[BWL_SIGNATURE],
		 struct bwl_err *e)
{
	EVP_MD_CTX *c = EVP_MD_CTX_new();
	size_t len = BWL_SIGNATURE;
	bool ok = c && EVP_DigestSignInit(c, NULL, NULL, NULL, k->pkey) == 1 &&
		  EVP_DigestSign(c, ret, &len, at, n) == 1 && len == BWL_SIGNATURE;

	EVP_MD_CTX_free(c);
	return ok ? 0 : bwl_fail(e, EIO, "this key does not sign");
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
