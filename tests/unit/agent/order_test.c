// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The socket of orders, with an injected clock: a client that sends nothing, half a request or too
 * much delays no other.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include <errno.h>
#include <cmocka.h>
#include "bwl/fds.h"
#include "client.h"
#include "agent/order_socket.h"

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

static int doc_taken = -1, conn_taken = -1;
static bool busy;

static json_t *do_take(void *arg, const json_t *ask, int doc, int conn)
{
	(void)arg, (void)ask;
	if (busy)
		return json_pack("{s:s}", "error", "busy");
	doc_taken = doc;
	conn_taken = conn;
	return NULL;
}

static const struct order_verb verbs[] = {
	{ .name = "close", .closes = true, .run = do_close },
	{ .name = "open", .run = do_open },
	{ .name = "take", .take = do_take },
	{ .name = NULL },
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
	/* and a client that connects first and asks last, while there is room for it */
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

/* Sends the text with n descriptors. The caller closes its own. */
static void tell_with(int fd, const char *text, const int *doc, size_t n)
{
	assert_int_equal(bwl_send_fds(fd, text, strlen(text), doc, n, 0), strlen(text));
}

/* `to` is the reading end of a pipe. Is every copy of the other end closed? */
static bool is_closed_everywhere(int to)
{
	struct pollfd p = { .fd = to, .events = POLLIN };

	return poll(&p, 1, 0) == 1 && (p.revents & POLLHUP);
}

#define TAKE "{\"verb\":\"take\"}\n"

/* A memfd as documents are, which is closed for good when its file has no other name left. */
static int sealed(void)
{
	int fd = memfd_create("t", MFD_CLOEXEC | MFD_ALLOW_SEALING);

	assert_int_equal(write(fd, "policy", 6), 6);
	assert_int_equal(fcntl(fd, F_ADD_SEALS, BWL_AGENT_SEALS), 0);
	return fd;
}

static void a_document_is_handed_over_with_its_connection(void **state)
{
	int fd = dial(), doc = sealed();
	char buf[8];

	(void)state;
	busy = false;
	tell_with(fd, TAKE, &doc, 1);
	close(doc);
	orders_run(o, 1);
	assert_true(conn_taken >= 0 && doc_taken >= 0);
	assert_null(heard(fd));
	orders_run(o, 2 + 2 * LINE_NS); /* silent clients are dropped now */
	assert_null(heard(fd));
	assert_int_equal(pread(doc_taken, buf, sizeof(buf), 0), 6);
	line_say(conn_taken, json_pack("{s:b}", "taken", 1));
	line_say(conn_taken, json_pack("{s:s}", "did", "it"));
	assert_string_equal(heard(fd), "{\"taken\":true}\n" DID);
	assert_false(line_has_gone(conn_taken));
	close(fd);
	assert_true(line_has_gone(conn_taken));
	close(conn_taken);
	close(doc_taken);
}

static void what_is_no_sealed_memory_is_no_document(void **state)
{
	int to[2], other[4];

	(void)state;
	assert_int_equal(pipe(to), 0);
	other[0] = to[1];
	other[1] = memfd_create("t", MFD_CLOEXEC | MFD_ALLOW_SEALING); /* it can be changed */
	other[2] = open("/", O_RDONLY | O_CLOEXEC);
	other[3] = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	for (unsigned i = 0; i < 4; i++) {
		int fd = dial();

		doc_taken = -1;
		busy = false;
		tell_with(fd, TAKE, &other[i], 1);
		close(other[i]);
		orders_run(o, 1);
		assert_non_null(strstr(heard(fd), "must be a sealed memfd"));
		assert_int_equal(doc_taken, -1);
		close(fd);
	}
	assert_true(is_closed_everywhere(to[0]));
	close(to[0]);
}

static void what_is_refused_leaves_no_descriptor_behind(void **state)
{
	static const struct {
		const char *text;
		size_t n;
		bool busy, answered;
	} bad[] = { { OPEN, 1, false, true },   { TAKE, 1, true, true },
		    { "{}\n", 1, false, true }, { TAKE, 2, false, false },
		    { TAKE, 3, false, false },  { "{\"verb\":\"take\"", 1, false, false } };

	(void)state;
	for (unsigned i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		int fd = dial(), to[2], many[3];

		assert_int_equal(pipe(to), 0);
		busy = bad[i].busy;
		doc_taken = -1;
		many[0] = many[1] = many[2] = to[1];
		tell_with(fd, bad[i].text, many, bad[i].n);
		close(to[1]);
		orders_run(o, 1);
		if (bad[i].answered)
			assert_non_null(strstr(heard(fd), "\"error\""));
		orders_run(o, 2 + LINE_NS);
		assert_int_equal(doc_taken, -1);
		assert_true(is_closed_everywhere(to[0]));
		close(to[0]);
		close(fd);
	}
	assert_int_equal(opened, 0);
}

static void a_document_that_is_asked_for_must_come(void **state)
{
	int fd = dial();

	(void)state;
	doc_taken = -1;
	tell(fd, TAKE);
	orders_run(o, 1);
	assert_non_null(strstr(heard(fd), "document is missing"));
	assert_int_equal(doc_taken, -1);
	close(fd);
}

static void a_document_is_not_taken_for_who_has_gone(void **state)
{
	int fd = dial(), to[2];

	(void)state;
	busy = false;
	doc_taken = -1;
	assert_int_equal(pipe(to), 0);
	tell_with(fd, TAKE, &to[1], 1);
	close(to[1]);
	close(fd);
	orders_run(o, 1);
	assert_int_equal(doc_taken, -1);
	assert_true(is_closed_everywhere(to[0]));
	close(to[0]);
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
		T(a_document_is_handed_over_with_its_connection),
		T(what_is_no_sealed_memory_is_no_document),
		T(what_is_refused_leaves_no_descriptor_behind),
		T(a_document_that_is_asked_for_must_come),
		T(a_document_is_not_taken_for_who_has_gone),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
