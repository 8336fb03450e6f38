// SPDX-License-Identifier: GPL-2.0-or-later
/* See words.h. */
#include <ctype.h>
#include <stdio.h>
#include <string.h>
#include "words.h"

#define VALUE_MAX 64

const struct asking_document *asking_find(const struct asking_document *table, const char *name)
{
	for (; table->name; table++)
		if (!strcmp(table->name, name))
			return table;
	return NULL;
}

const struct asking_document *asking_asked(const struct asking_document *table,
					   const char *question)
{
	size_t n = strcspn(question, "?");

	for (; table->name; table++)
		if (strlen(table->name) == n && !memcmp(table->name, question, n))
			return table;
	return NULL;
}

/* A name, a time, an address or a size; it begins with no '-'. A label is KEY=VALUE. */
static bool is_value(const char *key, const char *s)
{
	const char *marks = strcmp(key, "label") ? "._-:" : "._-:=";
	size_t n = strlen(s);

	for (size_t i = 0; i < n; i++)
		if (!isalnum((unsigned char)s[i]) && (!i || !strchr(marks, s[i])))
			return false;
	return n && n <= VALUE_MAX;
}

static int judge(const char *key, const char *value, struct bwl_err *e)
{
	if (is_value(key, value))
		return 0;
	return bwl_fail(
		e, EINVAL,
		"%s: must be 1 to %u letters, digits, '.', '_', '-' and ':' (in a label also '='), beginning with a letter or digit",
		key, VALUE_MAX);
}

json_t *asking_words(const struct asking_document *d, asking_query query, const void *arg,
		     struct bwl_err *e)
{
	json_t *argv = json_array();
	const char *value;
	int r = 0;

	if (!d->text)
		json_array_append_new(argv, json_string("--json"));
	for (unsigned i = 0; i < ASKING_WORDS && d->words[i]; i++)
		json_array_append_new(argv, json_string(d->words[i]));
	/* Positional: after a missing one there can be none. */
	for (unsigned i = 0; !r && i < ASKING_WORDS && d->names[i]; i++) {
		value = query(arg, d->names[i]);
		if (!value)
			break;
		r = judge(d->names[i], value, e);
		json_array_append_new(argv, json_string(value));
	}
	for (unsigned i = 0; !r && i < ASKING_WORDS && d->options[i]; i++) {
		value = query(arg, d->options[i]);
		if (!value)
			continue;
		r = judge(d->options[i], value, e);
		json_array_append_new(argv, json_sprintf("--%s=%s", d->options[i], value));
	}
	if (!r)
		return json_pack("{s:o}", "argv", argv);
	json_decref(argv);
	return NULL;
}

static int add(const char *const keys[ASKING_WORDS], asking_query query, const void *arg, char *ret,
	       struct bwl_err *e)
{
	for (unsigned i = 0; i < ASKING_WORDS && keys[i]; i++) {
		const char *value = query(arg, keys[i]);
		size_t n = strlen(ret);
		int r = value ? judge(keys[i], value, e) : 0;

		if (r)
			return r;
		if (value &&
		    snprintf(ret + n, ASKING_QUESTION - n, "%c%s=%s", strchr(ret, '?') ? '&' : '?',
			     keys[i], value) >= (int)(ASKING_QUESTION - n))
			return bwl_fail(e, EINVAL, "the question is too long");
	}
	return 0;
}

int asking_question(const struct asking_document *d, asking_query query, const void *arg,
		    char ret[static ASKING_QUESTION], struct bwl_err *e)
{
	int r;

	snprintf(ret, ASKING_QUESTION, "%s", d->name);
	r = add(d->names, query, arg, ret, e);
	return r ? r : add(d->options, query, arg, ret, e);
}

#define KEYS (2 * ASKING_WORDS)
struct split {
	const char *key[KEYS], *value[KEYS];
	unsigned n;
};

static const char *of_split(const void *arg, const char *key)
{
	const struct split *s = arg;

	for (unsigned i = 0; i < s->n; i++)
		if (!strcmp(s->key[i], key))
			return s->value[i];
	return NULL;
}

json_t *asking_words_of(const struct asking_document *table, const char *question,
			struct bwl_err *e)
{
	const struct asking_document *d = asking_asked(table, question);
	char text[ASKING_QUESTION], *at = text, *pair;
	struct split s = { .n = 0 };

	snprintf(text, sizeof(text), "%s", question);
	strsep(&at, "?");
	while ((pair = strsep(&at, "&")) && s.n < KEYS) {
		s.key[s.n] = strsep(&pair, "=");
		s.value[s.n++] = pair ? pair : "";
	}
	if (d)
		return asking_words(d, of_split, &s, e);
	bwl_fail(e, ENOENT, "there is no such document");
	return NULL;
}
