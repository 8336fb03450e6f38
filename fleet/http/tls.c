/* SPDX-License-Identifier: GPL-2.0-or-later */
/* See tls.h. */
#include <errno.h>
#include <gnutls/x509.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include "bwl/cleanup.h"
#include "listen.h"
#include "tls.h"

struct bwl_tls {
	gnutls_certificate_credentials_t cred;
	unsigned held;
};

int bwl_tls_read(const char *const file[_BWL_TLS_FILES], struct bwl_tls_pem *ret, struct bwl_err *e)
{
	int r = 0;

	*ret = (struct bwl_tls_pem){ 0 };
	for (unsigned i = 0; !r && i < _BWL_TLS_FILES; i++)
		if (file[i])
			r = bwl_listen_pem(file[i], &ret->text[i], e);
	if (r)
		bwl_tls_pem_done(ret);
	return r;
}

void bwl_tls_pem_done(struct bwl_tls_pem *p)
{
	if (p->text[BWL_TLS_KEY])
		explicit_bzero(p->text[BWL_TLS_KEY], strlen(p->text[BWL_TLS_KEY]));
	for (unsigned i = 0; i < _BWL_TLS_FILES; i++)
		free(p->text[i]);
	*p = (struct bwl_tls_pem){ 0 };
}

static gnutls_datum_t datum(const char *text)
{
	return (gnutls_datum_t){ (unsigned char *)(uintptr_t)text, (unsigned)strlen(text) };
}

/* how many: of a list; 0 is none, where there must be one. */
static int judge(int many, const char *what, const char *hint, struct bwl_err *e)
{
	if (many > 0)
		return 0;
	bwl_fail(e, EINVAL, "%s: %s", what, many ? gnutls_strerror(many) : "there is none in it");
	return bwl_hint(e, "%s", hint);
}

static int judge_crl(gnutls_x509_crl_t crl, const gnutls_x509_crt_t *ca, unsigned nca,
		     struct bwl_err *e)
{
	unsigned status = 0;

	if (gnutls_x509_crl_verify(crl, ca, nca, 0, &status))
		status = GNUTLS_CERT_INVALID;
	if (!status)
		return 0;
	if (status & GNUTLS_CERT_REVOCATION_DATA_SUPERSEDED)
		return bwl_fail(e, ESTALE,
				"the list of revoked certificates is older than it may be");
	bwl_fail(e, EINVAL,
		 "the list of revoked certificates is not signed by an authority of --ca");
	return bwl_hint(e, "--crl is that authority's");
}

/* GnuTLS would take any list as it is (3.7), and finds nobody in one of another authority. */
static int add_crl(gnutls_certificate_credentials_t cred, const gnutls_x509_crt_t *ca, unsigned nca,
		   const char *text, struct bwl_err *e)
{
	const gnutls_datum_t data = datum(text);
	gnutls_x509_crl_t *crl = NULL;
	unsigned n = 0;
	int r = gnutls_x509_crl_list_import2(&crl, &n, &data, GNUTLS_X509_FMT_PEM, 0);

	r = judge(r < 0 ? r : (int)n, "the list of revoked certificates", "--crl is a file of PEM",
		  e);
	for (unsigned i = 0; !r && i < n; i++)
		r = judge_crl(crl[i], ca, nca, e);
	if (!r)
		r = judge(gnutls_certificate_set_x509_crl(cred, crl, (int)n),
			  "the list of revoked certificates", "--crl is a file of PEM", e);
	for (unsigned i = 0; i < n; i++)
		gnutls_x509_crl_deinit(crl[i]);
	gnutls_free(crl);
	return r;
}

static int fill(gnutls_certificate_credentials_t cred, const struct bwl_tls_pem *p,
		struct bwl_err *e)
{
	const gnutls_datum_t from = datum(p->text[BWL_TLS_CA]), cert = datum(p->text[BWL_TLS_CERT]),
			     key = datum(p->text[BWL_TLS_KEY]);
	gnutls_x509_crt_t *ca = NULL;
	unsigned n = 0;
	int r = gnutls_x509_crt_list_import2(&ca, &n, &from, GNUTLS_X509_FMT_PEM, 0);

	if (r >= 0)
		r = gnutls_certificate_set_x509_trust(cred, ca, (int)n);
	r = judge(r, "the authority's certificate", "--ca is a file of PEM", e);
	if (!r && gnutls_certificate_set_x509_key_mem(cred, &cert, &key, GNUTLS_X509_FMT_PEM) < 0) {
		r = bwl_fail(e, EINVAL, "the certificate and the key do not match");
		bwl_hint(e, "--cert has a key that fits, both in PEM");
	}
	if (!r && p->text[BWL_TLS_CRL])
		r = add_crl(cred, ca, n, p->text[BWL_TLS_CRL], e);
	for (unsigned i = 0; i < n; i++)
		gnutls_x509_crt_deinit(ca[i]);
	gnutls_free(ca);
	return r;
}

int bwl_tls_new(const struct bwl_tls_pem *p, struct bwl_tls **ret, struct bwl_err *e)
{
	struct bwl_tls *t = bwl_must(calloc(1, sizeof(*t)));
	int r;

	t->held = 1;
	if (gnutls_certificate_allocate_credentials(&t->cred)) {
		free(t);
		return bwl_fail(e, ENOMEM, "out of memory");
	}
	r = fill(t->cred, p, e);
	if (r)
		bwl_tls_drop(t);
	else
		*ret = t;
	return r;
}

struct bwl_tls *bwl_tls_hold(struct bwl_tls *t)
{
	t->held++;
	return t;
}

void bwl_tls_drop(struct bwl_tls *t)
{
	if (!t || --t->held)
		return;
	gnutls_certificate_free_credentials(t->cred);
	free(t);
}

void bwl_tls_begin(struct bwl_tls *t, gnutls_session_t session)
{
	gnutls_credentials_set(session, GNUTLS_CRD_CERTIFICATE, t->cred);
	gnutls_certificate_server_set_request(session, GNUTLS_CERT_REQUIRE);
}

bool bwl_tls_has_shown(gnutls_session_t session)
{
	unsigned n;

	return gnutls_certificate_get_peers(session, &n);
}

/* The session has chosen its certificate by then, and goes on with that. */
int bwl_tls_who(const struct bwl_tls *newest, const struct bwl_tls *began, gnutls_session_t session,
		const char *const *names, char ret[static BWL_WHO_NAME])
{
	int r;

	gnutls_credentials_set(session, GNUTLS_CRD_CERTIFICATE, newest->cred);
	r = bwl_who(session, names, ret);
	gnutls_credentials_set(session, GNUTLS_CRD_CERTIFICATE, began->cred);
	return r;
}
