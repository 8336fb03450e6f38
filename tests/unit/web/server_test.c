// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The server in a separate process; this process is on both sides of it: clients that ask, hang up
 * or are slow, and the askers that the server uses. Every client that waits gets what it asked for,
 * whichever others leave.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>
#include "web/web.h"
#include "../test.h"

#define WAIT_MS 60000
#define ASKER 1 /* for all documents but top */
#define CLIENTS 40
#define LONG (CACHE_BYTES / 32) /* an answer's length: not all answers can be kept */

static struct {
	pid_t pid;
	int asker[WEB_ASKERS], stop;
	int family;
	unsigned port;
} server;

/* host: 1 or more, of IPv4; IPv6 has one address of loopback. */
static struct sockaddr_storage loopback(unsigned host, unsigned port)
{
	struct sockaddr_in v4 = { .sin_family = AF_INET,
				  .sin_addr.s_addr = htonl(INADDR_LOOPBACK + host - 1),
				  .sin_port = htons((uint16_t)port) };
	struct sockaddr_in6 v6 = { .sin6_family = AF_INET6,
				   .sin6_addr = in6addr_loopback,
				   .sin6_port = htons((uint16_t)port) };
	struct sockaddr_storage at = { 0 };

	if (server.family == AF_INET6)
		memcpy(&at, &v6, sizeof(v6));
	else
		memcpy(&at, &v4, sizeof(v4));
	return at;
}

static int serve(int stop, int tell, struct web *w)
{
	struct web_conf c = { .documents = &web_node, .name = "n", .hosts = { "localhost" } };
	socklen_t len = sizeof(c.at);
	struct bwl_err e = { 0 };
	int r;

	c.at = loopback(1, 0);
	if (web_open(w, &c, &e) ||
	    getsockname(MHD_get_daemon_info(w->daemon, MHD_DAEMON_INFO_LISTEN_FD)->listen_fd,
			(struct sockaddr *)&c.at, &len) || /* a Host field names it */
	    write(tell, &c.at, sizeof(c.at)) != sizeof(c.at))
		return 1;
	r = web_run(w, stop, &e);
	web_close(w);
	return !!r;
}

static int begin(int family)
{
	struct web w = { 0 };
	struct sockaddr_storage at;
	int pair[2], stop[2], tell[2];

	server.family = family;
	for (unsigned i = 0; i < WEB_ASKERS; i++) {
		if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair))
			return -1;
		w.asker[i].fd = pair[0];
		server.asker[i] = pair[1];
	}
	if (pipe(stop) || pipe(tell))
		return -1;
	server.stop = stop[1];
	server.pid = fork();
	if (!server.pid) {
		close(stop[1]);
		for (unsigned i = 0; i < WEB_ASKERS; i++)
			close(server.asker[i]);
		_exit(serve(stop[0], tell[1], &w));
	}
	close(stop[0]);
	close(tell[1]);
	for (unsigned i = 0; i < WEB_ASKERS; i++)
		close(w.asker[i].fd);
	if (server.pid < 0 || read(tell[0], &at, sizeof(at)) != sizeof(at))
		return -1;
	close(tell[0]);
	server.port = ntohs(((struct sockaddr_in *)&at)->sin_port); /* IPv6 has it there, too */
	return 0;
}

static int start(void **state)
{
	(void)state;
	return begin(AF_INET);
}

static int start6(void **state)
{
	(void)state;
	return begin(AF_INET6);
}

/* The server must end by itself when it is told to stop. */
static int stop(void **state)
{
	int status = -1;

	(void)state;
	if (server.stop >= 0)
		close(server.stop);
	waitpid(server.pid, &status, 0);
	for (unsigned i = 0; i < WEB_ASKERS; i++)
		close(server.asker[i]);
	return status;
}

static int dials(unsigned host)
{
	struct sockaddr_storage from = loopback(host, 0), at = loopback(1, server.port);
	int fd = socket(server.family, SOCK_STREAM | SOCK_CLOEXEC, 0);

	assert_int_equal(bind(fd, (struct sockaddr *)&from, sizeof(from)), 0);
	assert_int_equal(connect(fd, (struct sockaddr *)&at, sizeof(at)), 0);
	return fd;
}

static int asks_from(unsigned host, const char *path)
{
	char head[256];
	int fd = dials(host),
	    n = snprintf(head, sizeof(head),
			 "GET %s HTTP/1.1\r\nHost: %s:%u\r\nConnection: close\r\n"
			 "Accept: application/openmetrics-text; version=1.0.0\r\n\r\n",
			 path, server.family == AF_INET6 ? "[::1]" : "127.0.0.1", server.port);

	assert_int_equal(send(fd, head, (size_t)n, MSG_NOSIGNAL), n);
	return fd;
}

static int asks(const char *path)
{
	return asks_from(1, path);
}

static bool is_there(int fd, int ms)
{
	struct pollfd p = { .fd = fd, .events = POLLIN };

	return poll(&p, 1, ms) > 0;
}

/* Reads the next question into `question`. */
static void is_asked(unsigned i, char *question, size_t size)
{
	ssize_t n;

	assert_true(is_there(server.asker[i], WAIT_MS));
	n = recv(server.asker[i], question, size - 1, 0);
	assert_true(n > 0);
	question[n] = '\0';
}

/* Answers with a document of about that length, which names its question. */
static void answers(unsigned i, const char *question, size_t len)
{
	char *text = malloc(len + 128);
	size_t n = (size_t)sprintf(text,
				   strcmp(question, WEB_METRICS) ? "{\"q\":\"%s\",\"x\":\""
								 : "%s 1\n",
				   question);
	struct asker_head head = { .status = 200 };

	if (*text == '{') {
		memset(text + n, 'x', len);
		memcpy(text + n + len, "\"}", 2);
		n += len + 2;
	}
	head.len = (uint32_t)n;
	assert_int_equal(send(server.asker[i], &head, sizeof(head), MSG_NOSIGNAL), sizeof(head));
	for (size_t at = 0; at < n; at += 32768) {
		size_t part = n - at < 32768 ? n - at : 32768;

		assert_int_equal(send(server.asker[i], text + at, part, MSG_NOSIGNAL), part);
	}
	free(text);
}

/* Reads an answer until its end. */
static void gets(int fd, const char *status, const char *has)
{
	char *text = calloc(1, 4096);
	size_t len = 0, room = 4096;
	ssize_t n;

	do {
		if (room - len < 4096)
			text = realloc(text, room *= 2);
		assert_true(is_there(fd, WAIT_MS));
		n = recv(fd, text + len, room - len - 1, 0);
		len += n > 0 ? (size_t)n : 0;
	} while (n > 0);
	text[len] = '\0';
	if (strncmp(text + 9, status, 3) || !memmem(text, len, has, strlen(has)))
		fail_msg("not %s with %s: %.600s", status, has, text);
	free(text);
	close(fd);
}

static void what_those_who_hung_up_have_asked_is_not_asked(void **state)
{
	char question[256];
	int one, other, gone, last;

	(void)state;
	one = asks("/api/v1/exfil?size=1tb");
	is_asked(ASKER, question, sizeof(question));
	assert_string_equal(question, "exfil?size=1tb");
	other = asks("/api/v1/exfil?size=1tb");
	gone = asks("/api/v1/grants");
	gets(asks("/api/v1/"), "200", "\"api\""); /* so the server has read everything before */
	close(gone);
	close(one);
	last = asks("/api/v1/lease");
	gets(asks("/api/v1/"), "200", "\"api\"");
	answers(ASKER, "exfil?size=1tb", 10);
	gets(other, "200", "\"q\":\"exfil?size=1tb\"");
	is_asked(ASKER, question, sizeof(question));
	assert_string_equal(question, "lease");
	answers(ASKER, "lease", 10);
	gets(last, "200", "\"q\":\"lease\"");
}

struct client {
	int fd; /* 0: none */
	char has[160];
};

static void comes(struct client *x, uint64_t *random)
{
	static const char *const names[] = { "stats", "usage", "lease", "policy" };
	char path[128];

	switch (test_random(random) % 5) {
	case 0:
		strcpy(path, "/metrics");
		strcpy(x->has, "# EOF");
		break;
	case 1:
		strcpy(path, "/api/v1/stream?documents=stats,usage,peers");
		strcpy(x->has, "");
		break;
	case 2:
		snprintf(path, sizeof(path), "/api/v1/%s", names[test_random(random) % 4]);
		snprintf(x->has, sizeof(x->has), "\"q\":\"%s\"", path + 8);
		break;
	default:
		snprintf(path, sizeof(path), "/api/v1/peer?name=p%u",
			 (unsigned)(test_random(random) % 60));
		snprintf(x->has, sizeof(x->has), "\"q\":\"%s\"", path + 8);
	}
	x->fd = asks(path);
}

static void goes(struct client *x)
{
	close(x->fd);
	x->fd = 0;
}

static void answer_what_is_asked(uint64_t *random)
{
	char question[256];

	for (unsigned i = 0; i < WEB_ASKERS; i++)
		if (is_there(server.asker[i], 0)) {
			is_asked(i, question, sizeof(question));
			answers(i, question, LONG + test_random(random) % LONG);
		}
}

static void whoever_goes_who_waits_gets_what_he_has_asked_for(void **state)
{
	static struct client client[CLIENTS];
	uint64_t random = 7;

	(void)state;
	for (unsigned i = 0; i < 1500; i++) {
		struct client *x = &client[test_random(&random) % CLIENTS];

		if (!x->fd)
			comes(x, &random);
		else if (test_random(&random) % 2)
			goes(x);
		if (test_random(&random) % 3 == 0)
			answer_what_is_asked(&random);
	}
	for (unsigned i = 0; i < CLIENTS; i++) {
		if (!client[i].fd)
			continue;
		for (unsigned k = 0; *client[i].has && !is_there(client[i].fd, 10); k++) {
			assert_true(k < WAIT_MS / 10);
			answer_what_is_asked(&random);
		}
		if (*client[i].has)
			gets(client[i].fd, "200", client[i].has);
		else
			close(client[i].fd);
	}
}

static void who_waits_does_not_keep_it_from_stopping(void **state)
{
	char question[256];
	int fd = asks("/api/v1/stats");

	(void)state;
	is_asked(ASKER, question, sizeof(question));
	close(server.stop);
	server.stop = -1;
	gets(fd, "503", "ESHUTDOWN");
}

/* Reads the beginning of an answer whose end is far. */
static void begins_with(int fd, const char *status)
{
	char text[16] = "";

	assert_true(is_there(fd, WAIT_MS));
	assert_int_equal(recv(fd, text, 12, MSG_WAITALL), 12);
	assert_string_equal(text + 9, status);
}

static bool is_open(int fd)
{
	char text[4096];
	ssize_t n;

	do
		n = recv(fd, text, sizeof(text), MSG_DONTWAIT);
	while (n > 0);
	return n < 0 && errno == EAGAIN;
}

/* Another client, and another program of the same. */
static void who_holds_all_streams_keeps_nobody_out(void **state)
{
	static const char path[] = "/api/v1/stream?documents=stats";
	int holds[WEB_STREAMS], other, same;
	unsigned left = 0;

	(void)state;
	for (unsigned i = 0; i < WEB_STREAMS; i++) {
		holds[i] = asks(path);
		begins_with(holds[i], "200");
	}
	for (unsigned i = 0; i < WEB_STREAMS; i++)
		assert_true(is_open(holds[i]));
	other = asks_from(2, path);
	begins_with(other, "200");
	same = asks(path);
	begins_with(same, "200");
	gets(asks("/api/v1/"), "200", "\"api\""); /* so those that end have ended */
	for (unsigned i = 0; i < WEB_STREAMS; i++) {
		left += is_open(holds[i]);
		close(holds[i]);
	}
	assert_int_equal(left, WEB_STREAMS - 2);
	assert_true(is_open(other) && is_open(same));
	close(other);
	close(same);
}

static void who_has_all_places_for_questions_keeps_nobody_out(void **state)
{
	char question[256], path[64];
	int holds[CACHE_QUERIES], other;
	unsigned refused = 0;

	(void)state;
	for (unsigned i = 0; i < CACHE_QUERIES; i++) {
		snprintf(path, sizeof(path), "/api/v1/peer?name=p%u", i);
		holds[i] = asks(path);
	}
	is_asked(ASKER, question, sizeof(question));
	gets(asks("/api/v1/"), "200", "\"api\""); /* so the server has read them all */
	other = asks_from(2, "/api/v1/peer?name=other");
	gets(asks("/api/v1/"), "200", "\"api\"");
	answers(ASKER, question, 10);
	is_asked(ASKER, question, sizeof(question));
	if (server.family == AF_INET) { /* it is another client: it has the next turn */
		assert_string_equal(question, "peer?name=other");
		answers(ASKER, question, 10);
		gets(other, "200", "\"q\":\"peer?name=other\"");
	} else { /* it is the same, and there was room */
		assert_false(is_there(other, 0));
		close(other);
	}
	for (unsigned i = 0; i < CACHE_QUERIES; i++) {
		struct pollfd p = { .fd = holds[i], .events = POLLIN };

		if (poll(&p, 1, 0) > 0 && recv(holds[i], path, 12, MSG_WAITALL) == 12)
			refused += !memcmp(path + 9, "503", 3);
		close(holds[i]);
	}
	assert_int_equal(refused, 1);
}

struct head {
	const char *text;
	size_t len;
};
#define TEXT(text)                                                                                 \
	{                                                                                          \
		text, sizeof(text) - 1                                                             \
	}
#define LINES(target, ...) TEXT("GET " target " HTTP/1.1\r\nHost: localhost\r\n" __VA_ARGS__ "\r\n")
#define API "/api/v1/"

/* In two parts, so that it does not arrive at once. */
static int says(const struct head *h, size_t first)
{
	int fd = dials(1);

	assert_int_equal(send(fd, h->text, first, MSG_NOSIGNAL), first);
	if (first < h->len)
		assert_int_equal(send(fd, h->text + first, h->len - first, MSG_NOSIGNAL),
				 h->len - first);
	return fd;
}

static void a_head_that_is_not_well_formed_is_refused(void **state)
{
	static const struct head bad[] = {
		LINES(API, "Content-Length : 5\r\n"),
		LINES(API, "Content-Length\t: 5\r\n"),
		LINES(API, "Transfer-Encoding : chunked\r\n"),
		LINES(API, "X : a\r\nY: b\r\n"),
		LINES(API, " X: a\r\nY: b\r\n"),
		LINES(API, "X: a\r\n b\r\n"),
		LINES(API, "X: a\r\n\tb\r\nY: b\r\n"),
		LINES(API, "X: a\rY: b\r\n"),
		LINES(API, "X: a\nY: b\r\n"),
		LINES(API, "X: a\n"),
		LINES(API, "X: a\0b\r\n"),
		LINES(API, "X: a\0b\r\nY: c\r\n"),
		LINES(API, "X\0: a\r\n"),
		LINES(API, "X\r\n"),
		LINES(API, ": a\r\n"),
		LINES(API, "X: a\x01\r\n"),
		LINES(API, "Host: localhost\r\n"),
		LINES(API, "Content-Length: 0\r\nContent-Length: 5\r\n"),
		LINES(API, "Content-Length: 5\r\nContent-Length: 5\r\n"),
		LINES(API, "Content-Length: -1\r\n"),
		LINES(API, "Content-Length: +1\r\n"),
		LINES("/%00", ""),
		LINES(API "%00x", ""),
		LINES("/index.html%00.js", ""),
		LINES(API "?x=%00", ""),
		LINES(API "%0d%0a", ""),
		LINES(API "%7F", ""),
		LINES(API "%", ""),
		LINES(API "%2", ""),
		LINES(API "?x=%zz", ""),
		LINES(API "\0x", ""),
		LINES(API "\x01", ""),
		TEXT("GET " API " HTTP/1.1\nHost: localhost\n\n"),
	};

	(void)state;
	for (unsigned i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
		int fd = says(&bad[i], i % bad[i].len);

		gets(fd, "400", "\r\n\r\n"); /* and the connection ends */
	}
}

static void a_body_is_refused_however_its_length_is_given(void **state)
{
	static const struct head bad[] = {
		LINES(API, "Content-Length: 0\r\n"),
		LINES(API, "Content-Length: 5\r\n"),
		LINES(API, "Content-Length: 99999999999999999999999\r\n"),
		LINES(API, "Transfer-Encoding: chunked\r\n"),
		LINES(API, "Content-Length: 5\r\nTransfer-Encoding: chunked\r\n"),
		LINES(API, "Transfer-Encoding: chunked, identity\r\n"),
	};

	(void)state;
	for (unsigned i = 0; i < sizeof(bad) / sizeof(*bad); i++)
		gets(says(&bad[i], bad[i].len), "413", "\r\n\r\n");
}

static void a_head_that_is_well_formed_is_answered(void **state)
{
	static const struct head good[] = {
		LINES(API, "Connection: close\r\n"),
		LINES(API, "X:\r\nY: \t a\tb  \r\nZ: \xc3\xa4\r\nConnection: close\r\n"),
		LINES(API "?x=%20%c3%a4+%25",
		      "X!#$%&'*+-.^_`|~: a\r\nX: b\r\nX: c\r\nConnection:close\r\n"),
		TEXT("\r\nGET " API " HTTP/1.0\r\nHost: localhost\r\n\r\n"),
		/* two requests, and the second is answered as the first is */
		LINES(API, "\r\nGET " API " HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n"),
	};
	char large[12000];
	struct head slow = { large, 0 };

	(void)state;
	for (unsigned i = 0; i < sizeof(good) / sizeof(*good); i++)
		for (size_t at = 1; at <= good[i].len; at++)
			gets(says(&good[i], at), "200", "\"api\"");
	slow.len = (size_t)sprintf(large, "GET " API " HTTP/1.1\r\nHost: localhost\r\n");
	while (slow.len < sizeof(large) - 1200) /* libmicrohttpd's buffer grows meanwhile */
		slow.len += (size_t)sprintf(large + slow.len, "X-Large: %0*u\r\n", 1000, 1);
	slow.len += (size_t)sprintf(large + slow.len, "Connection: close\r\n\r\n");
	for (size_t at = 100; at < slow.len; at += 997)
		gets(says(&slow, at), "200", "\"api\"");
}

int main(void)
{
#define BOTH(name)                                                                                 \
	{ #name ": IPv4", name, start, stop, NULL },                                               \
	{                                                                                          \
#name ": IPv6", name, start6, stop, NULL                                           \
	}
	const struct CMUnitTest tests[] = {
		BOTH(who_holds_all_streams_keeps_nobody_out),
		BOTH(who_has_all_places_for_questions_keeps_nobody_out),
		cmocka_unit_test_setup_teardown(a_head_that_is_not_well_formed_is_refused, start,
						stop),
		cmocka_unit_test_setup_teardown(a_body_is_refused_however_its_length_is_given,
						start, stop),
		cmocka_unit_test_setup_teardown(a_head_that_is_well_formed_is_answered, start,
						stop),
		cmocka_unit_test_setup_teardown(what_those_who_hung_up_have_asked_is_not_asked,
						start, stop),
		cmocka_unit_test_setup_teardown(whoever_goes_who_waits_gets_what_he_has_asked_for,
						start, stop),
		cmocka_unit_test_setup_teardown(who_waits_does_not_keep_it_from_stopping, start,
						stop),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
