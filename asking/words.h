/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What may be asked by HTTP, and the command of bwlimit-ctl that answers it: a table, which each
 * program has of its own. Pure. What comes from outside is never an option's name.
 */
#ifndef BWL_ASKING_WORDS_H
#define BWL_ASKING_WORDS_H

#include <jansson.h>
#include "bwl/err.h"

#define ASKING_WORDS 5
#define ASKING_QUESTION 512 /* bytes of "NAME?KEY=VALUE&…", with its NUL */

struct asking_document {
	const char *name;
	const char *words[ASKING_WORDS];   /* NULL ends them */
	const char *names[ASKING_WORDS];   /* of the query: words of their own, behind those */
	const char *options[ASKING_WORDS]; /* those that have the query's name, "--" before it */
	bool text;                         /* it is no JSON */
};
/* NULL: there is none of that name. The table ends with a name NULL. */
const struct asking_document *asking_find(const struct asking_document *table, const char *name);
/* The same by a question, "NAME" or "NAME?KEY=VALUE&…". */
const struct asking_document *asking_asked(const struct asking_document *table,
					   const char *question);

/* The value of a key; NULL: it is not there. */
typedef const char *(*asking_query)(const void *arg, const char *key);

/* {"argv": [WORD…]}; NULL: a value is none (EINVAL). */
json_t *asking_words(const struct asking_document *d, asking_query query, const void *arg,
		     struct bwl_err *e);

/*
 * "NAME?KEY=VALUE&…": of a query what the document knows, in the order of its table, so that one
 * question has one text. And back: the document, and its words.
 */
int asking_question(const struct asking_document *d, asking_query query, const void *arg,
		    char ret[static ASKING_QUESTION], struct bwl_err *e);
json_t *asking_words_of(const struct asking_document *table, const char *question,
			struct bwl_err *e);

#endif
