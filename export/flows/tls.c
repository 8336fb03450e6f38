// SPDX-License-Identifier: GPL-2.0-or-later
/* See tls.h. The socket has time limits of its own (way.c). */
#include <poll.h>
#include <stdlib.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>
#include "tls.h"

#define VERDICT_MS 1000

struct tls {
	SSL_CTX *ctx;
	SSL *ssl;
	int fd;
};

static int failed(const char *what, const struct way_conf *c, struct bwl_err *e)
{
	unsigned long n = ERR_peek_last_error();
	char why[256] = "no answer";

	if (n)
		ERR_error_string_n(n, why, sizeof(why));
	ERR_clear_error();
	return bwl_fail(e, EPROTO, "TLS with %s: %s: %s", c->host, what, why);
}

static int load(struct tls *t, const struct way_conf *c, struct bwl_err *e)
{
	if (SSL_CTX_load_verify_file(t->ctx, c->ca) != 1)
		return failed("authority of the collector (--ca)", c, e);
	if (SSL_CTX_use_certificate_chain_file(t->ctx, c->cert) != 1)
		return failed("our certificate (--cert)", c, e);
	if (SSL_CTX_use_PrivateKey_file(t->ctx, c->key, SSL_FILETYPE_PEM) != 1)
		return failed("its key (--key)", c, e);
	return 0;
}

/* OpenSSL distinguishes addresses from names: the certificate must contain the configured one. */
static int expect(struct tls *t, const struct way_conf *c, struct bwl_err *e)
{
	X509_VERIFY_PARAM *p = SSL_get0_param(t->ssl);

	if (X509_VERIFY_PARAM_set1_ip_asc(p, c->host) == 1)
		return 0;
	SSL_set_hostflags(t->ssl, X509_CHECK_FLAG_NO_PARTIAL_WILDCARDS);
	if (SSL_set1_host(t->ssl, c->host) != 1 || SSL_set_tlsext_host_name(t->ssl, c->host) != 1)
		return failed("name of the collector", c, e);
	return 0;
}

/*
 * In TLS 1.3 a server judges our certificate after our side of the handshake has ended; its tickets
 * come only after that. So it gets a moment to refuse, before records are sent in vain.
 */
static int hear_verdict(struct tls *t, struct bwl_err *e)
{
	struct pollfd p = { .fd = t->fd, .events = POLLIN };

	poll(&p, 1, VERDICT_MS);
	return tls_look(t, e);
}

static int start(struct tls *t, const struct way_conf *c, struct bwl_err *e)
{
	int r;

	t->ctx = bwl_must(SSL_CTX_new(TLS_client_method()));
	SSL_CTX_set_min_proto_version(t->ctx, TLS1_2_VERSION);
	SSL_CTX_set_verify(t->ctx, SSL_VERIFY_PEER, NULL);
	r = load(t, c, e);
	if (r)
		return r;
	t->ssl = bwl_must(SSL_new(t->ctx));
	r = expect(t, c, e);
	if (r)
		return r;
	if (SSL_set_fd(t->ssl, t->fd) != 1 || SSL_connect(t->ssl) != 1)
		return failed("handshake", c, e);
	return hear_verdict(t, e);
}

int tls_open(const struct way_conf *c, int fd, struct tls **ret, struct bwl_err *e)
{
	struct tls *t = bwl_must(calloc(1, sizeof(*t)));
	int r;

	t->fd = fd;
	ERR_clear_error();
	r = start(t, c, e);
	if (r)
		tls_close(t);
	else
		*ret = t;
	return r;
}

void tls_close(struct tls *t)
{
	if (t->ssl && SSL_is_init_finished(t->ssl))
		SSL_shutdown(t->ssl);
	SSL_free(t->ssl);
	SSL_CTX_free(t->ctx);
	ERR_clear_error();
	free(t);
}

int tls_send(struct tls *t, const void *at, size_t n, struct bwl_err *e)
{
	size_t sent = 0;

	ERR_clear_error();
	if (SSL_write_ex(t->ssl, at, n, &sent) == 1 && sent == n)
		return 0;
	return bwl_fail(e, EPIPE, "the collector is lost: TLS, error %d", SSL_get_error(t->ssl, 0));
}

int tls_look(struct tls *t, struct bwl_err *e)
{
	struct pollfd p = { .fd = t->fd, .events = POLLIN };
	char what[256] = "it hung up";
	uint8_t byte;
	size_t n;

	while (poll(&p, 1, 0) == 1) {
		int r;

		/*
		 * Without SSL_MODE_AUTO_RETRY a TLS record without data (a ticket) is consumed, and
		 * the call returns.
		 */
		ERR_clear_error();
		SSL_clear_mode(t->ssl, SSL_MODE_AUTO_RETRY);
		r = SSL_read_ex(t->ssl, &byte, 1, &n);
		if (r == 1 || SSL_get_error(t->ssl, r) == SSL_ERROR_WANT_READ)
			continue;
		if (ERR_peek_last_error())
			ERR_error_string_n(ERR_peek_last_error(), what, sizeof(what));
		ERR_clear_error();
		return bwl_fail(e, EPIPE, "the collector refused us, or is gone: %s", what);
	}
	return 0;
}
