// SPDX-License-Identifier: GPL-2.0-or-later
/* The documents themselves, and time: see docs.h. */
#include <stdlib.h>
#include <string.h>
#include "docs.h"

static void free_one(struct docs_one *o)
{
	free(o->bytes);
	bwl_signed_free(&o->d);
}

void docs_free(struct docs *s)
{
	for (size_t i = 0; i < s->n; i++)
		free_one(&s->one[i]);
	free(s->one);
	if (s->m)
		bwl_memory_free(s->m);
	*s = (struct docs){ 0 };
}

bool docs_is_heard(const struct docs *s)
{
	return s->heard.newest_s && s->heard.newest_s == bwl_memory_newest(s->m);
}

int64_t docs_now(const struct docs *s, const struct docs_clock *c)
{
	int64_t now = bwl_memory_now(s->m, c->wall_s), since;

	if (!docs_is_heard(s) || c->boot_ns < s->heard.boot_ns)
		return now;
	since = s->heard.at_s + (int64_t)((c->boot_ns - s->heard.boot_ns) / 1000000000ULL);
	return since > now ? since : now;
}

/*
 * A signed time that arrives late lies in the past. It does not set the clock back: otherwise slow
 * delivery of old times would slow time down. A 1024th is allowed, for the drift between two
 * machines.
 */
void docs_heard_now(struct docs *s, const struct docs_clock *c)
{
	int64_t at = bwl_memory_now(s->m, c->wall_s), since;

	if (s->heard.newest_s && c->boot_ns >= s->heard.boot_ns) {
		since = (int64_t)((c->boot_ns - s->heard.boot_ns) / 1000000000ULL);
		if (at < s->heard.at_s + since - since / 1024) {
			s->heard.newest_s = bwl_memory_newest(s->m);
			return;
		}
	}
	s->heard = (struct docs_heard){ .newest_s = bwl_memory_newest(s->m),
					.at_s = at,
					.boot_ns = c->boot_ns };
}

void docs_unheard(struct docs *s)
{
	if (!docs_is_heard(s))
		s->heard = (struct docs_heard){ 0 };
}

static bool is_held(const struct docs *s, const uint8_t digest[32])
{
	size_t n;
	const struct bwl_digest *held = bwl_memory_held(s->m, &n);

	for (size_t i = 0; i < n; i++)
		if (!memcmp(held[i].b, digest, 32))
			return true;
	return false;
}

/*
 * Policies are held by digest, whatever their names are; of the other types the newest of each
 * name.
 */
bool docs_needs(const struct docs *s, const uint8_t digest[32])
{
	const struct bwl_memory_item *item;
	size_t n;

	if (is_held(s, digest))
		return true;
	item = bwl_memory_items(s->m, &n);
	for (size_t i = 0; i < n; i++)
		if ((item[i].type == BWL_SIGNED_GRANT || item[i].type == BWL_SIGNED_LEASE ||
		     item[i].type == BWL_SIGNED_ROLLOUT || item[i].type == BWL_SIGNED_TIMESTAMP) &&
		    !memcmp(item[i].digest.b, digest, 32))
			return true;
	return false;
}

const struct docs_one *docs_find(const struct docs *s, const uint8_t digest[32])
{
	for (size_t i = 0; i < s->n; i++)
		if (!memcmp(s->one[i].d.digest, digest, 32))
			return &s->one[i];
	return NULL;
}

bool docs_add(struct docs *s, char *bytes, size_t len)
{
	struct docs_one o = { .bytes = bytes, .len = len };

	if (!bwl_signed_peek(bytes, len, &o.d, NULL) && docs_needs(s, o.d.digest) &&
	    !docs_find(s, o.d.digest)) {
		s->one = bwl_must(reallocarray(s->one, s->n + 1, sizeof(*s->one)));
		s->one[s->n++] = o;
		return true;
	}
	free_one(&o);
	return false;
}

void docs_drop_unneeded(struct docs *s)
{
	size_t n = 0;

	for (size_t i = 0; i < s->n; i++) {
		if (docs_needs(s, s->one[i].d.digest))
			s->one[n++] = s->one[i];
		else
			free_one(&s->one[i]);
	}
	s->n = n;
}
