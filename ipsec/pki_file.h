/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Files of a PKI, written as a whole or not at all. Only inside ipsec/. */
#ifndef BWL_IPSEC_PKI_FILE_H
#define BWL_IPSEC_PKI_FILE_H

#include <openssl/x509.h>
#include <stdbool.h>
#include "ipsec/pki.h"

/* Joins with '/'; NULL ends. -ENAMETOOLONG. */
int bwl_pki_path(char buf[static BWL_PKI_PATH], struct bwl_err *e, ...);
/* Creates the folder and its parents with that mode if missing. */
int bwl_pki_mkdir(const char *path, unsigned mode, struct bwl_err *e);
/* Exclusive until the descriptor is closed; waits up to 10 s. Returns the descriptor. */
int bwl_pki_lock(const char *dir, struct bwl_err *e);

/* Writes one PEM object to a file that appears whole, with the mode; replaces. */
int bwl_pki_put_cert(const char *path, X509 *x, struct bwl_err *e);
int bwl_pki_put_crl(const char *path, X509_CRL *x, struct bwl_err *e);
int bwl_pki_put_key(const char *path, EVP_PKEY *x, struct bwl_err *e); /* 0600 */
int bwl_pki_get_cert(const char *path, X509 **ret, struct bwl_err *e);
int bwl_pki_get_crl(const char *path, X509_CRL **ret, struct bwl_err *e);
int bwl_pki_get_key(const char *path, EVP_PKEY **ret, struct bwl_err *e);
int bwl_pki_get_request(const char *path, X509_REQ **ret, struct bwl_err *e);

/* Converts libcrypto's error. */
int bwl_pki_failed(struct bwl_err *e, const char *what);

#endif
