/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Documents, by the question that they answer: one is made for all who ask within its time. A fixed
 * number of them; no I/O, the clock is an argument.
 *
 * Who keeps a pointer to an entry until later holds it: a request that waits, a stream, an asker
 * that is making it. While it is held it is not forgotten, and its question stays. One that is
 * not held may be another question's after the next call of cache_entry() or cache_put().
 */
#ifndef BWL_WEB_CACHE_H
#define BWL_WEB_CACHE_H

#include <stddef.h>
#include "documents.h"

#define CACHE_ENTRIES 64
#define CACHE_QUERIES 40        /* of them: with a query; so one without always finds its place */
#define CACHE_BYTES (32U << 20) /* of all; the oldest that nobody waits for go */

/* Bytes that several answers have in common. */
struct text {
	unsigned users;
	size_t len;
	char at[];
};
struct text *text_new(const char *bytes, size_t len);
struct text *text_share(struct text *t);
void text_drop(struct text *t); /* NULL-safe */

struct entry {
	char question[ASKING_QUESTION]; /* empty: free */
	const struct asking_document *document;
	const struct web_document *how;
	struct text *text;  /* NULL: none yet */
	struct text *open;  /* the same as OpenMetrics; NULL: nobody wanted it yet */
	unsigned status;    /* of HTTP */
	uint64_t made_ns;   /* when it came */
	uint64_t older_ms;  /* how old it was then */
	uint64_t version;   /* another one when the text is another one */
	uint64_t wanted_ns; /* since when somebody waits; 0: nobody */
	bool asked;         /* it is on its way */
	uint64_t used_ns;
	unsigned holders;
};

struct cache {
	struct entry entry[CACHE_ENTRIES];
	uint64_t version;
};

/* The one for a question, made where it is not there. NULL: all are in use. */
struct entry *cache_entry(struct cache *c, const struct web_documents *d,
			  const struct asking_document *document, const char *question,
			  uint64_t now_ns);
struct entry *cache_hold(struct entry *e);
/* Not held by the caller any more; what nobody waits for then is not asked for. NULL-safe. */
void cache_give_back(struct entry **e);
bool cache_is_fresh(const struct entry *e, uint64_t now_ns);
/* The one that has waited the longest for that asker; NULL: none waits. */
struct entry *cache_next(struct cache *c, unsigned asker);
/* A reference to its text as OpenMetrics, which is made once. */
struct text *cache_openmetrics(struct entry *e);
/* What came for it; takes over the text. */
void cache_put(struct cache *c, struct entry *e, unsigned status, struct text *t, uint64_t now_ns);
uint64_t cache_age_ms(const struct entry *e, uint64_t now_ns);
void cache_done(struct cache *c);

#endif
