/* SPDX-License-Identifier: GPL-2.0-or-later */
/* See words.h. */
#include <ctype.h>
#include <stdio.h>
#include <string.h>
#include "words.h"

#define WORDS 4
#define VALUE_MOST 64

static const struct source {
	const char *path;
	const char *words[WORDS];   /* NULL ends them */
	const char *name;           /* of the query that is a word of its own, behind them */
	const char *options[WORDS]; /* those that have the query's name, "--" before it */
} sources[] = {
	{ "/v1/top", { "top", "--once" }, NULL, { "most" } },
	{ "/v1/stats", { "stats" }, NULL, { NULL } },
	{ "/v1/usage", { "usage" }, NULL, { "most" } },
	{ "/v1/reasons", { "reasons" }, NULL, { NULL } },
	{ "/v1/history", { "history" }, "peer", { "since", "until", "step" } },
	{ "/v1/exfil", { "exfil", "--curve" }, NULL, { "size", "compression" } },
};
#define SOURCES (sizeof(sources) / sizeof(*sources))

/* A name, a time or a size; it begins with no '-'. */
static bool is_value(const char *s)
{
	size_t n = strlen(s);

	for (size_t i = 0; i < n; i++)
		if (!isalnum((unsigned char)s[i]) && (!i || !strchr("._-:", s[i])))
			return false;
	return n && n <= VALUE_MOST;
}

static int add(json_t *argv, const char *key, const char *value, bool option, struct bwl_err *e)
{
	if (!is_value(value))
		return bwl_fail(e, EINVAL,
				"%s: at most %u letters, digits, '.', '_', '-' and ':', and no '-' "
				"before the others",
				key, VALUE_MOST);
	json_array_append_new(argv,
			      option ? json_sprintf("--%s=%s", key, value) : json_string(value));
	return 0;
}

static int add_words(json_t *argv, const struct source *x,
		     const char *(*query)(const void *arg, const char *key), const void *arg,
		     struct bwl_err *e)
{
	const char *value;
	int r = 0;

	json_array_append_new(argv, json_string("--json"));
	for (unsigned i = 0; i < WORDS && x->words[i]; i++)
		json_array_append_new(argv, json_string(x->words[i]));
	value = x->name ? query(arg, x->name) : NULL;
	if (value)
		r = add(argv, x->name, value, false, e);
	for (unsigned i = 0; !r && i < WORDS && x->options[i]; i++) {
		value = query(arg, x->options[i]);
		if (value)
			r = add(argv, x->options[i], value, true, e);
	}
	return r;
}

json_t *serve_words(const char *path, const char *(*query)(const void *arg, const char *key),
		    const void *arg, struct bwl_err *e)
{
	for (unsigned i = 0; i < SOURCES; i++) {
		json_t *argv;

		if (strcmp(sources[i].path, path))
			continue;
		argv = json_array();
		if (!add_words(argv, &sources[i], query, arg, e))
			return json_pack("{s:o}", "argv", argv);
		json_decref(argv);
		return NULL;
	}
	bwl_fail(e, ENOENT, "there is no such document");
	bwl_hint(e, "/v1/ and status, top, stats, usage, reasons, history or exfil");
	return NULL;
}
