// SPDX-License-Identifier: GPL-2.0-or-later
/* Questions of the API, and the commands made from them. */
#include <stdlib.h>
#include <string.h>
#include "web/documents.h"
#include "../test.h"

static const char *of_list(const void *arg, const char *key)
{
	for (const char *const *at = arg; *at; at++)
		if (!strncmp(*at, key, strlen(key)) && (*at)[strlen(key)] == '=')
			return *at + strlen(key) + 1;
	return NULL;
}

static void becomes(const char *name, const char *const *query, const char *question,
		    const char *words)
{
	const struct asking_document *d = asking_find(web_node.asking, name);
	char text[ASKING_QUESTION], *json;
	struct bwl_err e = { 0 };
	json_t *o;

	assert_non_null(d);
	assert_int_equal(asking_question(d, of_list, query, text, &e), 0);
	assert_string_equal(text, question);
	o = asking_words_of(web_node.asking, text, &e);
	json = o ? json_dumps(o, JSON_COMPACT) : NULL;
	assert_string_equal(json ? json : e.text, words);
	free(json);
	json_decref(o);
}

static void one_question_has_one_text(void **state)
{
	const char *const none[] = { NULL };

	(void)state;
	becomes("stats", none, "stats", "{\"argv\":[\"--json\",\"stats\"]}");
	becomes("stats", (const char *const[]){ "x=1", "pin-dir=/x", NULL }, "stats",
		"{\"argv\":[\"--json\",\"stats\"]}");
	becomes("history", (const char *const[]){ "step=1s", "peer=d1", "since=5m", NULL },
		"history?peer=d1&since=5m&step=1s",
		"{\"argv\":[\"--json\",\"history\",\"d1\",\"--since=5m\",\"--step=1s\"]}");
	becomes("explain",
		(const char *const[]){ "destination=fd00::9", "source=10.0.0.1", "protocol=tcp",
				       "destination_port=443", "port=hpf0", NULL },
		"explain?source=10.0.0.1&destination=fd00::9&protocol=tcp&destination_port=443&port=hpf0",
		"{\"argv\":[\"--json\",\"explain\",\"10.0.0.1\",\"fd00::9\",\"tcp\",\"443\",\"--port=hpf0\"]}");
	/* Words after a missing word are ignored. */
	becomes("explain", (const char *const[]){ "destination=10.0.0.1", NULL },
		"explain?destination=10.0.0.1", "{\"argv\":[\"--json\",\"explain\"]}");
	becomes("flows", (const char *const[]){ "most=9", "port=443", "peer=d1", "since=1d", NULL },
		"flows?peer=d1&port=443",
		"{\"argv\":[\"--json\",\"flows\",\"--since=30s\",\"--most=500\",\"--peer=d1\",\"--port=443\"]}");
	becomes("flow-intervals", (const char *const[]){ "peer=d1", "most=9", NULL },
		"flow-intervals?peer=d1",
		"{\"argv\":[\"--json\",\"flows\",\"intervals\",\"--most=60\",\"--peer=d1\"]}");
	becomes("metrics", none, "metrics", "{\"argv\":[\"metrics\"]}");
}

static void the_asker_believes_nobody(void **state)
{
	const char *const bad[] = { "revoke",
				    "revoke?peer=d1",
				    "",
				    "?",
				    "stats\n",
				    "history?peer=--state-dir",
				    "history?peer=../x",
				    "history?peer=",
				    "peer?name=a b",
				    "peer?name=a;b",
				    "top --once" };

	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
		struct bwl_err e = { 0 };

		assert_null(asking_words_of(web_node.asking, bad[i], &e));
		assert_true(e.code == ENOENT || e.code == EINVAL);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(one_question_has_one_text),
		cmocka_unit_test(the_asker_believes_nobody),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
