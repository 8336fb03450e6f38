// SPDX-License-Identifier: GPL-2.0-or-later
/* The server's loop: libmicrohttpd, the askers, and the waiting requests. See web.h. */
#include <gnutls/abstract.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <unistd.h>
#include "bwl/clock.h"
#include "web.h"

#define TICK_MS 250
#define HEAD_BYTES 16384 /* per connection, for the heads of request and answer */
#define USER_TIMEOUT_MS 30000U

static void on_connection(void *arg, struct MHD_Connection *conn, void **ctx,
			  enum MHD_ConnectionNotificationCode what)
{
	const unsigned wait_ms = USER_TIMEOUT_MS;
	struct web *w = arg;
	int fd;

	if (what == MHD_CONNECTION_NOTIFY_CLOSED) {
		guests_go(*ctx);
		return;
	}
	fd = MHD_get_connection_info(conn, MHD_CONNECTION_INFO_CONNECTION_FD)->connect_fd;
	setsockopt(fd, IPPROTO_TCP, TCP_USER_TIMEOUT, &wait_ms, sizeof(wait_ms));
	*ctx = guests_come(
		&w->guests, fd,
		MHD_get_connection_info(conn, MHD_CONNECTION_INFO_CLIENT_ADDRESS)->client_addr,
		bwl_now_ns());
	if (w->tls)
		tls_begin(w, conn, *ctx);
}

static void on_end(void *arg, struct MHD_Connection *conn, void **ctx,
		   enum MHD_RequestTerminationCode why)
{
	(void)arg;
	(void)why;
	answer_end(ctx);
	guests_does(reply_guest(conn), GUEST_ASKS, GUESTS_IDLE_S, bwl_now_ns());
}

static enum MHD_Result on_ask(void *arg, struct MHD_Connection *conn, const char *url,
			      const char *method, const char *version, const char *upload,
			      size_t *upload_size, void **ctx)
{
	(void)upload;
	return answer_ask(arg, conn, url, method, version, *upload_size, ctx);
}

/* libmicrohttpd is about to decode it. */
static void *on_target(void *arg, const char *target, struct MHD_Connection *conn)
{
	struct guest *g = reply_guest(conn);

	(void)arg;
	if (g)
		bwl_strict_note(&g->strict, target);
	return NULL;
}

static void be_silent(void *arg, const char *fmt, va_list ap)
{
	(void)arg;
	(void)fmt;
	(void)ap;
}

static struct MHD_Daemon *start(struct web *w)
{
	const struct web_conf *c = w->conf;
	unsigned flags = MHD_USE_EPOLL | MHD_USE_ERROR_LOG | MHD_ALLOW_SUSPEND_RESUME;

	flags |= c->at.ss_family == AF_INET6 ? MHD_USE_IPv6 : 0;
	flags |= w->tls ? MHD_USE_TLS : 0;
	/* clang-format off */
	return MHD_start_daemon(flags, 0, NULL, NULL, on_ask, w,
		MHD_OPTION_EXTERNAL_LOGGER, be_silent, NULL,
		MHD_OPTION_SOCK_ADDR, &c->at,
		MHD_OPTION_CONNECTION_LIMIT, (unsigned)GUESTS_ROOM,
		MHD_OPTION_CONNECTION_TIMEOUT, (unsigned)GUESTS_IDLE_S,
		MHD_OPTION_CONNECTION_MEMORY_LIMIT, (size_t)HEAD_BYTES,
		BWL_STRICT_OPTION, 1,
		MHD_OPTION_URI_LOG_CALLBACK, on_target, w,
		MHD_OPTION_NOTIFY_CONNECTION, on_connection, w,
		MHD_OPTION_NOTIFY_COMPLETED, on_end, w,
		/* what follows is for TLS; an array of options cannot hold the callback */
		w->tls ? MHD_OPTION_HTTPS_PRIORITIES : MHD_OPTION_END, BWL_TLS_PRIORITIES,
		MHD_OPTION_HTTPS_CERT_CALLBACK, bwl_tls_no_certificate,
		MHD_OPTION_END);
	/* clang-format on */
}

int web_open(struct web *w, const struct web_conf *c, struct bwl_err *e)
{
	int r;

	w->conf = c;
	r = c->tls[BWL_TLS_CERT] ? tls_open(w, e) : 0;
	if (r)
		return r;
	errno = 0;
	w->daemon = start(w);
	if (w->daemon)
		return 0;
	bwl_fail(e, errno, "cannot listen: %s", errno ? strerror(errno) : "libmicrohttpd refuses");
	return bwl_hint(
		e,
		"the address must be one of this machine, and no other program may listen there");
}

/* Removes line breaks and indentation from JSON, where they mean nothing; in place. */
static size_t one_line(char *text, size_t len)
{
	size_t n = 0;

	for (size_t i = 0; i < len; i++) {
		if (text[i] != '\n') {
			text[n++] = text[i];
			continue;
		}
		while (i + 1 < len && text[i + 1] == ' ')
			i++;
	}
	return n;
}

/* Appends our own metrics to those of bwlimit-ctl. */
static char *add_ours(const struct web *w, char *text, uint32_t *len)
{
	size_t n = strlen(w->metrics);

	text = bwl_must(realloc(text, *len + n));
	memcpy(text + *len, w->metrics, n);
	*len += (uint32_t)n;
	return text;
}

static int take(struct web *w, unsigned i, uint64_t now_ns)
{
	struct entry *e = w->asks[i];
	struct asker_head head;
	char *text;
	int r = w->asker[i].busy ? asker_take(&w->asker[i], &head, &text) : 0;

	if (r <= 0)
		return r;
	if (head.status != MHD_HTTP_OK || !e->document->text)
		head.len = (uint32_t)one_line(text, head.len);
	else if (w->metrics)
		text = add_ours(w, text, &head.len);
	cache_put(&w->cache, e, head.status, text_new(text, head.len), now_ns);
	e->older_ms = head.age_ms;
	free(text);
	cache_give_back(&w->asks[i]);
	return 0;
}

static int ask(struct web *w, unsigned i)
{
	struct entry *e = w->asker[i].busy ? NULL : cache_next(&w->cache, i);

	if (!e)
		return 0;
	e->asked = true;
	w->asks[i] = cache_hold(e);
	return asker_ask(&w->asker[i], e->question);
}

static int step(struct web *w, struct bwl_err *e)
{
	uint64_t now_ns;
	int r = 0;

	MHD_run(w->daemon);
	now_ns = bwl_now_ns();
	for (unsigned i = 0; !r && i < WEB_ASKERS; i++)
		r = take(w, i, now_ns);
	tls_step(w);
	stream_step(w, now_ns);
	answer_wake(w, now_ns);
	guests_look(&w->guests, now_ns);
	MHD_run(w->daemon); /* runs resumed requests */
	/* Stop waiting on behalf of clients that have gone. */
	for (unsigned i = 0; !r && i < WEB_ASKERS; i++)
		r = ask(w, i);
	return r ? bwl_fail(e, EPIPE, "the process that asks has ended") : 0;
}

/* Reads a signal. Should the server continue? */
static bool heed(struct web *w, int fd)
{
	struct signalfd_siginfo s;

	if (read(fd, &s, sizeof(s)) != sizeof(s) || s.ssi_signo != SIGHUP)
		return false;
	tls_anew(w);
	return true;
}

int web_run(struct web *w, int signal_fd, struct bwl_err *e)
{
	const union MHD_DaemonInfo *i = MHD_get_daemon_info(w->daemon, MHD_DAEMON_INFO_EPOLL_FD);
	struct pollfd p[3 + WEB_ASKERS] = { { .fd = signal_fd, .events = POLLIN },
					    { .fd = i->epoll_fd, .events = POLLIN },
					    { .fd = w->keeper ? w->keeper->fd : -1,
					      .events = POLLIN } };
	int r = 0;

	for (unsigned k = 0; k < WEB_ASKERS; k++)
		p[3 + k] = (struct pollfd){ .fd = w->asker[k].fd, .events = POLLIN };
	while (!r && (!p[0].revents || heed(w, signal_fd))) {
		MHD_UNSIGNED_LONG_LONG ms = TICK_MS;

		if (MHD_get_timeout(w->daemon, &ms) != MHD_YES || ms > TICK_MS)
			ms = TICK_MS;
		poll(p, 3 + WEB_ASKERS, (int)ms);
		r = step(w, e);
		if (!r &&
		    p[2].revents & (POLLHUP | POLLERR)) /* POLLIN is also set when it has ended */
			r = bwl_fail(e, EPIPE, "the process that reads the certificate has ended");
	}
	return r;
}

void web_close(struct web *w)
{
	/* A daemon with suspended connections cannot be stopped: libmicrohttpd aborts. */
	w->stops = true;
	answer_wake(w, UINT64_MAX);
	stream_stop(w);
	if (w->daemon) {
		MHD_run(w->daemon);
		MHD_stop_daemon(w->daemon);
	}
	cache_done(&w->cache);
	tls_close(w);
}
