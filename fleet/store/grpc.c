// SPDX-License-Identifier: GPL-2.0-or-later
/* See grpc.h. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include "bwl/clock.h"
#include "grpc.h"
#include "grpc_wire.h"

/*
 * With many new clients a server takes long for TLS: clients that give up early and reconnect would
 * keep it from ever finishing. TCP detects an unreachable server: after two SYNs (3 s), or when
 * nothing is acknowledged for that long.
 */
#define CONNECT_MS 8000L
#define SYN_AGAIN 1
#define UNACKED_MS 4000
#define URL_MAX 512
#define NS_PER_MS 1000000ULL
/*
 * While libcurl 7.88 works for one stream it reads what came for another stream of the connection,
 * and then neither a descriptor nor its timer shows that: one in five calls beside a watch lasted
 * until its deadline. So libcurl is called again after this time, during a call and in between.
 */
#define CALL_SLICE_MS 10
#define IDLE_SLICE_MS 250

struct bwl_grpc {
	CURLM *multi;
	const char *server;
	struct bwl_grpc_tls tls;
	bool moved; /* something was sent or received */
};

struct bwl_grpc_stream {
	struct bwl_grpc *g;
	CURL *easy;
	struct curl_slist *headers;
	char url[URL_MAX], curl_text[CURL_ERROR_SIZE];
	uint8_t *out; /* what is being sent */
	size_t out_len, out_sent;
	unsigned messages; /* number of messages given to be sent */
	bool half_closed;  /* nothing will be sent after this */
	int (*said)(void *arg, const uint8_t *msg, size_t len);
	void *arg;
	struct bwl_grpc_frames frames;
	struct bwl_grpc_end end;
	int wrong;  /* negative errno about a message */
	bool ended; /* if so, how: */
	CURLcode result;
};

int bwl_grpc_open(const char *server, const struct bwl_grpc_tls *tls, struct bwl_grpc **ret,
		  struct bwl_err *e)
{
	static bool once;
	struct bwl_grpc *g;

	*ret = NULL;
	if (strncmp(server, "https://", 8) || !server[8])
		return bwl_fail(e, EINVAL, "'%s': not a server: say https://HOST:PORT", server);
	if (!once && curl_global_init(CURL_GLOBAL_DEFAULT))
		return bwl_fail(e, ENOMEM, "libcurl does not start");
	once = true;
	g = bwl_must(calloc(1, sizeof(*g)));
	g->server = server;
	g->tls = *tls;
	g->multi = bwl_must(curl_multi_init());
	curl_multi_setopt(g->multi, CURLMOPT_PIPELINING, CURLPIPE_MULTIPLEX);
	/* One that is closing (GOAWAY), and one more. */
	curl_multi_setopt(g->multi, CURLMOPT_MAX_TOTAL_CONNECTIONS, 2L);
	*ret = g;
	return 0;
}

void bwl_grpc_close(struct bwl_grpc *g)
{
	if (!g)
		return;
	curl_multi_cleanup(g->multi);
	free(g);
}

const char *bwl_grpc_server(const struct bwl_grpc *g)
{
	return g->server;
}

static size_t on_header(char *line, size_t one, size_t len, void *arg)
{
	struct bwl_grpc_stream *s = arg;

	(void)one;
	s->g->moved = true;
	bwl_grpc_header(&s->end, line, len);
	return len;
}

static size_t on_data(char *data, size_t one, size_t len, void *arg)
{
	struct bwl_grpc_stream *s = arg;

	(void)one;
	s->g->moved = true;
	if (!s->end.http_ok || !s->end.is_grpc)
		return len; /* an HTML page for people: the HTTP status is enough */
	s->wrong = bwl_grpc_feed(&s->frames, data, len, s->said, s->arg);
	return s->wrong ? 0 : len;
}

static size_t on_send(char *to, size_t one, size_t room, void *arg)
{
	struct bwl_grpc_stream *s = arg;
	size_t n = s->out_len - s->out_sent;

	room *= one;
	if (!n)
		return s->half_closed ? 0 : CURL_READFUNC_PAUSE;
	if (n > room)
		n = room;
	memcpy(to, s->out + s->out_sent, n);
	s->out_sent += n;
	return n;
}

/*
 * If a server refuses a stream, or closes a used connection, libcurl retries over another one, from
 * the beginning. Once a stream has sent several messages the first is no longer available.
 */
static int on_seek(void *arg, curl_off_t to, int from)
{
	struct bwl_grpc_stream *s = arg;

	if (to || from != SEEK_SET || s->messages > 1)
		return CURL_SEEKFUNC_FAIL;
	s->out_sent = 0;
	return CURL_SEEKFUNC_OK;
}

static int on_socket(void *arg, curl_socket_t fd, curlsocktype purpose)
{
	int syn = SYN_AGAIN, unacked = UNACKED_MS;

	(void)arg;
	(void)purpose;
	/* Best effort: without these it takes CONNECT_MS. */
	(void)setsockopt(fd, IPPROTO_TCP, TCP_SYNCNT, &syn, sizeof(syn));
	(void)setsockopt(fd, IPPROTO_TCP, TCP_USER_TIMEOUT, &unacked, sizeof(unacked));
	return CURL_SOCKOPT_OK;
}

static struct curl_slist *also(struct curl_slist *list, const char *line)
{
	return bwl_must(curl_slist_append(list, line));
}

static void set_tls(CURL *h, const struct bwl_grpc_tls *tls)
{
	curl_easy_setopt(h, CURLOPT_SSLVERSION, CURL_SSLVERSION_TLSv1_3);
	curl_easy_setopt(h, CURLOPT_CAINFO, tls->ca);
	/* Otherwise Debian's libcurl also trusts every authority in /etc/ssl/certs. */
	curl_easy_setopt(h, CURLOPT_CAPATH, NULL);
	curl_easy_setopt(h, CURLOPT_SSL_VERIFYPEER, 1L);
	curl_easy_setopt(h, CURLOPT_SSL_VERIFYHOST, 2L);
	curl_easy_setopt(h, CURLOPT_SSLCERT, tls->cert);
	curl_easy_setopt(h, CURLOPT_SSLKEY, tls->key);
}

static void set_http(struct bwl_grpc_stream *s)
{
	CURL *h = s->easy;

	curl_easy_setopt(h, CURLOPT_URL, s->url);
	curl_easy_setopt(h, CURLOPT_PROTOCOLS_STR, "https");
	curl_easy_setopt(h, CURLOPT_PROXY, ""); /* overrides the environment */
	curl_easy_setopt(h, CURLOPT_HTTP_VERSION, CURL_HTTP_VERSION_2TLS);
	curl_easy_setopt(h, CURLOPT_PIPEWAIT, 1L);
	curl_easy_setopt(h, CURLOPT_NOSIGNAL, 1L);
	curl_easy_setopt(h, CURLOPT_CONNECTTIMEOUT_MS, CONNECT_MS);
	curl_easy_setopt(h, CURLOPT_SOCKOPTFUNCTION, on_socket);
	curl_easy_setopt(h, CURLOPT_POST, 1L);
	curl_easy_setopt(h, CURLOPT_POSTFIELDSIZE, -1L);
	curl_easy_setopt(h, CURLOPT_HTTPHEADER, s->headers);
	curl_easy_setopt(h, CURLOPT_USERAGENT, "bwlimit/" BWL_VERSION);
	curl_easy_setopt(h, CURLOPT_READFUNCTION, on_send);
	curl_easy_setopt(h, CURLOPT_READDATA, s);
	curl_easy_setopt(h, CURLOPT_SEEKFUNCTION, on_seek);
	curl_easy_setopt(h, CURLOPT_SEEKDATA, s);
	curl_easy_setopt(h, CURLOPT_HEADERFUNCTION, on_header);
	curl_easy_setopt(h, CURLOPT_HEADERDATA, s);
	curl_easy_setopt(h, CURLOPT_WRITEFUNCTION, on_data);
	curl_easy_setopt(h, CURLOPT_WRITEDATA, s);
	curl_easy_setopt(h, CURLOPT_ERRORBUFFER, s->curl_text);
	curl_easy_setopt(h, CURLOPT_PRIVATE, s);
}

static void set_out(struct bwl_grpc_stream *s, const void *ask, size_t len)
{
	free(s->out);
	s->out = bwl_must(malloc(BWL_GRPC_HEAD + len));
	bwl_grpc_head(s->out, (uint32_t)len);
	if (len)
		memcpy(s->out + BWL_GRPC_HEAD, ask, len);
	s->out_len = BWL_GRPC_HEAD + len;
	s->out_sent = 0;
	s->messages++;
}

static int start(struct bwl_grpc *g, const char *method, unsigned timeout_ms,
		 struct bwl_grpc_stream *s, struct bwl_err *e)
{
	char timeout[40];

	if (snprintf(s->url, sizeof(s->url), "%s%s", g->server, method) >= (int)sizeof(s->url))
		return bwl_fail(e, ENAMETOOLONG, "the name of server '%.60s…' is too long",
				g->server);
	s->g = g;
	s->frames.most = BWL_GRPC_MESSAGE_MAX;
	s->end.code = -1;
	s->headers = also(NULL, "content-type: application/grpc");
	s->headers = also(s->headers, "te: trailers");
	/* A member that has lost its leader ends the stream (etcd's own header). */
	s->headers = also(s->headers, "hasleader: true");
	s->headers = also(s->headers, "expect:");
	if (timeout_ms) {
		snprintf(timeout, sizeof(timeout), "grpc-timeout: %um", timeout_ms);
		s->headers = also(s->headers, timeout);
	}
	s->easy = bwl_must(curl_easy_init());
	set_http(s);
	set_tls(s->easy, &g->tls);
	if (timeout_ms)
		curl_easy_setopt(s->easy, CURLOPT_TIMEOUT_MS, (long)timeout_ms);
	if (curl_multi_add_handle(g->multi, s->easy))
		return bwl_fail(e, ENOMEM, "libcurl accepts no more calls");
	return 0;
}

static void done(struct bwl_grpc_stream *s)
{
	if (s->easy) {
		curl_multi_remove_handle(s->g->multi, s->easy);
		curl_easy_cleanup(s->easy);
	}
	curl_slist_free_all(s->headers);
	bwl_grpc_frames_done(&s->frames);
	free(s->out);
}

static int no_good(const struct bwl_grpc *g, int wrong, struct bwl_err *e)
{
	if (wrong == -EMSGSIZE)
		return bwl_fail(e, EMSGSIZE, "%s: a message of more than %u bytes", g->server,
				BWL_GRPC_MESSAGE_MAX);
	return bwl_fail(e, -wrong, "%s: cannot parse its answer: is it etcd?", g->server);
}

static int lost(const struct bwl_grpc_stream *s, struct bwl_err *e)
{
	const char *why = *s->curl_text ? s->curl_text : curl_easy_strerror(s->result);

	switch (s->result) {
	case CURLE_OPERATION_TIMEDOUT:
		return bwl_fail(e, ETIMEDOUT, "%s: %s", s->g->server, why);
	case CURLE_PEER_FAILED_VERIFICATION:
		bwl_fail(e, EACCES, "%s: %s", s->g->server, why);
		return bwl_hint(
			e, "its certificate must name it and be issued by the authority in '%s'",
			s->g->tls.ca);
	case CURLE_SSL_CERTPROBLEM:
	case CURLE_SSL_CACERT_BADFILE:
		bwl_fail(e, EINVAL, "%s: %s", s->g->server, why);
		return bwl_hint(
			e, "check '%s', '%s', '%s': they must be PEM and readable by this user",
			s->g->tls.ca, s->g->tls.cert, s->g->tls.key);
	default:
		return bwl_fail(e, EHOSTUNREACH, "%s: %s", s->g->server, why);
	}
}

/*
 * How it ended. The server's message takes precedence over what happened to the connection later.
 */
static int ended(const struct bwl_grpc_stream *s, struct bwl_err *e)
{
	int code;

	if (s->wrong)
		return no_good(s->g, s->wrong, e);
	/*
	 * libcurl 7.88 beside a watch: it delivers trailers without headers, and takes that for a
	 * dead connection. Whether the server did what was requested is unknown.
	 */
	if ((s->end.code < 0 || !s->end.is_h2) && s->result)
		return lost(s, e);
	if (!s->end.is_h2)
		return bwl_fail(e, EPROTO, "%s does not speak HTTP/2: is that etcd?", s->g->server);
	code = bwl_grpc_code(&s->end);
	if (code)
		return bwl_fail(e, bwl_grpc_errno(code), "%s: %s (gRPC %d)", s->g->server,
				*s->end.text      ? s->end.text
				: s->end.code < 0 ? "the answer has no gRPC status"
						  : "refused",
				code);
	if (bwl_grpc_is_within(&s->frames))
		return no_good(s->g, -EBADMSG, e);
	return 0;
}

static void collect(struct bwl_grpc *g)
{
	CURLMsg *m;
	int left;

	while ((m = curl_multi_info_read(g->multi, &left))) {
		struct bwl_grpc_stream *s = NULL;

		if (m->msg != CURLMSG_DONE)
			continue;
		curl_easy_getinfo(m->easy_handle, CURLINFO_PRIVATE, &s);
		s->result = m->data.result;
		s->ended = true;
	}
}

/*
 * libcurl 7.88 reads everything that came in one record, also for other calls on the connection,
 * but delivers it, and the end of a call, only when it is called again; no descriptor shows that.
 * So it is called until nothing moved twice. Bounded, in case a server never stops.
 */
static CURLMcode perform(struct bwl_grpc *g)
{
	unsigned quiet = 0;
	CURLMcode r = CURLM_OK;
	int running;

	for (unsigned n = 0; !r && quiet < 2 && n < 64; n++) {
		g->moved = false;
		r = curl_multi_perform(g->multi, &running);
		collect(g);
		quiet = g->moved ? 0 : quiet + 1;
	}
	return r;
}

int bwl_grpc_wait(struct bwl_grpc *g, unsigned timeout_ms, struct curl_waitfd *fds, unsigned n,
		  struct bwl_err *e)
{
	CURLMcode r = perform(g);

	if (timeout_ms > IDLE_SLICE_MS)
		timeout_ms = IDLE_SLICE_MS;
	if (!r)
		r = curl_multi_poll(g->multi, fds, n, g->moved ? 0 : (int)timeout_ms, NULL);
	if (!r)
		r = perform(g);
	return r ? bwl_fail(e, EIO, "libcurl: %s", curl_multi_strerror(r)) : 0;
}

struct answer {
	uint8_t *msg;
	size_t len;
	bool there;
};

static int keep_answer(void *arg, const uint8_t *msg, size_t len)
{
	struct answer *a = arg;

	if (a->there)
		return -EBADMSG;
	a->msg = bwl_must(malloc(len ? len : 1));
	memcpy(a->msg, msg, len);
	a->len = len;
	a->there = true;
	return 0;
}

int bwl_grpc_call(struct bwl_grpc *g, const char *method, const void *ask, size_t len,
		  unsigned timeout_ms, uint8_t **ret, size_t *ret_len, struct bwl_err *e)
{
	uint64_t end_ns = bwl_now_ns() + (timeout_ms + CONNECT_MS) * NS_PER_MS;
	struct answer a = { 0 };
	struct bwl_grpc_stream s = { .half_closed = true, .said = keep_answer, .arg = &a };
	int r;

	set_out(&s, ask, len);
	r = start(g, method, timeout_ms, &s, e);
	while (!r && !s.ended) {
		r = bwl_grpc_wait(g, CALL_SLICE_MS, NULL, 0, e);
		/* libcurl checks the time as well; this is in case it does not. */
		if (!r && !s.ended && bwl_now_ns() > end_ns)
			r = bwl_fail(e, ETIMEDOUT, "%s: no answer in %u ms", g->server, timeout_ms);
	}
	if (!r)
		r = ended(&s, e);
	if (!r && !a.there)
		r = s.result ? lost(&s, e) : no_good(g, -EBADMSG, e);
	done(&s);
	if (r) {
		free(a.msg);
		return r;
	}
	*ret = a.msg;
	*ret_len = a.len;
	return 0;
}

int bwl_grpc_stream_open(struct bwl_grpc *g, const char *method,
			 int (*said)(void *arg, const uint8_t *msg, size_t len), void *arg,
			 struct bwl_grpc_stream **ret, struct bwl_err *e)
{
	struct bwl_grpc_stream *s = bwl_must(calloc(1, sizeof(*s)));
	int r;

	s->said = said;
	s->arg = arg;
	r = start(g, method, 0, s, e);
	if (r)
		bwl_grpc_stream_close(s);
	*ret = r ? NULL : s;
	return r;
}

int bwl_grpc_stream_say(struct bwl_grpc_stream *s, const void *ask, size_t len)
{
	if (s->out_sent < s->out_len)
		return -EAGAIN;
	set_out(s, ask, len);
	/* This may call said(), if something has arrived. */
	curl_easy_pause(s->easy, CURLPAUSE_CONT);
	return 0;
}

int bwl_grpc_stream_state(const struct bwl_grpc_stream *s, struct bwl_err *e)
{
	int r;

	if (!s->ended)
		return 0;
	r = ended(s, e);
	return r ? r : bwl_fail(e, EHOSTUNREACH, "%s: it ended the stream", s->g->server);
}

void bwl_grpc_stream_close(struct bwl_grpc_stream *s)
{
	if (!s)
		return;
	done(s);
	free(s);
}
