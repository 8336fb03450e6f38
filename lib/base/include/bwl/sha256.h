/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * SHA-256 for code that hashes many small things. OpenSSL 3.0 looks EVP_sha256() up again at each
 * use, which takes longer than hashing a node of a Merkle tree (308 ns with it, 130 without).
 */
#ifndef BWL_SHA256_H
#define BWL_SHA256_H

#include <openssl/evp.h>

/* Looked up once in a process, and never freed. */
const EVP_MD *bwl_sha256(void);

#endif
