// SPDX-License-Identifier: GPL-2.0-or-later
/* A command's output, and its limits: only whole documents are passed on. */
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <linux/sockios.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>
#include "bwl/clock.h"
#include "web/asker.h"
#include "web/whole.h"
#include "../test.h"

static const struct asking_document table[] = {
	{ .name = "whole", .words = { "whole" } },
	{ .name = "cut", .words = { "cut" } },
	{ .name = "nothing", .words = { "nothing" } },
	{ .name = "killed", .words = { "killed" } },
	{ .name = "failed", .words = { "failed" } },
	{ .name = "text", .words = { "text" }, .text = true },
	{ .name = "killed-text", .words = { "killed" }, .text = true },
	{ .name = "asked", .words = { "whole" }, .options = { "size" } },
	{ .name = "long", .words = { "long" } },
	{ .name = "long-that-may", .words = { "long" } },
	{ .name = "goes-on", .words = { "top" } },
	{ .name = NULL },
};
static const struct web_document how[sizeof(table) / sizeof(*table)] = {
	[9] = { .is_big = true },   /* long-that-may */
	[10] = { .goes_on = true }, /* goes-on */
};
static const struct web_documents documents = { "fleet", table, how };

static const char program[] =
	"#!/bin/sh\n"
	"for w; do case $w in\n"
	"whole) echo '{\"kind\": \"a}\\\"\"}' ;;\n"
	"cut) printf '{\"kind\": \"x\", \"list\": [1, 2' ;;\n"
	"nothing) ;;\n"
	"killed) printf '{\"kind\": '; kill -9 $$ ;;\n"
	"failed) echo '{\"error\": {\"code\": \"ENOENT\"}}'; exit 1 ;;\n"
	"text) echo 'x 1' ;;\n"
	"long) printf '{\"x\": \"'; head -c 20000000 /dev/zero | tr '\\0' x; printf '\"}' ;;\n"
	"esac; done\n";

/* The clock of both processes: it stands still unless a test moves it. */
static uint64_t *clock_ns;

uint64_t bwl_now_ns(void)
{
	return *clock_ns;
}

static void pass(uint64_t ms)
{
	*clock_ns += ms * 1000000;
}

static struct asker asker;
static char path[] = "/tmp/bwl-asker-XXXXXX";

static int start(void **state)
{
	int fd = mkstemp(path);
	struct asker_conf c = { .documents = &documents, .program = path };
	struct bwl_err e = { 0 };

	(void)state;
	clock_ns = mmap(NULL, sizeof(*clock_ns), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS,
			-1, 0);
	if (clock_ns == MAP_FAILED)
		return -1;
	pass(1000);
	if (fd < 0 || write(fd, program, strlen(program)) != (ssize_t)strlen(program) ||
	    fchmod(fd, 0700))
		return -1;
	close(fd);
	return asker_start(&c, &asker, &e);
}

static int stop(void **state)
{
	(void)state;
	close(asker.fd);
	return unlink(path);
}

#define TRIES 300

static unsigned take(struct asker *a, char **ret, size_t *ret_len)
{
	struct pollfd p = { .fd = a->fd, .events = POLLIN };
	struct asker_head head;
	int r = 0;

	for (unsigned i = 0; !r && i < TRIES * 100; i++) {
		r = asker_take(a, &head, ret);
		if (!r && !poll(&p, 1, 1000))
			i += 99;
	}
	assert_int_equal(r, 1);
	*ret_len = head.len;
	return head.status;
}

static unsigned ask(const char *question, char **ret, size_t *ret_len)
{
	assert_int_equal(asker_ask(&asker, question), 0);
	return take(&asker, ret, ret_len);
}

static void is(const char *question, unsigned status, const char *has)
{
	char *text;
	size_t len;

	assert_int_equal(ask(question, &text, &len), status);
	if (!strstr(text, has))
		fail_msg("%s: %.200s", question, text);
	assert_true(!strcmp(question, "text") || whole_object(text, len));
	free(text);
}

static void what_is_no_whole_document_becomes_an_error_of_our_own(void **state)
{
	(void)state;
	is("whole", 200, "a}");
	is("asked?size=1tb", 200, "a}");
	is("failed", 404, "ENOENT");
	is("none", 404, "there is no such document");
	is("text", 200, "x 1");
	is("cut", 502, "\"EIO\"");
	is("nothing", 502, "\"EIO\"");
	is("killed", 502, "\"EIO\"");
	is("killed-text", 502, "\"EIO\"");
}

static void documents_that_may_be_are_longer(void **state)
{
	char *text;
	size_t len;

	(void)state;
	is("long", 502, "\"EFBIG\"");
	assert_int_equal(ask("long-that-may", &text, &len), 200);
	assert_int_equal(len, 20000000 + 9);
	free(text);
	for (unsigned i = 0; web_node.asking[i].name; i++)
		assert_int_equal(web_node.how[i].is_big,
				 !strcmp(web_node.asking[i].name, "policy") ||
					 !strcmp(web_node.asking[i].name, WEB_METRICS));
}

static void no_beginning_of_an_object_is_a_whole_one(void **state)
{
	static const char text[] = " {\"a\": [1, {\"b\": \"}]\\\\\"}, \"\\\"}\"], \"c\": {}}";

	(void)state;
	for (size_t n = 0; n < strlen(text); n++)
		assert_false(whole_object(text, n));
	assert_true(whole_object(text, strlen(text)));
	assert_true(whole_object("{}\n", 3));
	assert_false(whole_object("{}{}", 4));
	assert_false(whole_object("[]", 2));
	assert_false(whole_object("null", 4));
	assert_false(whole_object("{\"\\", 3));
}

/* bwlimitd's side: accepts a connection, reads the request, answers, and returns the connection. */
static int hear(int fd, const char *answer)
{
	int conn = accept(fd, NULL, NULL);
	char line[1024];

	assert_true(conn >= 0);
	assert_true(recv(conn, line, sizeof(line), 0) > 0);
	assert_int_equal(send(conn, answer, strlen(answer), MSG_NOSIGNAL), strlen(answer));
	return conn;
}

static void is_taken(struct asker *a, unsigned status, const char *has)
{
	char *text;
	size_t len;

	assert_int_equal(take(a, &text, &len), status);
	assert_non_null(strstr(text, has));
	free(text);
}

/* The other process has read all that was sent to it. */
static void is_read(int fd)
{
	int left = 1;

	for (unsigned i = 0; i < TRIES * 1000 && !ioctl(fd, SIOCOUTQ, &left) && left; i++)
		usleep(1000);
	assert_int_equal(left, 0);
}

/* bwlimitd sends that; when the second is read, all is done that the first, or a question, caused.
 */
static void says(int conn, const char *text)
{
	for (int i = 0; i < 2; i++) {
		assert_int_equal(send(conn, text, strlen(text), MSG_NOSIGNAL), strlen(text));
		is_read(conn);
	}
}

static bool is_open(int conn)
{
	char byte;

	return recv(conn, &byte, 1, MSG_DONTWAIT) < 0 && errno == EAGAIN;
}

static void what_goes_on_ends_when_nobody_asks_again_or_it_says_nothing(void **state)
{
	static const char line[] = "{\"kind\": \"top\"}\n";
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0), conn;
	struct sockaddr_un at = { .sun_family = AF_UNIX };
	struct bwl_err e = { 0 };
	struct asker a;
	char byte;

	(void)state;
	snprintf(at.sun_path, sizeof(at.sun_path), "%s.commands", path);
	assert_int_equal(bind(fd, (const struct sockaddr *)&at, sizeof(at)), 0);
	assert_int_equal(listen(fd, 4), 0);
	assert_int_equal(asker_start(&(struct asker_conf){ .documents = &documents,
							   .commands = at.sun_path },
				     &a, &e),
			 0);

	/* A lack of room is not the client's fault. */
	asker_ask(&a, "whole");
	close(hear(
		fd,
		"{\"error\": \"too many commands at the same time; try again\", \"busy\": true}\n"));
	is_taken(&a, 503, "\"EBUSY\"");
	asker_ask(&a, "goes-on");
	close(hear(
		fd,
		"{\"error\": \"too many commands at the same time; try again\", \"busy\": true}\n"));
	is_taken(&a, 503, "\"EBUSY\"");

	/* Lines keep coming, but nobody asks for one. */
	asker_ask(&a, "goes-on");
	conn = hear(fd, "{\"stream\": true}\n");
	send(conn, line, strlen(line), MSG_NOSIGNAL);
	is_taken(&a, 200, "top");
	pass(2999);
	says(conn, line);
	assert_true(is_open(conn));
	pass(1);
	send(conn, line, strlen(line), MSG_NOSIGNAL);
	assert_int_equal(recv(conn, &byte, 1, 0), 0);
	close(conn);

	asker_ask(&a, "goes-on");
	conn = hear(fd, "{\"stream\": true}\n"); /* but no line follows */
	is_read(a.fd);
	says(conn, " ");
	pass(4999);
	says(conn, " ");
	assert_true(is_open(conn));
	pass(1);
	send(conn, " ", 1, MSG_NOSIGNAL);
	is_taken(&a, 503, "\"ETIMEDOUT\"");
	assert_int_equal(recv(conn, &byte, 1, 0), 0);
	close(conn);
	close(a.fd);
	close(fd);
	unlink(at.sun_path);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_is_no_whole_document_becomes_an_error_of_our_own),
		cmocka_unit_test(documents_that_may_be_are_longer),
		cmocka_unit_test(what_goes_on_ends_when_nobody_asks_again_or_it_says_nothing),
		cmocka_unit_test(no_beginning_of_an_object_is_a_whole_one),
	};

	return cmocka_run_group_tests(tests, start, stop);
}
