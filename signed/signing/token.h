/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A key on a PKCS#11 token, by GnuTLS and p11-kit: tokens are found through p11-kit's modules
 * (/usr/share/p11-kit/modules), without any OpenSSL configuration. Not by OpenSSL: Debian 12 has no
 * provider for PKCS#11, and its engine (libp11 0.4.12) supports only RSA and ECDSA keys.
 */
#ifndef BWL_SIGNED_TOKEN_H
#define BWL_SIGNED_TOKEN_H

#include "signed/key.h"

/* uri: "pkcs11:…" (RFC 7512). The PIN comes from `pin-source`, a file, or the terminal. */
int bwl_token_read(const char *uri, struct bwl_key **ret, struct bwl_err *e);

/* Did a token refuse a PIN since this process began, or was one withheld because of few tries? */
bool bwl_token_is_refused(void);

#endif
