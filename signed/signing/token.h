/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A key on a PKCS#11 token, by GnuTLS and p11-kit: tokens are found by the modules that p11-kit
 * has (/usr/share/p11-kit/modules), and no file of OpenSSL's needs to name one. Not by OpenSSL:
 * Debian 12 has no provider for PKCS#11, and the engine that it has (libp11 0.4.12) knows RSA and
 * ECDSA keys alone.
 */
#ifndef BWL_SIGNED_TOKEN_H
#define BWL_SIGNED_TOKEN_H

#include "signed/key.h"

/* uri: "pkcs11:…" (RFC 7512). The PIN: of `pin-source`, a file, or asked for at the terminal. */
int bwl_token_read(const char *uri, struct bwl_key **ret, struct bwl_err *e);

/* Did a token refuse a PIN since this process began, or was one not said for that it would? */
bool bwl_token_is_refused(void);

#endif
