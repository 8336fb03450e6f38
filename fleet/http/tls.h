/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What a server shows and whom it believes: its certificate and key, the authority of its guests,
 * and whom that has revoked. Read anew while guests are there: their sessions keep what they began
 * with until they end, but who is let in is always asked of the newest.
 */
#ifndef BWL_FLEET_TLS_H
#define BWL_FLEET_TLS_H

#include <gnutls/abstract.h>
#include <stdbool.h>
#include <stdint.h>
#include "bwl/err.h"
#include "who.h"

#define BWL_TLS_PRIORITIES "SECURE128:-VERS-ALL:+VERS-TLS1.3"

enum bwl_tls_file { BWL_TLS_CA, BWL_TLS_CERT, BWL_TLS_KEY, BWL_TLS_CRL, _BWL_TLS_FILES };

struct bwl_tls_pem {
	char *text[_BWL_TLS_FILES]; /* made by malloc(); of the CRL NULL: there is none */
};
/* By their names; that of the CRL may be NULL. */
int bwl_tls_read(const char *const file[_BWL_TLS_FILES], struct bwl_tls_pem *ret,
		 struct bwl_err *e);
void bwl_tls_pem_done(struct bwl_tls_pem *p);

/* Of what was read: for people, and for who minds that it does not end. */
struct bwl_tls_facts {
	int64_t cert_until_s;             /* since 1970, as the others */
	bool has_crl;                     /* what follows is known; of several lists */
	int64_t crl_since_s, crl_until_s; /* thisUpdate; nextUpdate; each of the oldest */
	unsigned revoked;                 /* certificates, in all of them */
};

struct bwl_tls;
int bwl_tls_new(const struct bwl_tls_pem *p, struct bwl_tls **ret, struct bwl_err *e);
/*
 * The first of them that systemd copied when it started this (LoadCredential=), below dir, its
 * $CREDENTIALS_DIRECTORY: read anew it is what it was. NULL: none; dir may be NULL.
 */
const char *bwl_tls_copied(const char *const file[_BWL_TLS_FILES], const char *dir);
struct bwl_tls_facts bwl_tls_facts(const struct bwl_tls *t);
/* In words: what was read, and until when it holds. */
void bwl_tls_facts_text(const struct bwl_tls_facts *f, char *to, size_t size);
/* Has the list ended, and was that not told within a day? told_s: when, the caller's; first 0. */
bool bwl_tls_is_over(const struct bwl_tls_facts *f, int64_t now_s, int64_t *told_s,
		     struct bwl_err *why);
struct bwl_tls *bwl_tls_hold(struct bwl_tls *t);
void bwl_tls_drop(struct bwl_tls *t); /* NULL-safe */

/* Before the handshake: the guest must show a certificate. The session must not outlive t. */
void bwl_tls_begin(struct bwl_tls *t, gnutls_session_t session);
/* Has he shown one yet? Before, nobody knows who he is. */
bool bwl_tls_has_shown(gnutls_session_t session);
/*
 * Of MHD_OPTION_HTTPS_CERT_CALLBACK: libmicrohttpd wants a certificate of its own, which no session
 * has; bwl_tls_begin() gives each the newest.
 */
int bwl_tls_no_certificate(gnutls_session_t session, const gnutls_datum_t *ca, int nca,
			   const gnutls_pk_algorithm_t *algo, int nalgo, gnutls_pcert_st **pcert,
			   unsigned *pcert_len, gnutls_privkey_t *key);
/* bwl_who(), by the newest; began: with what this session began. */
int bwl_tls_who(const struct bwl_tls *newest, const struct bwl_tls *began, gnutls_session_t session,
		const char *const *names, char ret[static BWL_WHO_NAME]);

#endif
