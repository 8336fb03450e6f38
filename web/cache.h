/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Documents, by the question that they answer: one is made for all requests within its time. A
 * fixed number of them; no I/O, the clock is an argument.
 *
 * Keeping a pointer to an entry requires holding it: a waiting request, a stream, an asker that is
 * making it. While it is held it is not forgotten, and its question stays. An entry that is not
 * held may belong to another question after the next call of cache_entry() or cache_put().
 */
#ifndef BWL_WEB_CACHE_H
#define BWL_WEB_CACHE_H

#include <stddef.h>
#include "documents.h"
#include "fleet/http/places.h"

#define CACHE_ENTRIES 64
#define CACHE_QUERIES 40        /* with a query; so a question without one always finds room */
#define CACHE_BYTES (32U << 20) /* of all texts; the oldest without waiting clients are dropped */

/* Bytes that several answers share. */
struct text {
	unsigned users;
	size_t len;
	char at[];
};
struct text *text_new(const char *bytes, size_t len);
struct text *text_share(struct text *t);
void text_drop(struct text *t); /* NULL-safe */

struct entry {
	struct bwl_place place;         /* whose question it is; for cache_crowds() */
	char question[ASKING_QUESTION]; /* empty: free */
	const struct asking_document *document;
	const struct web_document *how;
	struct text *text;  /* NULL: none yet */
	struct text *open;  /* the same as OpenMetrics; NULL: not requested yet */
	unsigned status;    /* of HTTP */
	uint64_t made_ns;   /* when it arrived */
	uint64_t older_ms;  /* its age at that time */
	uint64_t version;   /* changes when the text changes */
	uint64_t wanted_ns; /* since when a client waits; 0: none */
	bool asked;         /* it was requested */
	uint64_t used_ns;
	unsigned holders;
};

/* When a client's question was made last. */
struct cache_turn {
	struct bwl_client client;
	uint64_t turn; /* 0: free */
};

struct cache {
	struct entry entry[CACHE_ENTRIES];
	uint64_t version, turn;
	struct cache_turn turns[CACHE_ENTRIES];
};

/*
 * The entry for a question, created if missing: then it is that client's. NULL: all are in use.
 */
struct entry *cache_entry(struct cache *c, const struct web_documents *d,
			  const struct asking_document *document, const char *question,
			  const struct bwl_client *client, uint64_t now_ns);
/*
 * Of the questions with a query that are waited for and not being made: the oldest of the client
 * that has most. If nobody waits for it any more, there is room for another. NULL: there is none.
 */
struct entry *cache_crowds(struct cache *c);
struct entry *cache_hold(struct entry *e);
/*
 * The caller stops holding it; a document without waiting clients is then not requested. NULL-safe.
 */
void cache_give_back(struct entry **e);
bool cache_is_fresh(const struct entry *e, uint64_t now_ns);
/*
 * The entry that is made next by that asker: clients take turns, and of each the one that has
 * waited longest comes first. NULL: none.
 */
struct entry *cache_next(struct cache *c, unsigned asker);
/* A reference to its text as OpenMetrics, which is made once. */
struct text *cache_openmetrics(struct entry *e);
/* Stores the answer; takes over the text. */
void cache_put(struct cache *c, struct entry *e, unsigned status, struct text *t, uint64_t now_ns);
uint64_t cache_age_ms(const struct entry *e, uint64_t now_ns);
void cache_done(struct cache *c);

#endif
