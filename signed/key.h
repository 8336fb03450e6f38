/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Ed25519 keys: PEM files of mode 0600, by libcrypto's EVP, or on a token by its PKCS#11 URI.
 */
#ifndef BWL_SIGNED_KEY_H
#define BWL_SIGNED_KEY_H

#include <bwl/cleanup.h>
#include <bwl/err.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define BWL_PUBLIC 32
#define BWL_SIGNATURE 64
#define BWL_KEY_ID 65 /* SHA-256 of the raw public key in hex, NUL */

struct bwl_key;
struct bwl_key *bwl_key_random(void); /* aborts if libcrypto fails */
/* From its 32 secret bytes, as an audit log's key has them. */
struct bwl_key *bwl_key_of_seed(const uint8_t seed[32]);
/* -EEXIST: the file exists. 0600, synced. */
int bwl_key_write(const struct bwl_key *k, const char *path, struct bwl_err *e);
/*
 * A PEM file, or "pkcs11:…" (RFC 7512): signing/token.h. A file that others may read is refused. In
 * the library bwl_signing.
 */
int bwl_key_read(const char *where, struct bwl_key **ret, struct bwl_err *e);
void bwl_key_free(struct bwl_key *k);
BWL_AUTO_DEFINE(bwl_key_free, struct bwl_key *)
const uint8_t *bwl_key_public(const struct bwl_key *k);
char *bwl_key_id(const uint8_t pub[BWL_PUBLIC], char ret[static BWL_KEY_ID]);

int bwl_key_sign(const struct bwl_key *k, const uint8_t *at, size_t n, uint8_t ret[BWL_SIGNATURE],
		 struct bwl_err *e);
bool bwl_key_verifies(const uint8_t pub[BWL_PUBLIC], const uint8_t *at, size_t n,
		      const uint8_t sig[BWL_SIGNATURE]);

#endif
