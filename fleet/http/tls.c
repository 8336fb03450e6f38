// SPDX-License-Identifier: GPL-2.0-or-later
/* See tls.h. */
#include <errno.h>
#include <gnutls/x509.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include "bwl/cleanup.h"
#include "listen.h"
#include "tls.h"

struct bwl_tls {
	gnutls_certificate_credentials_t cred;
	unsigned held;
	struct bwl_tls_facts facts;
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

/* how many: entries of a list, or GnuTLS' error; 0: there is none, but one is required. */
static int judge(int many, const char *what, const char *hint, struct bwl_err *e)
{
	if (many > 0)
		return 0;
	bwl_fail(e, EINVAL, "%s: %s", what, many ? gnutls_strerror(many) : "the file has none");
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
		return bwl_fail(e, ESTALE, "the list of revoked certificates has expired");
	bwl_fail(e, EINVAL,
		 "the list of revoked certificates is not signed by an authority of --ca");
	return bwl_hint(e, "--crl must be signed by that authority");
}

/*
 * GnuTLS does not require a list of revoked certificates: for an authority without one it would
 * accept all of its certificates.
 */
static int judge_ca(gnutls_x509_crt_t ca, const gnutls_x509_crl_t *crl, unsigned n,
		    struct bwl_err *e)
{
	gnutls_datum_t dn = { 0 };

	for (unsigned i = 0; i < n; i++) {
		unsigned status = 0;

		if (!gnutls_x509_crl_verify(crl[i], &ca, 1, 0, &status) && !status)
			return 0;
	}
	if (gnutls_x509_crt_get_dn2(ca, &dn))
		dn.data = NULL;
	bwl_fail(e, EINVAL,
		 "there is no list of revoked certificates of the authority '%.100s' of --ca",
		 dn.data ? (const char *)dn.data : "?");
	gnutls_free(dn.data);
	return bwl_hint(
		e,
		"--crl must have a list of each authority of --ca, one after the other; or leave that authority out of --ca");
}

static void note_crl(gnutls_x509_crl_t crl, struct bwl_tls_facts *f)
{
	int64_t since_s = gnutls_x509_crl_get_this_update(crl),
		until_s = gnutls_x509_crl_get_next_update(crl);
	int n = gnutls_x509_crl_get_crt_count(crl);

	if (!f->has_crl || since_s < f->crl_since_s)
		f->crl_since_s = since_s;
	if (until_s < 0) /* it has none */
		until_s = INT64_MAX;
	if (!f->has_crl || until_s < f->crl_until_s)
		f->crl_until_s = until_s;
	f->revoked += n > 0 ? (unsigned)n : 0;
	f->has_crl = true;
}

/*
 * GnuTLS accepts any list unchecked (3.7), and with another authority's list it finds nobody
 * revoked.
 */
static int add_crl(gnutls_certificate_credentials_t cred, const gnutls_x509_crt_t *ca, unsigned nca,
		   const char *text, struct bwl_tls_facts *f, struct bwl_err *e)
{
	const gnutls_datum_t data = datum(text);
	gnutls_x509_crl_t *crl = NULL;
	unsigned n = 0;
	int r = gnutls_x509_crl_list_import2(&crl, &n, &data, GNUTLS_X509_FMT_PEM, 0);

	r = judge(r < 0 ? r : (int)n, "the list of revoked certificates",
		  "--crl must be a PEM file", e);
	for (unsigned i = 0; !r && i < n; i++)
		r = judge_crl(crl[i], ca, nca, e);
	for (unsigned i = 0; !r && i < nca; i++)
		r = judge_ca(ca[i], crl, n, e);
	for (unsigned i = 0; !r && i < n; i++)
		note_crl(crl[i], f);
	if (!r)
		r = judge(gnutls_certificate_set_x509_crl(cred, crl, (int)n),
			  "the list of revoked certificates", "--crl must be a PEM file", e);
	for (unsigned i = 0; i < n; i++)
		gnutls_x509_crl_deinit(crl[i]);
	gnutls_free(crl);
	return r;
}

static void note_cert(const gnutls_datum_t *cert, struct bwl_tls_facts *f)
{
	gnutls_x509_crt_t one;

	if (gnutls_x509_crt_init(&one))
		return;
	if (!gnutls_x509_crt_import(one, cert, GNUTLS_X509_FMT_PEM)) /* only the first in it */
		f->cert_until_s = gnutls_x509_crt_get_expiration_time(one);
	gnutls_x509_crt_deinit(one);
}

static int fill(gnutls_certificate_credentials_t cred, const struct bwl_tls_pem *p,
		struct bwl_tls_facts *f, struct bwl_err *e)
{
	const gnutls_datum_t from = datum(p->text[BWL_TLS_CA]), cert = datum(p->text[BWL_TLS_CERT]),
			     key = datum(p->text[BWL_TLS_KEY]);
	gnutls_x509_crt_t *ca = NULL;
	unsigned n = 0;
	int r = gnutls_x509_crt_list_import2(&ca, &n, &from, GNUTLS_X509_FMT_PEM, 0);

	if (r >= 0)
		r = gnutls_certificate_set_x509_trust(cred, ca, (int)n);
	r = judge(r, "the authority's certificate", "--ca must be a PEM file", e);
	if (!r && gnutls_certificate_set_x509_key_mem(cred, &cert, &key, GNUTLS_X509_FMT_PEM) < 0) {
		r = bwl_fail(e, EINVAL, "the certificate and the key do not match");
		bwl_hint(e, "--key must be the key of --cert, both in PEM");
	}
	if (!r && p->text[BWL_TLS_CRL])
		r = add_crl(cred, ca, n, p->text[BWL_TLS_CRL], f, e);
	note_cert(&cert, f);
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
	r = fill(t->cred, p, &t->facts, e);
	if (r)
		bwl_tls_drop(t);
	else
		*ret = t;
	return r;
}

const char *bwl_tls_copied(const char *const file[_BWL_TLS_FILES], const char *dir)
{
	size_t n = dir ? strlen(dir) : 0;

	for (unsigned i = 0; n && i < _BWL_TLS_FILES; i++)
		if (file[i] && !strncmp(file[i], dir, n) && file[i][n] == '/')
			return file[i];
	return NULL;
}

struct bwl_tls_facts bwl_tls_facts(const struct bwl_tls *t)
{
	return t->facts;
}

static const char *day(int64_t s, char buf[static 32])
{
	time_t at = (time_t)s;
	struct tm tm;

	if (s == INT64_MAX || !gmtime_r(&at, &tm) || !strftime(buf, 32, "%Y-%m-%dT%H:%M:%SZ", &tm))
		snprintf(buf, 32, "no end");
	return buf;
}

void bwl_tls_facts_text(const struct bwl_tls_facts *f, char *to, size_t size)
{
	char until[32], since[32], end[32];

	if (f->has_crl)
		snprintf(to, size,
			 "certificate until %s; list of revoked certificates of %s, until %s: %u",
			 day(f->cert_until_s, until), day(f->crl_since_s, since),
			 day(f->crl_until_s, end), f->revoked);
	else
		snprintf(to, size, "certificate until %s; no list of revoked certificates",
			 day(f->cert_until_s, until));
}

bool bwl_tls_is_over(const struct bwl_tls_facts *f, int64_t now_s, int64_t *told_s,
		     struct bwl_err *why)
{
	char end[32];

	if (!f->has_crl || now_s <= f->crl_until_s || (*told_s && now_s - *told_s < 86400))
		return false;
	*told_s = now_s;
	bwl_fail(
		why, ESTALE,
		"the list of revoked certificates (--crl) expired at %s: certificates revoked since then are still accepted",
		day(f->crl_until_s, end));
	bwl_hint(
		why,
		"have its authority make a new one, bring it here, and restart this, or send it SIGHUP");
	return true;
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

int bwl_tls_no_certificate(gnutls_session_t session, const gnutls_datum_t *ca, int nca,
			   const gnutls_pk_algorithm_t *algo, int nalgo, gnutls_pcert_st **pcert,
			   unsigned *pcert_len, gnutls_privkey_t *key)
{
	(void)session, (void)ca, (void)nca, (void)algo, (void)nalgo;
	(void)pcert, (void)pcert_len, (void)key;
	return -1;
}

/* By then the session has chosen its own certificate, and keeps it. */
int bwl_tls_who(const struct bwl_tls *newest, const struct bwl_tls *began, gnutls_session_t session,
		const char *const *names, char ret[static BWL_WHO_NAME])
{
	int r;

	gnutls_credentials_set(session, GNUTLS_CRD_CERTIFICATE, newest->cred);
	r = bwl_who(session, names, ret);
	gnutls_credentials_set(session, GNUTLS_CRD_CERTIFICATE, began->cred);
	return r;
}
