// SPDX-License-Identifier: GPL-2.0-or-later
/* See who.h. */
#include <string.h>
#include <gnutls/x509.h>
#include "who.h"

/* A certificate with two CommonNames identifies nobody. */
static int common_name(gnutls_session_t session, char ret[static BWL_WHO_NAME])
{
	const gnutls_datum_t *list;
	gnutls_x509_crt_t crt;
	size_t len = BWL_WHO_NAME, more = 0;
	unsigned n;
	int r;

	list = gnutls_certificate_get_peers(session, &n);
	if (!list || !n || gnutls_x509_crt_init(&crt))
		return -1;
	r = gnutls_x509_crt_import(crt, &list[0], GNUTLS_X509_FMT_DER);
	if (!r)
		r = gnutls_x509_crt_get_dn_by_oid(crt, GNUTLS_OID_X520_COMMON_NAME, 0, 0, ret,
						  &len);
	if (!r && (strlen(ret) != len ||
		   gnutls_x509_crt_get_dn_by_oid(crt, GNUTLS_OID_X520_COMMON_NAME, 1, 0, NULL,
						 &more) != GNUTLS_E_REQUESTED_DATA_NOT_AVAILABLE))
		r = -1;
	gnutls_x509_crt_deinit(crt);
	return r;
}

int bwl_who(gnutls_session_t session, const char *const *names, char ret[static BWL_WHO_NAME])
{
	/* A server's certificate is not valid for a client. */
	gnutls_typed_vdata_st purpose = { .type = GNUTLS_DT_KEY_PURPOSE_OID,
					  .data = (void *)GNUTLS_KP_TLS_WWW_CLIENT };
	unsigned status = 1;

	if (!session || gnutls_certificate_verify_peers(session, &purpose, 1, &status) || status ||
	    common_name(session, ret))
		return -1;
	for (unsigned i = 0; names[i]; i++)
		if (!strcmp(names[i], ret))
			return 0;
	return -1;
}
