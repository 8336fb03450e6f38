/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A small PKI for a site that has none: one CA (ECDSA P-384, SHA-384), short-lived certificates,
 * one CRL. libcrypto does the cryptography. Every file is written whole under another name, then
 * renamed; a kill anywhere leaves a certificate with its key, the old or the new one.
 *
 *   DIR/ca.pem ca.key crl.pem     the CA; ca.key 0600, to be kept off the trays
 *   DIR/issued/NODE-SERIAL.pem    every certificate there ever was
 *   DIR/nodes/NODE/               what the node's /etc/swanctl gets (or --out): x509/NODE.pem,
 *                                 private/NODE-SERIAL.key, x509ca/bwlimit.pem, x509crl/bwlimit.pem
 */
#ifndef BWL_IPSEC_PKI_H
#define BWL_IPSEC_PKI_H

#include <stdint.h>
#include "bwl/err.h"

#define BWL_PKI_DIR "/etc/bwlimit/pki"
#define BWL_PKI_PATH 512

struct bwl_pki_cert {
	char serial[41];         /* hexadecimal */
	char cert[BWL_PKI_PATH]; /* file */
	char key[BWL_PKI_PATH];  /* file; empty: made elsewhere (csr) */
	int64_t not_after;       /* seconds since the epoch */
};

/* A new CA in a folder that has none. */
int bwl_pki_init(const char *dir, const char *name, uint64_t life_s, uint64_t crl_life_s,
		 struct bwl_err *e);

struct bwl_pki_request {
	const char *node;
	const char *out; /* NULL: DIR/nodes/NODE */
	const char *csr; /* NULL: make a key; otherwise a PEM file whose key is certified */
	uint64_t life_s, crl_life_s;
	bool renew; /* the node has one already: replace it; the old one stays valid */
};
int bwl_pki_issue(const char *dir, const struct bwl_pki_request *q, struct bwl_pki_cert *ret,
		  struct bwl_err *e);

/*
 * Puts every unexpired certificate of the node on the CRL, a new CRL into the folder of every node,
 * and removes this node's keys. *ret: how many; 0 if all were revoked before.
 */
int bwl_pki_revoke(const char *dir, const char *node, uint64_t crl_life_s, unsigned *ret,
		   struct bwl_err *e);

#endif
