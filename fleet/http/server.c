// SPDX-License-Identifier: GPL-2.0-or-later
/* See server.h. Everything except open and close runs on the server's thread. */
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
#include "strict.h"

#define SECOND 1000000000ULL
#define LOOK_MS 500 /* how much too late a slow client may be disconnected */
/* Places of connections that were hung up on, until libmicrohttpd closes them. */
#define CLOSING 32

/* A connection, and the time by which it must have made progress. */
struct guest {
	struct bwl_place place;
	int fd; /* -1: free */
	gnutls_session_t session;
	struct bwl_tls *began; /* the certificates it began with; it holds a reference */
	uint64_t by_ns;
	struct bwl_strict strict; /* about the request's head */
};

struct bwl_https {
	struct bwl_https_conf conf;
	struct MHD_Daemon *daemon;
	pthread_t thread;
	bool runs;
	bool again; /* a place is free: libmicrohttpd looks at who waits only when it runs next */
	int stop, news;      /* eventfds */
	struct bwl_tls *tls; /* the newest; only the serving thread uses it, and guests' */
	pthread_mutex_t lock;
	struct bwl_tls *next;       /* read since then, and not used yet; NULL: none */
	struct bwl_tls_facts facts; /* about what was read last */
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
	if (g && g->place.of)
		g->by_ns = bwl_now_ns() + s * SECOND;
}

static void hang_up(struct guest *g)
{
	shutdown(g->fd, SHUT_RDWR);
	g->place.of = BWL_PLACE_FREE;
	g->by_ns = UINT64_MAX;
}

/* At most as many as there are places. */
static void make_room(struct bwl_https *s, enum bwl_place_of of)
{
	const size_t size = sizeof(struct guest);

	if (bwl_places_taken(s->guest, size, s->nguests, of, NULL) >
	    (of == BWL_PLACE_KNOWN ? s->conf.connections : BWL_PLACES_STRANGERS))
		hang_up(bwl_place_to_go(s->guest, size, s->nguests, of));
}

/* By the newest certificates, whichever the connection began with. */
static int judge(const struct bwl_https *s, const struct guest *g, char name[static BWL_WHO_NAME])
{
	return g->began ? bwl_tls_who(s->tls, g->began, g->session, s->conf.names, name) : -1;
}

/*
 * Called during the handshake, as soon as the client's certificate has arrived. MHD does not use
 * the session database's pointer.
 */
static int verify(gnutls_session_t session)
{
	struct bwl_https *s = gnutls_db_get_ptr(session);
	char name[BWL_WHO_NAME];

	for (unsigned i = 0; i < s->nguests; i++) {
		struct guest *g = &s->guest[i];

		if (g->fd < 0 || !g->place.of || g->session != session || judge(s, g, name))
			continue;
		bwl_place_known(&g->place, session, bwl_now_ns());
		give_time(g, BWL_HTTPS_HEAD_S);
		make_room(s, BWL_PLACE_KNOWN);
		return 0;
	}
	return GNUTLS_E_CERTIFICATE_ERROR;
}

static void on_connection(void *arg, struct MHD_Connection *conn, void **ctx,
			  enum MHD_ConnectionNotificationCode what)
{
	struct bwl_https *s = arg;
	struct guest *g = *ctx;
	const union MHD_ConnectionInfo *from;
	int fd;

	if (what == MHD_CONNECTION_NOTIFY_CLOSED) {
		if (g) {
			bwl_tls_drop(g->began);
			*g = (struct guest){ .fd = -1 };
		}
		s->again = true;
		return;
	}
	fd = MHD_get_connection_info(conn, MHD_CONNECTION_INFO_CONNECTION_FD)->connect_fd;
	for (unsigned i = 0; !g && i < s->nguests; i++)
		if (s->guest[i].fd < 0)
			g = &s->guest[i];
	gnutls_db_set_ptr(session_of(conn), s);
	gnutls_session_set_verify_function(session_of(conn), verify);
	from = MHD_get_connection_info(conn, MHD_CONNECTION_INFO_CLIENT_ADDRESS);
	if (g) {
		*g = (struct guest){ .place = bwl_place_new(from->client_addr, BWL_PLACE_STRANGER,
							    bwl_now_ns()),
				     .fd = fd,
				     .session = session_of(conn),
				     .began = bwl_tls_hold(s->tls) };
		bwl_tls_begin(g->began, g->session);
	} else /* there is a guest per connection; without one it would have no time limit */
		shutdown(fd, SHUT_RDWR);
	*ctx = g;
	give_time(g, BWL_PLACES_SHAKE_S);
	make_room(s, BWL_PLACE_STRANGER);
}

static void on_end(void *arg, struct MHD_Connection *conn, void **ctx,
		   enum MHD_RequestTerminationCode why)
{
	struct guest *g = guest_of(conn);

	(void)arg;
	(void)ctx;
	(void)why;
	give_time(g, BWL_HTTPS_IDLE_S);
	if (g) {
		g->place.readily = 1;
		g->place.since_ns = bwl_now_ns();
	}
}

/* libmicrohttpd is about to decode it. */
static void *on_target(void *arg, const char *target, struct MHD_Connection *conn)
{
	struct guest *g = guest_of(conn);

	(void)arg;
	if (g) {
		g->place.readily = 0;
		bwl_strict_note(&g->strict, target);
	}
	return NULL;
}

static enum MHD_Result send_answer(struct bwl_https *s, struct MHD_Connection *conn,
				   struct bwl_https_answer *a, bool ends)
{
	struct MHD_Response *r = MHD_create_response_from_buffer(a->len, a->text,
								 MHD_RESPMEM_MUST_FREE);
	enum MHD_Result done;
	char wait[16];

	if (!r) {
		free(a->text);
		return MHD_NO;
	}
	bwl_budget_spend(&s->conf.bytes, a->len);
	MHD_add_response_header(r, MHD_HTTP_HEADER_CONTENT_TYPE, a->type);
	MHD_add_response_header(r, MHD_HTTP_HEADER_CACHE_CONTROL, "no-store");
	if (ends)
		MHD_add_response_header(r, MHD_HTTP_HEADER_CONNECTION, "close");
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

/* Only these count: otherwise a client whose requests are refused would use up others' budget. */
static void ask(struct bwl_https *s, struct MHD_Connection *conn, const char *url, const char *who,
		struct bwl_https_answer *a)
{
	bwl_budget_spend(&s->conf.asks, 1);
	s->conf.answer(s->conf.arg,
		       &(struct bwl_https_ask){ .path = url, .who = who, .conn = conn }, a);
}

static enum MHD_Result on_ask(void *arg, struct MHD_Connection *conn, const char *url,
			      const char *method, const char *version, const char *upload,
			      size_t *upload_size, void **ctx)
{
	struct bwl_https *s = arg;
	struct bwl_https_answer a = { 0 };
	char who[BWL_WHO_NAME];
	const struct guest *g = guest_of(conn);
	const char *wrong = NULL;
	unsigned wait_s = 0;

	(void)upload;
	(void)ctx;
	/* The handshake has already checked it. */
	if (!g || judge(s, g, who))
		refuse(&a, MHD_HTTP_FORBIDDEN, EACCES, "this certificate is not allowed here");
	else if ((wrong = bwl_strict_head(&g->strict, conn, method, version)))
		refuse(&a, MHD_HTTP_BAD_REQUEST, EINVAL, wrong);
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
		       "too many requests: try again later");
	else
		ask(s, conn, url, who, &a);
	if (wait_s)
		a.wait_s = wait_s;
	return send_answer(s, conn, &a, wrong); /* where the next request begins is not known */
}

/* MHD's own time limits restart with every byte. */
static void hang_up_on_slow_ones(struct bwl_https *s)
{
	uint64_t now_ns = bwl_now_ns();

	for (unsigned i = 0; i < s->nguests; i++) {
		struct guest *g = &s->guest[i];

		if (g->place.of && now_ns > g->by_ns)
			hang_up(g);
	}
}

static void take_news(struct bwl_https *s)
{
	char name[BWL_WHO_NAME];
	eventfd_t n;

	(void)!eventfd_read(s->news, &n);
	pthread_mutex_lock(&s->lock);
	if (s->next) {
		bwl_tls_drop(s->tls);
		s->tls = s->next;
		s->next = NULL;
	}
	pthread_mutex_unlock(&s->lock);
	for (unsigned i = 0; i < s->nguests; i++) {
		struct guest *g = &s->guest[i];

		/*
		 * A client that has not presented a certificate yet will be judged by the new list.
		 */
		if (g->place.of && bwl_tls_has_shown(g->session) && judge(s, g, name))
			hang_up(g);
	}
}

static void *run(void *arg)
{
	struct bwl_https *s = arg;
	const union MHD_DaemonInfo *i = MHD_get_daemon_info(s->daemon, MHD_DAEMON_INFO_EPOLL_FD);
	struct pollfd p[] = { { .fd = i->epoll_fd, .events = POLLIN },
			      { .fd = s->stop, .events = POLLIN },
			      { .fd = s->news, .events = POLLIN } };

	while (!p[1].revents) {
		MHD_UNSIGNED_LONG_LONG ms = LOOK_MS;

		if (MHD_get_timeout(s->daemon, &ms) != MHD_YES || ms > LOOK_MS)
			ms = LOOK_MS;
		if (s->again)
			ms = 0;
		s->again = false;
		poll(p, 3, (int)ms);
		if (p[2].revents)
			take_news(s);
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

static int start(struct bwl_https *s, const struct sockaddr *at)
{
	unsigned flags = MHD_USE_TLS | MHD_USE_EPOLL | MHD_USE_ERROR_LOG;

	if (at->sa_family == AF_INET6)
		flags |= MHD_USE_IPv6;
	/* clang-format off */
	s->daemon = MHD_start_daemon(flags, 0, NULL, NULL, on_ask, s,
		MHD_OPTION_EXTERNAL_LOGGER, be_silent, NULL,
		MHD_OPTION_SOCK_ADDR, at,
		MHD_OPTION_HTTPS_PRIORITIES, BWL_TLS_PRIORITIES,
		MHD_OPTION_HTTPS_CERT_CALLBACK, bwl_tls_no_certificate,
		MHD_OPTION_CONNECTION_LIMIT, s->nguests,
		MHD_OPTION_CONNECTION_TIMEOUT, (unsigned)BWL_HTTPS_IDLE_S,
		MHD_OPTION_CONNECTION_MEMORY_LIMIT, (size_t)BWL_HTTPS_HEAD_BYTES,
		BWL_STRICT_OPTION, 1,
		MHD_OPTION_URI_LOG_CALLBACK, on_target, s,
		MHD_OPTION_NOTIFY_CONNECTION, on_connection, s,
		MHD_OPTION_NOTIFY_COMPLETED, on_end, s,
		MHD_OPTION_END);
	/* clang-format on */
	return s->daemon ? 0 : -1;
}

static int read_tls(const struct bwl_https_conf *c, struct bwl_tls **ret, struct bwl_err *e)
{
	struct bwl_tls_pem pem;
	int r = bwl_tls_read(c->tls, &pem, e);

	if (r)
		return r;
	r = bwl_tls_new(&pem, ret, e);
	bwl_tls_pem_done(&pem);
	return r;
}

int bwl_https_anew(struct bwl_https *s, struct bwl_err *e)
{
	struct bwl_tls *tls;
	int r = read_tls(&s->conf, &tls, e);

	if (r)
		return r;
	pthread_mutex_lock(&s->lock);
	bwl_tls_drop(s->next); /* it is not in use yet */
	s->next = tls;
	s->facts = bwl_tls_facts(tls);
	pthread_mutex_unlock(&s->lock);
	eventfd_write(s->news, 1);
	return 0;
}

struct bwl_tls_facts bwl_https_facts(struct bwl_https *s)
{
	struct bwl_tls_facts f;

	pthread_mutex_lock(&s->lock);
	f = s->facts;
	pthread_mutex_unlock(&s->lock);
	return f;
}

int bwl_https_open(const struct bwl_https_conf *c, struct bwl_https **ret, struct bwl_err *e)
{
	struct sockaddr_storage at;
	struct bwl_tls *tls;
	struct bwl_https *s;
	unsigned nguests;
	int r = bwl_listen_address(c->at, &at, e);

	r = r ? r : read_tls(c, &tls, e);
	if (r)
		return r;
	nguests = c->connections + BWL_PLACES_STRANGERS + CLOSING;
	s = bwl_must(calloc(1, sizeof(*s) + nguests * sizeof(*s->guest)));
	s->conf = *c;
	s->tls = tls;
	s->facts = bwl_tls_facts(tls);
	pthread_mutex_init(&s->lock, NULL);
	s->nguests = nguests;
	for (unsigned i = 0; i < s->nguests; i++)
		s->guest[i].fd = -1;
	s->stop = eventfd(0, EFD_CLOEXEC);
	s->news = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	errno = 0;
	if (s->stop < 0 || s->news < 0 || start(s, (struct sockaddr *)&at) ||
	    pthread_create(&s->thread, NULL, run, s)) {
		bwl_fail(e, errno, "cannot serve HTTPS at %s: %s", c->at,
			 errno ? strerror(errno) : "the server does not start");
		bwl_https_close(s);
		return bwl_hint(
			e,
			"the address must be one of this machine, and no other program may listen there");
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
	if (s->news >= 0)
		close(s->news);
	bwl_tls_drop(s->next);
	bwl_tls_drop(s->tls);
	pthread_mutex_destroy(&s->lock);
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
