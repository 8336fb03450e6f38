/* SPDX-License-Identifier: GPL-2.0-or-later */
/* See server.h. All of it but open and close is on the server's thread. */
#include <microhttpd.h>
#include <gnutls/gnutls.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include "bwl/cleanup.h"
#include "bwl/clock.h"
#include "bwl/doc.h"
#include "listen.h"
#include "server.h"
#include "who.h"

#define SECOND 1000000000ULL
#define LOOK_MS 500 /* how late who is too slow is hung up on */

/* A connection: by when it has to have come further. */
struct guest {
	int fd; /* -1: free */
	uint64_t by_ns;
	struct bwl_https *server;
};

struct bwl_https {
	struct bwl_https_conf conf;
	struct MHD_Daemon *daemon;
	pthread_t thread;
	bool runs;
	int stop; /* an eventfd */
	unsigned nguests;
	struct guest guest[];
};

const char *bwl_https_query(const struct bwl_https_ask *ask, const char *key)
{
	return MHD_lookup_connection_value(ask->conn, MHD_GET_ARGUMENT_KIND, key);
}

void bwl_https_refuse(struct bwl_https_answer *a, unsigned status, const struct bwl_err *e)
{
	json_t *o = bwl_doc_err(e, program_invocation_short_name);

	*a = (struct bwl_https_answer){ .status = status, .type = "application/json" };
	a->text = bwl_must(json_dumps(o, JSON_INDENT(1)));
	a->len = strlen(a->text);
	json_decref(o);
}

static struct guest *guest_of(struct MHD_Connection *conn)
{
	const union MHD_ConnectionInfo *i =
		MHD_get_connection_info(conn, MHD_CONNECTION_INFO_SOCKET_CONTEXT);

	return i ? i->socket_context : NULL;
}

static gnutls_session_t session_of(struct MHD_Connection *conn)
{
	const union MHD_ConnectionInfo *i =
		MHD_get_connection_info(conn, MHD_CONNECTION_INFO_GNUTLS_SESSION);

	return i ? i->tls_session : NULL;
}

static void give_time(struct guest *g, unsigned s)
{
	if (g)
		g->by_ns = bwl_now_ns() + s * SECOND;
}

/* In the handshake, as soon as his certificate is there. MHD has no use for the database's pointer.
 */
static int verify(gnutls_session_t session)
{
	const struct bwl_https *s = gnutls_db_get_ptr(session);
	char name[BWL_WHO_NAME];

	return bwl_who(session, s->conf.names, name) ? GNUTLS_E_CERTIFICATE_ERROR : 0;
}

static void on_connection(void *arg, struct MHD_Connection *conn, void **ctx,
			  enum MHD_ConnectionNotificationCode what)
{
	struct bwl_https *s = arg;
	struct guest *g = *ctx;
	int fd;

	if (what == MHD_CONNECTION_NOTIFY_CLOSED) {
		if (g)
			g->fd = -1;
		return;
	}
	fd = MHD_get_connection_info(conn, MHD_CONNECTION_INFO_CONNECTION_FD)->connect_fd;
	for (unsigned i = 0; !g && i < s->nguests; i++)
		if (s->guest[i].fd < 0)
			g = &s->guest[i];
	if (g)
		g->fd = fd;
	else /* there are as many as connections; without one his time would have no end */
		shutdown(fd, SHUT_RDWR);
	*ctx = g;
	give_time(g, BWL_HTTPS_HEAD_S);
	gnutls_db_set_ptr(session_of(conn), s);
	gnutls_session_set_verify_function(session_of(conn), verify);
	gnutls_certificate_server_set_request(session_of(conn), GNUTLS_CERT_REQUIRE);
}

static void on_end(void *arg, struct MHD_Connection *conn, void **ctx,
		   enum MHD_RequestTerminationCode why)
{
	(void)arg;
	(void)ctx;
	(void)why;
	give_time(guest_of(conn), BWL_HTTPS_IDLE_S);
}

static enum MHD_Result send_answer(struct bwl_https *s, struct MHD_Connection *conn,
				   struct bwl_https_answer *a)
{
	struct MHD_Response *r = MHD_create_response_from_buffer(a->len, a->text,
								 MHD_RESPMEM_MUST_FREE);
	enum MHD_Result done;
	char wait[16];

	if (!r) {
		free(a->text);
		return MHD_NO;
	}
	if (a->status != MHD_HTTP_TOO_MANY_REQUESTS) /* or who asks again at once is never heard */
		bwl_budget_spend(&s->conf.asks, 1);
	bwl_budget_spend(&s->conf.bytes, a->len);
	MHD_add_response_header(r, MHD_HTTP_HEADER_CONTENT_TYPE, a->type);
	MHD_add_response_header(r, MHD_HTTP_HEADER_CACHE_CONTROL, "no-store");
	if (a->status == MHD_HTTP_METHOD_NOT_ALLOWED)
		MHD_add_response_header(r, MHD_HTTP_HEADER_ALLOW, MHD_HTTP_METHOD_GET);
	if (a->wait_s) {
		snprintf(wait, sizeof(wait), "%u", a->wait_s);
		MHD_add_response_header(r, MHD_HTTP_HEADER_RETRY_AFTER, wait);
	}
	done = MHD_queue_response(conn, a->status, r);
	MHD_destroy_response(r);
	give_time(guest_of(conn), BWL_HTTPS_ANSWER_S);
	return done;
}

static void refuse(struct bwl_https_answer *a, unsigned status, int code, const char *text)
{
	struct bwl_err e = { 0 };

	bwl_fail(&e, code, "%s", text);
	bwl_https_refuse(a, status, &e);
}

static enum MHD_Result on_ask(void *arg, struct MHD_Connection *conn, const char *url,
			      const char *method, const char *version, const char *upload,
			      size_t *upload_size, void **ctx)
{
	struct bwl_https *s = arg;
	struct bwl_https_answer a = { 0 };
	char who[BWL_WHO_NAME];
	unsigned wait_s = 0;

	(void)version;
	(void)upload;
	(void)ctx;
	if (bwl_who(session_of(conn), s->conf.names, who)) /* the handshake had looked already */
		refuse(&a, MHD_HTTP_FORBIDDEN, EACCES, "this certificate is not allowed here");
	else if (strcmp(method, MHD_HTTP_METHOD_GET))
		refuse(&a, MHD_HTTP_METHOD_NOT_ALLOWED, EPERM, "only GET is allowed");
	else if (*upload_size ||
		 MHD_lookup_connection_value(conn, MHD_HEADER_KIND,
					     MHD_HTTP_HEADER_TRANSFER_ENCODING) ||
		 MHD_lookup_connection_value(conn, MHD_HEADER_KIND, MHD_HTTP_HEADER_CONTENT_LENGTH))
		refuse(&a, MHD_HTTP_CONTENT_TOO_LARGE, EINVAL, "a request must not have a body");
	else if (!bwl_budget_has(&s->conf.asks, bwl_now_ns(), &wait_s) ||
		 !bwl_budget_has(&s->conf.bytes, bwl_now_ns(), &wait_s))
		refuse(&a, MHD_HTTP_TOO_MANY_REQUESTS, EAGAIN,
		       "too many requests: try again "
		       "later");
	else
		s->conf.answer(s->conf.arg,
			       &(struct bwl_https_ask){ .path = url, .who = who, .conn = conn },
			       &a);
	if (wait_s)
		a.wait_s = wait_s;
	return send_answer(s, conn, &a);
}

/* MHD's own time limits begin anew with every byte. */
static void hang_up_on_slow_ones(struct bwl_https *s)
{
	uint64_t now_ns = bwl_now_ns();

	for (unsigned i = 0; i < s->nguests; i++) {
		struct guest *g = &s->guest[i];

		if (g->fd >= 0 && now_ns > g->by_ns) {
			shutdown(g->fd, SHUT_RDWR);
			g->by_ns = UINT64_MAX;
		}
	}
}

static void *run(void *arg)
{
	struct bwl_https *s = arg;
	const union MHD_DaemonInfo *i = MHD_get_daemon_info(s->daemon, MHD_DAEMON_INFO_EPOLL_FD);
	struct pollfd p[] = { { .fd = i->epoll_fd, .events = POLLIN },
			      { .fd = s->stop, .events = POLLIN } };

	while (!p[1].revents) {
		MHD_UNSIGNED_LONG_LONG ms = LOOK_MS;

		if (MHD_get_timeout(s->daemon, &ms) != MHD_YES || ms > LOOK_MS)
			ms = LOOK_MS;
		poll(p, 2, (int)ms);
		MHD_run(s->daemon);
		hang_up_on_slow_ones(s);
	}
	return NULL;
}

static void be_silent(void *arg, const char *fmt, va_list ap)
{
	(void)arg;
	(void)fmt;
	(void)ap;
}

static int start(struct bwl_https *s, const struct sockaddr *at, const char *ca, const char *cert,
		 const char *key)
{
	unsigned flags = MHD_USE_TLS | MHD_USE_EPOLL | MHD_USE_ERROR_LOG;

	if (at->sa_family == AF_INET6)
		flags |= MHD_USE_IPv6;
	/* clang-format off */
	s->daemon = MHD_start_daemon(flags, 0, NULL, NULL, on_ask, s,
		MHD_OPTION_EXTERNAL_LOGGER, be_silent, NULL,
		MHD_OPTION_SOCK_ADDR, at,
		MHD_OPTION_HTTPS_MEM_TRUST, ca,
		MHD_OPTION_HTTPS_MEM_CERT, cert,
		MHD_OPTION_HTTPS_MEM_KEY, key,
		MHD_OPTION_HTTPS_PRIORITIES, "SECURE128:-VERS-ALL:+VERS-TLS1.3",
		MHD_OPTION_CONNECTION_LIMIT, s->nguests,
		MHD_OPTION_CONNECTION_TIMEOUT, (unsigned)BWL_HTTPS_IDLE_S,
		MHD_OPTION_CONNECTION_MEMORY_LIMIT, (size_t)BWL_HTTPS_HEAD_BYTES,
		MHD_OPTION_NOTIFY_CONNECTION, on_connection, s,
		MHD_OPTION_NOTIFY_COMPLETED, on_end, s,
		MHD_OPTION_END);
	/* clang-format on */
	return s->daemon ? 0 : -1;
}

int bwl_https_open(const struct bwl_https_conf *c, struct bwl_https **ret, struct bwl_err *e)
{
	BWL_AUTO_FREE char *ca = NULL, *cert = NULL, *key = NULL;
	struct sockaddr_storage at;
	struct bwl_https *s;
	int r = bwl_listen_address(c->at, &at, e);

	if (!r)
		r = bwl_listen_pem(c->ca, &ca, e);
	if (!r)
		r = bwl_listen_pem(c->cert, &cert, e);
	if (!r)
		r = bwl_listen_pem(c->key, &key, e);
	if (r)
		return r;
	s = bwl_must(calloc(1, sizeof(*s) + c->connections * sizeof(*s->guest)));
	s->conf = *c;
	s->nguests = c->connections;
	for (unsigned i = 0; i < s->nguests; i++)
		s->guest[i].fd = -1;
	s->stop = eventfd(0, EFD_CLOEXEC);
	errno = 0;
	if (s->stop < 0 || start(s, (struct sockaddr *)&at, ca, cert, key) ||
	    pthread_create(&s->thread, NULL, run, s)) {
		bwl_fail(e, errno, "cannot serve HTTPS at %s: %s", c->at,
			 errno ? strerror(errno) : "the certificate and the key do not match");
		bwl_https_close(s);
		return bwl_hint(
			e,
			"the address is one of this machine, nobody else listens there, and %s "
			"has a key that fits",
			c->cert);
	}
	s->runs = true;
	*ret = s;
	return 0;
}

void bwl_https_close(struct bwl_https *s)
{
	if (!s)
		return;
	if (s->runs) {
		eventfd_write(s->stop, 1);
		pthread_join(s->thread, NULL);
	}
	if (s->daemon)
		MHD_stop_daemon(s->daemon);
	if (s->stop >= 0)
		close(s->stop);
	free(s);
}

int bwl_https_names(char *list, const char **names, struct bwl_err *e)
{
	unsigned n = 0;
	char *at;

	for (char *one = strtok_r(list, ",", &at); one; one = strtok_r(NULL, ",", &at)) {
		if (n == BWL_HTTPS_NAMES - 1)
			return bwl_fail(e, EINVAL, "more than %u names", BWL_HTTPS_NAMES - 1);
		names[n++] = one;
	}
	if (!n)
		return bwl_fail(e, EINVAL, "the name of a certificate is missing");
	names[n] = NULL;
	return 0;
}
