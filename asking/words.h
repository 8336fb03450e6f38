/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The requests allowed over HTTP, and the bwlimit-ctl commands that answer them: a table, which
 * each program defines for itself. Pure. Outside input never becomes an option's name.
 */
#ifndef BWL_ASKING_WORDS_H
#define BWL_ASKING_WORDS_H

#include <jansson.h>
#include "bwl/err.h"

#define ASKING_WORDS 5
#define ASKING_QUESTION 512 /* bytes of "NAME?KEY=VALUE&…", with its NUL */

struct asking_document {
	const char *name;
	const char *words[ASKING_WORDS]; /* NULL ends them */
	/* query keys whose values become separate words, after those */
	const char *names[ASKING_WORDS];
	/* query keys that become options of that name, with "--" before it */
	const char *options[ASKING_WORDS];
	bool text; /* the output is not JSON */
};
/* NULL: there is no such document. The table ends with a name NULL. */
const struct asking_document *asking_find(const struct asking_document *table, const char *name);
/* The same by a question, "NAME" or "NAME?KEY=VALUE&…". */
const struct asking_document *asking_asked(const struct asking_document *table,
					   const char *question);

/* The value of a key; NULL: absent. */
typedef const char *(*asking_query)(const void *arg, const char *key);

/* {"argv": [WORD…]}; NULL: a value is invalid (EINVAL). */
json_t *asking_words(const struct asking_document *d, asking_query query, const void *arg,
		     struct bwl_err *e);

/*
 * "NAME?KEY=VALUE&…": the query's keys that the document knows, in the order of its table, so that
 * one question has one text. And back: the document, and its words.
 */
int asking_question(const struct asking_document *d, asking_query query, const void *arg,
		    char ret[static ASKING_QUESTION], struct bwl_err *e);
json_t *asking_words_of(const struct asking_document *table, const char *question,
			struct bwl_err *e);

#endif
