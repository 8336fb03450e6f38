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
	unsigned port;
} server;

static struct sockaddr_in loopback(unsigned port)
{
	return (struct sockaddr_in){ .sin_family = AF_INET,
				     .sin_addr.s_addr = htonl(INADDR_LOOPBACK),
				     .sin_port = htons((uint16_t)port) };
}

static int serve(int stop, int tell, struct web *w)
{
	struct web_conf c = { .documents = &web_node, .name = "n" };
	struct sockaddr_in at = loopback(0);
	socklen_t len = sizeof(at);
	struct bwl_err e = { 0 };
	int r;

	memcpy(&c.at, &at, sizeof(at));
	if (web_open(w, &c, &e) ||
	    getsockname(MHD_get_daemon_info(w->daemon, MHD_DAEMON_INFO_LISTEN_FD)->listen_fd,
			(struct sockaddr *)&at, &len) ||
	    write(tell, &at, sizeof(at)) != sizeof(at))
		return 1;
	memcpy(&c.at, &at, sizeof(at)); /* a Host field names it */
	r = web_run(w, stop, &e);
	web_close(w);
	return !!r;
}

static int start(void **state)
{
	struct web w = { 0 };
	struct sockaddr_in at;
	int pair[2], stop[2], tell[2];

	(void)state;
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
	server.port = ntohs(at.sin_port);
	return 0;
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

static int asks(const char *path)
{
	struct sockaddr_in at = loopback(server.port);
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	char head[256];
	int n = snprintf(head, sizeof(head),
			 "GET %s HTTP/1.1\r\nHost: 127.0.0.1:%u\r\nConnection: close\r\n"
			 "Accept: application/openmetrics-text; version=1.0.0\r\n\r\n",
			 path, server.port);

	assert_int_equal(connect(fd, (struct sockaddr *)&at, sizeof(at)), 0);
	assert_int_equal(send(fd, head, (size_t)n, MSG_NOSIGNAL), n);
	return fd;
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

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(what_those_who_hung_up_have_asked_is_not_asked,
						start, stop),
		cmocka_unit_test_setup_teardown(whoever_goes_who_waits_gets_what_he_has_asked_for,
						start, stop),
		cmocka_unit_test_setup_teardown(who_waits_does_not_keep_it_from_stopping, start,
						stop),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
