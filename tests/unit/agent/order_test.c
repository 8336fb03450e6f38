// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The socket of orders, by an injected clock: who says nothing, half or too much holds up nobody.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <errno.h>
#include <cmocka.h>
#include "agent/order_socket.h"

static char path[80];
static struct orders *o;
static unsigned closed, opened;

static json_t *do_close(void *arg, const json_t *ask)
{
	(void)ask;
	closed++;
	return json_pack("{s:s}", "did", arg);
}

static json_t *do_open(void *arg, const json_t *ask)
{
	(void)ask;
	opened++;
	return json_pack("{s:s}", "did", arg);
}

static const struct order_verb verbs[] = {
	{ "close", true, do_close },
	{ "open", false, do_open },
	{ NULL, false, NULL },
};

static int set_up(void **state)
{
	struct bwl_err e = { 0 };

	(void)state;
	snprintf(path, sizeof(path), "/tmp/bwl-order-%d.sock", (int)getpid());
	closed = opened = 0;
	assert_int_equal(orders_open(path, verbs, (void *)"it", &o, &e), 0);
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	orders_close(o);
	assert_int_equal(access(path, F_OK), -1);
	return 0;
}

static int dial(void)
{
	struct sockaddr_un at = { .sun_family = AF_UNIX };
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);

	strcpy(at.sun_path, path);
	assert_int_equal(connect(fd, (struct sockaddr *)&at, sizeof(at)), 0);
	return fd;
}

static void tell(int fd, const char *text)
{
	assert_int_equal(send(fd, text, strlen(text), MSG_NOSIGNAL), strlen(text));
}

/* What has come, "" where the other side hung up, NULL where it has said nothing yet. */
static const char *heard(int fd)
{
	static char buf[BWL_AGENT_LINE + 1];
	ssize_t n = recv(fd, buf, sizeof(buf) - 1, MSG_DONTWAIT);

	if (n < 0)
		return NULL;
	buf[n] = '\0';
	return buf;
}

#define CLOSE "{\"verb\":\"close\"}\n"
#define OPEN "{\"verb\":\"open\"}\n"
#define DID "{\"did\":\"it\"}\n"

static void one_request_has_one_answer_and_then_it_hangs_up(void **state)
{
	int fd = dial();
	struct pollfd p = { .fd = orders_fd(o), .events = POLLIN };

	(void)state;
	tell(fd, CLOSE);
	assert_int_equal(poll(&p, 1, 0), 1);
	orders_run(o, 1);
	assert_string_equal(heard(fd), DID);
	assert_string_equal(heard(fd), "");
	assert_int_equal(closed, 1);
	close(fd);
}

static void a_request_may_come_byte_by_byte(void **state)
{
	int fd = dial();

	(void)state;
	for (const char *s = OPEN; *s; s++) {
		char one[2] = { *s, '\0' };

		tell(fd, one);
		orders_run(o, 1);
		if (s[1])
			assert_null(heard(fd));
	}
	assert_string_equal(heard(fd), DID);
	assert_int_equal(opened, 1);
	close(fd);
}

static void what_is_no_request_is_refused_with_a_reason(void **state)
{
	static const char *const bad[] = { "\n",
					   "{}\n",
					   "[]\n",
					   "close\n",
					   "{\"verb\":7}\n",
					   "{\"verb\":\"fly\"}\n",
					   "{\"verb\":\"close\",\"verb\":\"open\"}\n",
					   CLOSE CLOSE,
					   CLOSE "x" };
	char *big = malloc(BWL_AGENT_LINE + 1);

	(void)state;
	for (unsigned i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		int fd = dial();

		tell(fd, bad[i]);
		orders_run(o, 1);
		assert_non_null(strstr(heard(fd), "\"error\""));
		close(fd);
	}
	memset(big, ' ', BWL_AGENT_LINE);
	big[BWL_AGENT_LINE] = '\0';
	for (unsigned i = 0; i < 2; i++) {
		int fd = dial();

		tell(fd, big);
		orders_run(o, 1);
		orders_run(o, 1);
		assert_non_null(strstr(heard(fd), "too long"));
		close(fd);
	}
	free(big);
	assert_int_equal(closed + opened, 0);
}

static void who_says_nothing_or_half_is_dropped_in_time_and_nothing_is_done(void **state)
{
	int silent = dial(), half = dial(), left = dial();

	(void)state;
	tell(half, "{\"verb\":\"close\"");
	tell(left, "{\"verb\":\"close\"}");
	close(left); /* without a newline */
	orders_run(o, 5);
	orders_run(o, 5 + LINE_NS);
	assert_null(heard(silent));
	assert_null(heard(half));
	orders_run(o, 6 + LINE_NS);
	assert_string_equal(heard(silent), "");
	assert_string_equal(heard(half), "");
	assert_int_equal(closed, 0);
	close(silent);
	close(half);
}

static void for_who_has_gone_it_closes_and_does_not_open(void **state)
{
	int fd = dial();

	(void)state;
	tell(fd, OPEN);
	close(fd);
	fd = dial();
	tell(fd, CLOSE);
	close(fd);
	orders_run(o, 1);
	assert_int_equal(opened, 0);
	assert_int_equal(closed, 1);
}

static void a_hundred_who_say_nothing_keep_no_order_out(void **state)
{
	int silent[100], fd;

	(void)state;
	for (unsigned i = 0; i < 100; i++)
		silent[i] = dial();
	fd = dial();
	tell(fd, CLOSE);
	orders_run(o, 1);
	orders_run(o, 1);
	assert_string_equal(heard(fd), DID);
	close(fd);
	/* and one that connects first and asks last, while there is room for it */
	fd = dial();
	orders_run(o, 2);
	tell(fd, OPEN);
	orders_run(o, 3);
	assert_string_equal(heard(fd), DID);
	close(fd);
	for (unsigned i = 0; i < 100; i++)
		close(silent[i]);
	orders_run(o, 4);
	fd = dial();
	tell(fd, CLOSE);
	orders_run(o, 5);
	assert_string_equal(heard(fd), DID);
	close(fd);
}

static void the_socket_of_one_that_was_killed_is_replaced(void **state)
{
	struct bwl_err e = { 0 };
	struct orders *next;
	int fd;

	(void)state;
	assert_int_equal(orders_open(path, verbs, (void *)"next", &next, &e), 0);
	fd = dial();
	tell(fd, CLOSE);
	orders_run(o, 1);
	assert_null(heard(fd));
	orders_run(next, 1);
	assert_string_equal(heard(fd), "{\"did\":\"next\"}\n");
	close(fd);
	orders_close(next);
	assert_int_equal(orders_open("/nonexistent/x.sock", verbs, NULL, &next, &e), -ENOENT);
	assert_null(next);
}

static void who_ends_leaves_the_socket_of_who_took_its_place(void **state)
{
	struct bwl_err e = { 0 };
	struct orders *next;
	int fd;

	(void)state;
	assert_int_equal(orders_open(path, verbs, (void *)"next", &next, &e), 0);
	orders_close(o);
	o = next;
	fd = dial();
	tell(fd, CLOSE);
	orders_run(o, 1);
	assert_string_equal(heard(fd), "{\"did\":\"next\"}\n");
	close(fd);
}

int main(void)
{
#define T(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)
	const struct CMUnitTest tests[] = {
		T(one_request_has_one_answer_and_then_it_hangs_up),
		T(a_request_may_come_byte_by_byte),
		T(what_is_no_request_is_refused_with_a_reason),
		T(who_says_nothing_or_half_is_dropped_in_time_and_nothing_is_done),
		T(for_who_has_gone_it_closes_and_does_not_open),
		T(a_hundred_who_say_nothing_keep_no_order_out),
		T(the_socket_of_one_that_was_killed_is_replaced),
		T(who_ends_leaves_the_socket_of_who_took_its_place),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
