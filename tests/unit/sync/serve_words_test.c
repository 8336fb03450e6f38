// SPDX-License-Identifier: GPL-2.0-or-later
/* A controller's requests, and the commands made from them. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "serve/serve.h"
#include "../test.h"

/* arg: strings "KEY=VALUE", ended by NULL. */
static const char *of_list(const void *arg, const char *key)
{
	for (const char *const *at = arg; *at; at++)
		if (!strncmp(*at, key, strlen(key)) && (*at)[strlen(key)] == '=')
			return *at + strlen(key) + 1;
	return NULL;
}

static void becomes(const char *path, const char *const *query, const char *want)
{
	struct bwl_err e = { 0 };
	json_t *o = serve_words(path, of_list, query, &e);
	char *text = o ? json_dumps(o, JSON_COMPACT) : NULL;

	if (!text)
		fail_msg("%s: %s", path, e.text);
	assert_string_equal(text, want);
	free(text);
	json_decref(o);
}

static void is_refused(const char *path, const char *const *query, int code)
{
	struct bwl_err e = { 0 };

	assert_null(serve_words(path, of_list, query, &e));
	assert_int_equal(e.code, code);
}

static void each_document_is_a_command_that_only_shows(void **state)
{
	const char *const none[] = { NULL };

	(void)state;
	becomes("/v1/top", none, "{\"argv\":[\"--json\",\"top\",\"--once\"]}");
	becomes("/v1/top", (const char *const[]){ "most=16", "once=x", NULL },
		"{\"argv\":[\"--json\",\"top\",\"--once\",\"--most=16\"]}");
	becomes("/v1/stats", none, "{\"argv\":[\"--json\",\"stats\"]}");
	becomes("/v1/usage", none, "{\"argv\":[\"--json\",\"usage\"]}");
	becomes("/v1/reasons", none, "{\"argv\":[\"--json\",\"reasons\"]}");
	becomes("/v1/history", none, "{\"argv\":[\"--json\",\"history\"]}");
	becomes("/v1/history", (const char *const[]){ "since=2h", "peer=log-1", "step=1m", NULL },
		"{\"argv\":[\"--json\",\"history\",\"log-1\",\"--since=2h\",\"--step=1m\"]}");
	becomes("/v1/exfil", (const char *const[]){ "size=1tb", "policy=/etc/passwd", NULL },
		"{\"argv\":[\"--json\",\"exfil\",\"--curve\",\"--size=1tb\"]}");
}

static void what_comes_from_outside_is_never_an_option(void **state)
{
	const char *const bad[] = { "--state-dir", "-",   "",         "a b", "a\nb", "../x",
				    "a/b",         "a=b", "\xc3\xa9", ".x",  "_x",   "a;b" };
	char text[128];

	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
		snprintf(text, sizeof(text), "peer=%s", bad[i]);
		is_refused("/v1/history", (const char *const[]){ text, NULL }, EINVAL);
		snprintf(text, sizeof(text), "size=%s", bad[i]);
		is_refused("/v1/exfil", (const char *const[]){ text, NULL }, EINVAL);
	}
	snprintf(text, sizeof(text), "peer=%065d", 1);
	is_refused("/v1/history", (const char *const[]){ text, NULL }, EINVAL);
}

static void nothing_else_is_there(void **state)
{
	const char *const none[] = { NULL };
	const char *const bad[] = { "/",        "/v1/policy", "/v1/stats/", "/v1//stats",
				    "v1/stats", "/v1/stats ", "/V1/stats",  "/v1/revoke" };

	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++)
		is_refused(bad[i], none, ENOENT);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_document_is_a_command_that_only_shows),
		cmocka_unit_test(what_comes_from_outside_is_never_an_option),
		cmocka_unit_test(nothing_else_is_there),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
