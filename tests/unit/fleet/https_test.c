// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The server for clients with certificates, with clients of our own, by IPv4 and IPv6: whoever
 * holds its places keeps nobody out, and a head that is not well formed ends its connection.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <gnutls/x509.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#include "fleet/http/server.h"
#include "../test.h"

#define PLACES 8
#define WAIT_MS 60000
#define CONNECTIONS_MAX 1024 /* connections of a test */

enum { CA, SERVER, ONE, OTHER, CERTS };

static struct {
	gnutls_x509_privkey_t key[CERTS];
	gnutls_x509_crt_t crt[CERTS];
	char dir[32], file[3][64]; /* in the order of enum bwl_tls_file */
	gnutls_certificate_credentials_t cred[CERTS];
	struct bwl_https *https;
	int family;
	unsigned port;
} lab;

struct client {
	int fd;
	gnutls_session_t session;
};

static int fds[CONNECTIONS_MAX];
static unsigned nfds;

static void certify(unsigned i, const char *name)
{
	unsigned char serial = (unsigned char)(i + 1), id[20];
	gnutls_x509_crt_t *crt = &lab.crt[i];
	size_t len = sizeof(id);

	assert_int_equal(gnutls_x509_privkey_init(&lab.key[i]), 0);
	assert_int_equal(
		gnutls_x509_privkey_generate(lab.key[i], GNUTLS_PK_ECDSA,
					     GNUTLS_CURVE_TO_BITS(GNUTLS_ECC_CURVE_SECP256R1), 0),
		0);
	assert_int_equal(gnutls_x509_crt_init(crt), 0);
	gnutls_x509_crt_set_version(*crt, 3);
	gnutls_x509_crt_set_serial(*crt, &serial, 1);
	gnutls_x509_crt_set_activation_time(*crt, time(NULL) - 86400);
	gnutls_x509_crt_set_expiration_time(*crt, time(NULL) + 86400);
	gnutls_x509_crt_set_dn_by_oid(*crt, GNUTLS_OID_X520_COMMON_NAME, 0, name,
				      (unsigned)strlen(name));
	gnutls_x509_crt_set_key(*crt, lab.key[i]);
	if (i == CA) {
		gnutls_x509_crt_set_basic_constraints(*crt, 1, -1);
		gnutls_x509_crt_set_key_usage(*crt, GNUTLS_KEY_KEY_CERT_SIGN);
		assert_int_equal(gnutls_x509_crt_get_key_id(*crt, 0, id, &len), 0);
		gnutls_x509_crt_set_subject_key_id(*crt, id, len);
	}
	assert_int_equal(
		gnutls_x509_crt_sign2(*crt, lab.crt[CA], lab.key[CA], GNUTLS_DIG_SHA256, 0), 0);
	assert_int_equal(gnutls_certificate_allocate_credentials(&lab.cred[i]), 0);
	assert_int_equal(gnutls_certificate_set_x509_key(lab.cred[i], crt, 1, lab.key[i]), 0);
}

static void put(unsigned i, const char *name, const gnutls_datum_t *pem)
{
	int fd;

	snprintf(lab.file[i], sizeof(lab.file[i]), "%s/%s", lab.dir, name);
	fd = open(lab.file[i], O_WRONLY | O_CREAT | O_EXCL, 0600);
	assert_int_equal(write(fd, pem->data, pem->size), pem->size);
	close(fd);
	gnutls_free(pem->data);
}

static int make_lab(void **state)
{
	gnutls_datum_t pem;

	(void)state;
	certify(CA, "an authority");
	certify(SERVER, "tray-1");
	certify(ONE, "controller");
	certify(OTHER, "controller");
	strcpy(lab.dir, "/tmp/bwl-https-XXXXXX");
	assert_non_null(mkdtemp(lab.dir));
	assert_int_equal(gnutls_x509_crt_export2(lab.crt[CA], GNUTLS_X509_FMT_PEM, &pem), 0);
	put(BWL_TLS_CA, "ca", &pem);
	assert_int_equal(gnutls_x509_crt_export2(lab.crt[SERVER], GNUTLS_X509_FMT_PEM, &pem), 0);
	put(BWL_TLS_CERT, "cert", &pem);
	assert_int_equal(gnutls_x509_privkey_export2(lab.key[SERVER], GNUTLS_X509_FMT_PEM, &pem),
			 0);
	put(BWL_TLS_KEY, "key", &pem);
	return 0;
}

static int drop_lab(void **state)
{
	(void)state;
	for (unsigned i = 0; i < 3; i++)
		unlink(lab.file[i]);
	for (unsigned i = 0; i < CERTS; i++) {
		gnutls_certificate_free_credentials(lab.cred[i]);
		gnutls_x509_crt_deinit(lab.crt[i]);
		gnutls_x509_privkey_deinit(lab.key[i]);
	}
	return rmdir(lab.dir);
}

static void answer(void *arg, const struct bwl_https_ask *ask, struct bwl_https_answer *a)
{
	(void)arg;
	*a = (struct bwl_https_answer){ .status = 200, .type = "text/plain" };
	a->text = strdup(ask->path);
	a->len = strlen(a->text);
}

/* host: the last byte of an IPv4 address of loopback's first /24; 0: any. IPv6 has one. */
static socklen_t address(struct sockaddr_storage *at, unsigned host, unsigned port)
{
	struct sockaddr_in *v4 = (struct sockaddr_in *)at;
	struct sockaddr_in6 *v6 = (struct sockaddr_in6 *)at;

	memset(at, 0, sizeof(*at));
	at->ss_family = (sa_family_t)lab.family;
	if (lab.family == AF_INET6) {
		v6->sin6_addr = in6addr_loopback;
		v6->sin6_port = htons((uint16_t)port);
		return sizeof(*v6);
	}
	v4->sin_addr.s_addr = htonl(INADDR_LOOPBACK + (host ? host - 1 : 0));
	v4->sin_port = htons((uint16_t)port);
	return sizeof(*v4);
}

static int serve(int family, unsigned asks)
{
	struct bwl_https_conf c = { .tls = { lab.file[0], lab.file[1], lab.file[2] },
				    .names = { "controller" },
				    .connections = PLACES,
				    .asks = { .at_once = asks, .a_second = 1 },
				    .bytes = { .at_once = 1U << 30, .a_second = 1 },
				    .answer = answer };
	char at[64];
	int r = -1;

	lab.family = family;
	for (unsigned i = 0; r && i < 20; i++) { /* until nobody else takes the port in between */
		struct sockaddr_storage a;
		socklen_t len = address(&a, 0, 0);
		struct bwl_err e = { 0 };
		int fd = socket(family, SOCK_STREAM | SOCK_CLOEXEC, 0);

		if (fd < 0 || bind(fd, (struct sockaddr *)&a, len) ||
		    getsockname(fd, (struct sockaddr *)&a, &len))
			return -1;
		close(fd);
		lab.port = ntohs(((struct sockaddr_in *)&a)->sin_port); /* IPv6 has it there, too */
		snprintf(at, sizeof(at), family == AF_INET6 ? "[::1]:%u" : "127.0.0.1:%u",
			 lab.port);
		c.at = at;
		r = bwl_https_open(&c, &lab.https, &e);
	}
	return r;
}

static int serve4(void **state)
{
	(void)state;
	return serve(AF_INET, CONNECTIONS_MAX);
}

static int serve6(void **state)
{
	(void)state;
	return serve(AF_INET6, CONNECTIONS_MAX);
}

static int serve_one(void **state)
{
	(void)state;
	return serve(AF_INET, 1);
}

static int stop(void **state)
{
	(void)state;
	while (nfds)
		close(fds[--nfds]);
	bwl_https_close(lab.https);
	return 0;
}

static int dial(unsigned host)
{
	int fd = socket(lab.family, SOCK_STREAM | SOCK_CLOEXEC, 0);
	struct sockaddr_storage at;
	socklen_t len = address(&at, host, 0);

	assert_true(fd >= 0 && nfds < CONNECTIONS_MAX);
	assert_int_equal(bind(fd, (struct sockaddr *)&at, len), 0);
	len = address(&at, 0, lab.port);
	assert_int_equal(connect(fd, (struct sockaddr *)&at, len), 0);
	return fds[nfds++] = fd;
}

static ssize_t not_yet(gnutls_transport_ptr_t fd, void *to, size_t len)
{
	(void)fd, (void)to, (void)len;
	errno = EAGAIN;
	return -1;
}

static ssize_t pull(gnutls_transport_ptr_t fd, void *to, size_t len)
{
	return recv((int)(intptr_t)fd, to, len, 0);
}

/* Sends the beginning of a handshake, and no more. */
static struct client begins(unsigned cert, unsigned host)
{
	struct client c = { .fd = dial(host) };

	assert_int_equal(gnutls_init(&c.session, GNUTLS_CLIENT | GNUTLS_NONBLOCK), 0);
	gnutls_set_default_priority(c.session);
	gnutls_credentials_set(c.session, GNUTLS_CRD_CERTIFICATE, lab.cred[cert]);
	gnutls_transport_set_ptr(c.session, (gnutls_transport_ptr_t)(intptr_t)c.fd);
	gnutls_transport_set_pull_function(c.session, not_yet);
	fcntl(c.fd, F_SETFL, O_NONBLOCK);
	assert_int_equal(gnutls_handshake(c.session), GNUTLS_E_AGAIN);
	return c;
}

static bool is_there(const struct client *c)
{
	struct pollfd p = { .fd = c->fd, .events = POLLIN };

	return gnutls_record_check_pending(c->session) || poll(&p, 1, WAIT_MS) > 0;
}

/* The result of the last step: 0, or GnuTLS's error. */
static int goes_on(struct client *c)
{
	int r;

	gnutls_transport_set_pull_function(c->session, pull);
	while ((r = gnutls_handshake(c->session)) == GNUTLS_E_AGAIN)
		if (!is_there(c))
			return GNUTLS_E_TIMEDOUT;
	return r;
}

/* Sends a request, and reads until an answer has `text`, or the end; with the end: "…<end>". */
static const char *says(struct client *c, const char *head, size_t len, const char *text)
{
	static char got[4096];
	size_t n = 0;

	if (gnutls_record_send(c->session, head, len) != (ssize_t)len)
		return "<end>";
	for (;;) {
		ssize_t r = gnutls_record_recv(c->session, got + n, sizeof(got) - n - 8);

		if (r == GNUTLS_E_AGAIN) {
			if (!is_there(c))
				return "nothing came";
			continue;
		}
		if (r <= 0)
			return strcpy(got + n, "<end>"), got;
		n += (size_t)r;
		got[n] = '\0';
		if (text && strstr(got, text))
			return got;
	}
}

static bool is_answered(struct client *c)
{
	static const char head[] = "GET /asked HTTP/1.1\r\nHost: x\r\n\r\n";

	return !strncmp(says(c, head, sizeof(head) - 1, "\r\n\r\n/asked"), "HTTP/1.1 200", 12);
}

static void leaves(struct client *c)
{
	gnutls_deinit(c->session);
}

static void comes_and_is_answered(unsigned cert, unsigned host)
{
	struct client c = begins(cert, host);

	assert_int_equal(goes_on(&c), 0);
	assert_true(is_answered(&c));
	leaves(&c);
}

/* Who comes next is taken after all of these. */
static void a_crowd_comes(unsigned n, bool of_one_address)
{
	for (unsigned i = 0; i < n; i++)
		dial(of_one_address ? 2 : 2 + i % 200);
}

static void who_shakes_hands_stays_while_silent_ones_come(void **state)
{
	struct client c = begins(ONE, 1);

	(void)state;
	a_crowd_comes(BWL_PLACES_STRANGERS - 4, false); /* with IPv6 of his own address */
	comes_and_is_answered(OTHER, 1);
	assert_int_equal(goes_on(&c), 0);
	assert_true(is_answered(&c));
	leaves(&c);
}

static void however_many_of_another_address(void **state)
{
	struct client c = begins(ONE, 1);

	(void)state;
	a_crowd_comes(4 * BWL_PLACES_STRANGERS, true);
	comes_and_is_answered(OTHER, 1);
	assert_int_equal(goes_on(&c), 0);
	assert_true(is_answered(&c));
	leaves(&c);
}

static void who_has_a_certificate_keeps_no_other_out(void **state)
{
	struct client holds[3 * PLACES];
	unsigned still = 0;

	(void)state;
	for (unsigned i = 0; i < 3 * PLACES; i++) {
		holds[i] = begins(ONE, 1 + i); /* it is one client, also from several addresses */
		assert_int_equal(goes_on(&holds[i]), 0);
	}
	for (unsigned i = 0; i < 3; i++)
		comes_and_is_answered(OTHER, 1);
	for (unsigned i = 0; i < 3 * PLACES; i++) {
		still += is_answered(&holds[i]);
		leaves(&holds[i]);
	}
	assert_in_range(still, 1, PLACES);
}

static void a_head_that_is_not_well_formed_ends_its_connection(void **state)
{
	static const struct {
		const char *head;
		size_t len;
	} bad[] = {
#define HEAD(text) { text, sizeof(text) - 1 }
		HEAD("GET / HTTP/1.1\r\nHost: x\r\nContent-Length : 5\r\n\r\nGET /"),
		HEAD("GET / HTTP/1.1\r\nHost: x\r\nX: a\r\n b\r\n\r\n"),
		HEAD("GET / HTTP/1.1\r\nHost: x\r\nX: a\nY: b\r\n\r\n"),
		HEAD("GET / HTTP/1.1\r\nHost: x\r\nX: a\0b\r\n\r\n"),
		HEAD("GET / HTTP/1.1\r\nHost: x\r\nContent-Length: 0\r\nContent-Length: 5\r\n\r\n"),
		HEAD("GET /%00 HTTP/1.1\r\nHost: x\r\n\r\n"),
		HEAD("GET /asked%00x HTTP/1.1\r\nHost: x\r\n\r\n"),
		HEAD("GET /asked\0x HTTP/1.1\r\nHost: x\r\n\r\n"),
		HEAD("GET /% HTTP/1.1\r\nHost: x\r\n\r\n"),
#undef HEAD
	};

	(void)state;
	for (unsigned i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
		struct client c = begins(ONE, 1);
		const char *got;

		assert_int_equal(goes_on(&c), 0);
		got = says(&c, bad[i].head, bad[i].len, NULL);
		if (strncmp(got, "HTTP/1.1 400", 12) || strcmp(got + strlen(got) - 5, "<end>") ||
		    !strstr(got, "\"EINVAL\""))
			fail_msg("%u: %.300s", i, got);
		leaves(&c);
	}
	comes_and_is_answered(ONE, 1);
}

/* A minute of the budget, if they counted. */
static void what_is_refused_uses_up_no_budget(void **state)
{
	static const char head[] = "POST / HTTP/1.1\r\nHost: x\r\n\r\n";

	(void)state;
	for (unsigned i = 0; i < 60; i++) {
		struct client c = begins(ONE, 1);

		assert_int_equal(goes_on(&c), 0);
		assert_non_null(strstr(says(&c, head, sizeof(head) - 1, "\"EPERM\""), " 405 "));
		leaves(&c);
	}
	comes_and_is_answered(OTHER, 1);
}

#define BOTH(name)                                                                                 \
	{ #name ": IPv4", name, serve4, stop, NULL },                                              \
	{                                                                                          \
#name ": IPv6", name, serve6, stop, NULL                                           \
	}

int main(void)
{
	const struct CMUnitTest tests[] = {
		BOTH(who_shakes_hands_stays_while_silent_ones_come),
		cmocka_unit_test_setup_teardown(however_many_of_another_address, serve4, stop),
		BOTH(who_has_a_certificate_keeps_no_other_out),
		cmocka_unit_test_setup_teardown(what_is_refused_uses_up_no_budget, serve_one, stop),
		BOTH(a_head_that_is_not_well_formed_ends_its_connection),
	};

	signal(SIGPIPE, SIG_IGN);
	return cmocka_run_group_tests(tests, make_lab, drop_lab);
}
