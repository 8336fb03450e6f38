/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Internal: the parts of a key, for key.c and signing/. */
#ifndef BWL_SIGNED_KEY_PARTS_H
#define BWL_SIGNED_KEY_PARTS_H

#include <openssl/evp.h>
#include "signed/key.h"

struct bwl_key {
	EVP_PKEY *pkey; /* NULL: it is on a token, which signs by these: */
	int (*sign)(void *token, const uint8_t *at, size_t n, uint8_t ret[BWL_SIGNATURE],
		    struct bwl_err *e);
	void (*forget)(void *token);
	void *token;
	uint8_t pub[BWL_PUBLIC];
};

/* Takes the reference; NULL: not an Ed25519 key. */
struct bwl_key *bwl_key_wrap(EVP_PKEY *p);

#endif
