/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The certificate and key that a server shows, the authority of its clients, and its revocations.
 * Reloadable while clients are connected: a session keeps the files it began with, but admission is
 * always judged by the newest.
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
	char *text[_BWL_TLS_FILES]; /* allocated with malloc(); CRL NULL: there is none */
};
/* By file name; that of the CRL may be NULL. */
int bwl_tls_read(const char *const file[_BWL_TLS_FILES], struct bwl_tls_pem *ret,
		 struct bwl_err *e);
void bwl_tls_pem_done(struct bwl_tls_pem *p);

/* Facts about the files, for people, and for monitoring of their end. */
struct bwl_tls_facts {
	int64_t cert_until_s;             /* since 1970, as the others */
	bool has_crl;                     /* the fields below are known; over several lists */
	int64_t crl_since_s, crl_until_s; /* thisUpdate and nextUpdate, each the oldest */
	unsigned revoked;                 /* number of certificates, in all lists */
};

struct bwl_tls;
int bwl_tls_new(const struct bwl_tls_pem *p, struct bwl_tls **ret, struct bwl_err *e);
/*
 * The first file that systemd copied when it started this process (LoadCredential=), below dir, its
 * $CREDENTIALS_DIRECTORY: reloading it changes nothing. NULL: none; dir may be NULL.
 */
const char *bwl_tls_copied(const char *const file[_BWL_TLS_FILES], const char *dir);
struct bwl_tls_facts bwl_tls_facts(const struct bwl_tls *t);
/* In words: what was read, and how long it is valid. */
void bwl_tls_facts_text(const struct bwl_tls_facts *f, char *to, size_t size);
/*
 * Has the list ended, and was that not reported within a day? told_s: when, the caller's; 0 at
 * first.
 */
bool bwl_tls_is_over(const struct bwl_tls_facts *f, int64_t now_s, int64_t *told_s,
		     struct bwl_err *why);
struct bwl_tls *bwl_tls_hold(struct bwl_tls *t);
void bwl_tls_drop(struct bwl_tls *t); /* NULL-safe */

/* Before the handshake: the client must present a certificate. The session must not outlive t. */
void bwl_tls_begin(struct bwl_tls *t, gnutls_session_t session);
/* Has the client presented one yet? Until then it is unknown. */
bool bwl_tls_has_shown(gnutls_session_t session);
/*
 * For MHD_OPTION_HTTPS_CERT_CALLBACK: libmicrohttpd wants a certificate of its own, which no
 * session uses; bwl_tls_begin() gives each session the newest.
 */
int bwl_tls_no_certificate(gnutls_session_t session, const gnutls_datum_t *ca, int nca,
			   const gnutls_pk_algorithm_t *algo, int nalgo, gnutls_pcert_st **pcert,
			   unsigned *pcert_len, gnutls_privkey_t *key);
/* bwl_who(), by the newest; began: the files with which this session began. */
int bwl_tls_who(const struct bwl_tls *newest, const struct bwl_tls *began, gnutls_session_t session,
		const char *const *names, char ret[static BWL_WHO_NAME]);

#endif
