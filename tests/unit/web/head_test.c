// SPDX-License-Identifier: GPL-2.0-or-later
/* Host, Accept, lists of documents. */
#include <arpa/inet.h>
#include <string.h>
#include "web/head.h"
#include "../test.h"

static const char *const names[] = { "localhost", "tray-7.example", NULL };

static bool v4(const char *host)
{
	struct sockaddr_in at = { .sin_family = AF_INET, .sin_port = htons(9650) };

	inet_pton(AF_INET, "127.0.0.1", &at.sin_addr);
	return head_is_our_host(host, (struct sockaddr *)&at, names);
}

static bool v6(const char *host)
{
	struct sockaddr_in6 at = { .sin6_family = AF_INET6, .sin6_port = htons(9650) };

	inet_pton(AF_INET6, "fd00::7", &at.sin6_addr);
	return head_is_our_host(host, (struct sockaddr *)&at, names);
}

static void the_host_is_what_is_listened_on(void **state)
{
	const char *const bad[] = { "",
				    ":",
				    ":9650",
				    "evil.example",
				    "evil.example:9650",
				    "127.0.0.1:80",
				    "127.0.0.1:9650:9650",
				    "127.0.0.1:",
				    "127.0.0.2:9650",
				    "127.1:9650",
				    "localhost.evil.example:9650",
				    "localhost:",
				    "localhos",
				    "[127.0.0.1]:9650",
				    "[::1]:9650",
				    "[",
				    "]",
				    "[]:9650",
				    "127.0.0.1 :9650" };

	(void)state;
	assert_true(v4("127.0.0.1:9650"));
	assert_true(v4("127.0.0.1"));
	assert_true(v4("localhost:9650"));
	assert_true(v4("LOCALHOST"));
	assert_true(v4("tray-7.example:9650"));
	for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++)
		assert_false(v4(bad[i]));
	assert_true(v6("[fd00::7]:9650"));
	assert_true(v6("[FD00:0::7]"));
	assert_true(v6("localhost"));
	assert_false(v6("[fd00::8]:9650"));
	assert_false(v6("[fd00::7]:80"));
	assert_false(v6("[fd00::7"));
	assert_false(v6("fd00::7"));
}

static void openmetrics_goes_to_who_prefers_it(void **state)
{
	(void)state;
	assert_true(head_wants_openmetrics("application/openmetrics-text"));
	assert_true(head_wants_openmetrics(
		"text/plain;q=0.5, application/openmetrics-text;version=1.0.0"));
	assert_true(head_wants_openmetrics(
		"application/openmetrics-text;version=1.0.0;q=0.6,text/plain;version=0.0.4;q=0.3,*/*;q=0.2"));
	assert_true(head_wants_openmetrics("text/plain, application/openmetrics-text"));
	assert_false(head_wants_openmetrics(""));
	assert_false(head_wants_openmetrics("*/*"));
	assert_false(head_wants_openmetrics("text/html"));
	assert_false(head_wants_openmetrics("text/plain, application/openmetrics-text;q=0.9"));
	assert_false(head_wants_openmetrics("application/openmetrics-text;q=0"));
	assert_false(head_wants_openmetrics(",,;q=,"));
}

static bool count(void *arg, const char *word)
{
	++*(unsigned *)arg;
	return strcmp(word, "no");
}

static void a_list_has_words(void **state)
{
	unsigned n = 0;

	(void)state;
	assert_true(head_each_word("top", count, &n));
	assert_true(head_each_word("top,status,usage", count, &n));
	assert_int_equal(n, 4);
	assert_false(head_each_word("", count, &n));
	assert_false(head_each_word(",", count, &n));
	assert_false(head_each_word("top,", count, &n));
	assert_false(head_each_word("top,no,usage", count, &n));
	assert_false(head_each_word("a-word-that-is-longer-than-any-of-them", count, &n));
}

static void a_stream_is_told_at_most_once_a_second(void **state)
{
	(void)state;
	assert_int_equal(head_every_ns("1s"), 1000000000);
	assert_int_equal(head_every_ns("1500ms"), 1500000000);
	assert_int_equal(head_every_ns("1h"), 3600000000000);
	assert_int_equal(head_every_ns("999ms"), 0);
	assert_int_equal(head_every_ns("2h"), 0);
	assert_int_equal(head_every_ns("-1s"), 0);
	assert_int_equal(head_every_ns("x"), 0);
	assert_int_equal(head_every_ns(""), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_host_is_what_is_listened_on),
		cmocka_unit_test(openmetrics_goes_to_who_prefers_it),
		cmocka_unit_test(a_list_has_words),
		cmocka_unit_test(a_stream_is_told_at_most_once_a_second),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
