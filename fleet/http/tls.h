/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What a server shows and whom it believes: its certificate and key, the authority of its guests,
 * and whom that has revoked. Read anew while guests are there: their sessions keep what they began
 * with until they end, but who is let in is always asked of the newest.
 */
#ifndef BWL_FLEET_TLS_H
#define BWL_FLEET_TLS_H

#include <stdbool.h>
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

struct bwl_tls;
int bwl_tls_new(const struct bwl_tls_pem *p, struct bwl_tls **ret, struct bwl_err *e);
struct bwl_tls *bwl_tls_hold(struct bwl_tls *t);
void bwl_tls_drop(struct bwl_tls *t); /* NULL-safe */

/* Before the handshake: the guest must show a certificate. The session must not outlive t. */
void bwl_tls_begin(struct bwl_tls *t, gnutls_session_t session);
/* Has he shown one yet? Before, nobody knows who he is. */
bool bwl_tls_has_shown(gnutls_session_t session);
/* bwl_who(), by the newest; began: with what this session began. */
int bwl_tls_who(const struct bwl_tls *newest, const struct bwl_tls *began, gnutls_session_t session,
		const char *const *names, char ret[static BWL_WHO_NAME]);

#endif
