// SPDX-License-Identifier: GPL-2.0-or-later
/* See cache.h. */
#include <stdlib.h>
#include <string.h>
#include "bwl/err.h"
#include "cache.h"
#include "export/prometheus.h"

#define MS 1000000ULL
#define FAILED_NS (1000 * MS) /* for how long an error is given again */

struct text *text_new(const char *bytes, size_t len)
{
	struct text *t = bwl_must(malloc(sizeof(*t) + len + 1));

	t->users = 1;
	t->len = len;
	memcpy(t->at, bytes, len);
	t->at[len] = '\0';
	return t;
}

struct text *text_share(struct text *t)
{
	t->users++;
	return t;
}

void text_drop(struct text *t)
{
	if (t && !--t->users)
		free(t);
}

static void forget(struct entry *e)
{
	text_drop(e->text);
	text_drop(e->open);
	*e = (struct entry){ .document = NULL };
}

static bool has_query(const struct entry *e)
{
	return strchr(e->question, '?');
}

/* The entry that nobody has requested for the longest time, and that is not held. */
static struct entry *oldest(struct cache *c, const struct entry *but, bool queries_only)
{
	struct entry *x = NULL;

	for (unsigned i = 0; i < CACHE_ENTRIES; i++) {
		struct entry *e = &c->entry[i];

		if (*e->question && e != but && !e->holders && (!queries_only || has_query(e)) &&
		    (!x || e->used_ns < x->used_ns))
			x = e;
	}
	return x;
}

struct entry *cache_entry(struct cache *c, const struct web_documents *d,
			  const struct asking_document *document, const char *question,
			  const struct bwl_client *client, uint64_t now_ns)
{
	struct entry *e = NULL;
	unsigned queries = 0;
	bool full;

	for (unsigned i = 0; i < CACHE_ENTRIES; i++) {
		if (!strcmp(c->entry[i].question, question)) {
			e = &c->entry[i];
			e->used_ns = now_ns;
			/* Not whose it was: who asks first what others will ask would take them
			 * along. */
			if (!e->asked)
				e->place = (struct bwl_place){ .client = *client,
							       .since_ns = now_ns };
			return e;
		}
		if (!e && !*c->entry[i].question)
			e = &c->entry[i];
		queries += has_query(&c->entry[i]);
	}
	full = strchr(question, '?') && queries >= CACHE_QUERIES;
	if (!e || full)
		e = oldest(c, NULL, full);
	if (!e)
		return NULL;
	forget(e);
	strncpy(e->question, question, sizeof(e->question) - 1);
	e->document = document;
	e->how = &d->how[document - d->asking];
	e->used_ns = now_ns;
	e->place = (struct bwl_place){ .client = *client, .since_ns = now_ns };
	return e;
}

struct entry *cache_crowds(struct cache *c)
{
	for (unsigned i = 0; i < CACHE_ENTRIES; i++) {
		struct entry *e = &c->entry[i];

		e->place.of = has_query(e) && e->holders && !e->asked ? BWL_PLACE_KNOWN
								      : BWL_PLACE_FREE;
	}
	return bwl_place_to_go(c->entry, sizeof(*c->entry), CACHE_ENTRIES, BWL_PLACE_KNOWN);
}

struct entry *cache_hold(struct entry *e)
{
	e->holders++;
	return e;
}

void cache_give_back(struct entry **e)
{
	if (*e && !--(*e)->holders)
		(*e)->wanted_ns = 0;
	*e = NULL;
}

bool cache_is_fresh(const struct entry *e, uint64_t now_ns)
{
	uint64_t most_ns = e->status == 200 ? e->how->every_ms * MS : FAILED_NS;

	return e->text && now_ns - e->made_ns < most_ns;
}

/* Its place in turns; if it has none, the one that was used least recently. */
static struct cache_turn *turn_of(struct cache *c, const struct bwl_client *client)
{
	struct cache_turn *t = c->turns;

	for (unsigned i = 0; i < CACHE_ENTRIES; i++) {
		if (c->turns[i].turn && bwl_client_is(&c->turns[i].client, client))
			return &c->turns[i];
		if (c->turns[i].turn < t->turn)
			t = &c->turns[i];
	}
	return t;
}

static uint64_t last_turn(struct cache *c, const struct entry *e)
{
	const struct cache_turn *t = turn_of(c, &e->place.client);

	return bwl_client_is(&t->client, &e->place.client) ? t->turn : 0;
}

static bool comes_before(struct cache *c, const struct entry *a, const struct entry *b)
{
	uint64_t of_a = last_turn(c, a), of_b = last_turn(c, b);

	return of_a != of_b ? of_a < of_b : a->wanted_ns < b->wanted_ns;
}

struct entry *cache_next(struct cache *c, unsigned asker)
{
	struct entry *x = NULL;

	for (unsigned i = 0; i < CACHE_ENTRIES; i++) {
		struct entry *e = &c->entry[i];

		if (e->wanted_ns && !e->asked && e->how->asker == asker &&
		    (!x || comes_before(c, e, x)))
			x = e;
	}
	if (x)
		*turn_of(c, &x->place.client) = (struct cache_turn){ .client = x->place.client,
								     .turn = ++c->turn };
	return x;
}

struct text *cache_openmetrics(struct entry *e)
{
	size_t len;
	char *open;

	if (!e->open) {
		open = prom_openmetrics(e->text->at, e->text->len, &len);
		e->open = text_new(open, len);
		free(open);
	}
	return text_share(e->open);
}

static size_t bytes(const struct cache *c)
{
	size_t n = 0;

	for (unsigned i = 0; i < CACHE_ENTRIES; i++)
		n += (c->entry[i].text ? c->entry[i].text->len : 0) +
		     (c->entry[i].open ? c->entry[i].open->len : 0);
	return n;
}

void cache_put(struct cache *c, struct entry *e, unsigned status, struct text *t, uint64_t now_ns)
{
	struct entry *old;

	if (!e->text || e->status != status || e->text->len != t->len ||
	    memcmp(e->text->at, t->at, t->len))
		e->version = ++c->version;
	text_drop(e->text);
	text_drop(e->open);
	e->text = t;
	e->open = NULL;
	e->status = status;
	e->made_ns = now_ns;
	e->older_ms = 0;
	e->wanted_ns = 0;
	e->asked = false;
	while (bytes(c) > CACHE_BYTES && (old = oldest(c, e, false)))
		forget(old);
}

uint64_t cache_age_ms(const struct entry *e, uint64_t now_ns)
{
	return (now_ns - e->made_ns) / MS + e->older_ms;
}

void cache_done(struct cache *c)
{
	for (unsigned i = 0; i < CACHE_ENTRIES; i++)
		forget(&c->entry[i]);
}
