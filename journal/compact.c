// SPDX-License-Identifier: GPL-2.0-or-later
/* Writes the current state as the records of a new file: see file.h. */
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include "file.h"

/* A record that cannot be read back would cut the journal behind it. */
static bool reads_back(const struct bwl_journal_rec *r, const uint8_t *prev, const uint8_t *at,
		       size_t size)
{
	uint8_t digest[BWL_JOURNAL_DIGEST];
	struct bwl_journal_rec is;
	struct bwl_pfx *pfx;
	size_t n;
	bool ok = bwl_journal_decode(at, size, prev, &is, &pfx, &n, digest) == BWL_JR_WHOLE &&
		  n == size && is.kind == r->kind && is.seq == r->seq && is.at == r->at &&
		  is.npfx == r->npfx && is.nholes == r->nholes && !strcmp(is.name, r->name) &&
		  (!is.npfx || !memcmp(is.pfx, r->pfx, is.npfx * sizeof(*is.pfx))) &&
		  (!is.nholes || !memcmp(is.hole, r->hole, is.nholes * sizeof(*is.hole)));

	free(pfx);
	return ok;
}

void bwl_journal_put(struct bwl_journal_bytes *x, struct bwl_journal_rec r, uint64_t wall_s)
{
	size_t need = bwl_journal_encode(&r, x->digest, NULL, NULL);
	uint8_t prev[BWL_JOURNAL_DIGEST];

	memcpy(prev, x->digest, sizeof(prev));
	while (x->room - x->n < need) {
		x->room = x->room ? 2 * x->room : 4096;
		x->b = bwl_must(realloc(x->b, x->room));
	}
	r.seq = ++x->seq;
	if (!r.at)
		r.at = r.seq;
	if (!r.wall_s)
		r.wall_s = wall_s;
	bwl_journal_encode(&r, prev, x->b + x->n, x->digest);
	if (!reads_back(&r, prev, x->b + x->n, need)) {
		x->unreadable = true;
		x->seq--;
		memcpy(x->digest, prev, sizeof(prev));
		return;
	}
	x->n += need;
	x->records++;
}

static int by_at(const void *a, const void *b)
{
	const struct bwl_pfxset_item *x = a, *y = b;

	return (x->value > y->value) - (x->value < y->value);
}

/* Prefixes in the order of their records' numbers. */
static struct bwl_pfx *ordered(const struct bwl_pfxset *s, uint64_t **ret_at)
{
	struct bwl_pfxset_item *i = bwl_must(calloc(s->n + 1, sizeof(*i)));
	struct bwl_pfx *p = bwl_must(calloc(s->n + 1, sizeof(*p)));
	size_t k;

	*ret_at = bwl_must(calloc(s->n + 1, sizeof(**ret_at)));
	if (s->n)
		memcpy(i, s->item, s->n * sizeof(*i));
	qsort(i, s->n, sizeof(*i), by_at);
	for (k = 0; k < s->n; k++) {
		p[k] = i[k].pfx;
		(*ret_at)[k] = i[k].value;
	}
	free(i);
	return p;
}

static size_t run(const uint64_t *at, size_t from, size_t n)
{
	size_t k = from;

	while (k < n && at[k] == at[from] && k - from < 100000)
		k++;
	return k - from;
}

static void put_sets(struct bwl_journal_bytes *x, const struct bwl_closed *c)
{
	const struct bwl_pfxset *set[] = { &c->live, &c->hole, &c->opened };
	size_t s, k, n;

	for (s = 0; s < 3; s++) {
		uint64_t *at;
		struct bwl_pfx *p = ordered(set[s], &at);

		for (k = 0; k < set[s]->n; k += n) {
			struct bwl_journal_rec r = { .kind = s == 2 ? BWL_J_OPEN : BWL_J_CLOSE,
						     .at = at[k] };

			n = run(at, k, set[s]->n);
			if (!s)
				r.wall_s = bwl_closed_when(c, at[k]);
			if (s == 1) {
				r.hole = p + k;
				r.nholes = (uint32_t)n;
			} else {
				r.pfx = p + k;
				r.npfx = (uint32_t)n;
			}
			bwl_journal_put(x, r, 0);
		}
		free(p);
		free(at);
	}
}

/* The current state, as records that keep their first numbers. */
static void put_state(struct bwl_journal_bytes *x, const struct bwl_closed *c, uint64_t wall_s)
{
	size_t i;

	if (c->stop)
		bwl_journal_put(x,
				(struct bwl_journal_rec){ .kind = BWL_J_STOP, .wall_s = c->stop_s },
				wall_s);
	if (c->clamp)
		bwl_journal_put(
			x, (struct bwl_journal_rec){ .kind = BWL_J_CLAMP, .wall_s = c->clamp_s },
			wall_s);
	for (i = 0; i < c->nnames; i++) {
		struct bwl_journal_rec r = { .kind = BWL_J_CLOSE,
					     .at = c->name[i].at,
					     .wall_s = c->name[i].wall_s };

		memcpy(r.name, c->name[i].name, sizeof(r.name));
		bwl_journal_put(x, r, wall_s);
	}
	put_sets(x, c);
	for (i = 0; i < c->nlimits; i++) {
		const struct bwl_closed_limit *l = &c->limit[i];
		struct bwl_journal_rec r = { .kind = l->zone ? BWL_J_ZONE : BWL_J_PEER,
					     .at = l->at,
					     .wall_s = l->wall_s,
					     .lim = l->lim };

		memcpy(r.name, l->name, sizeof(r.name));
		bwl_journal_put(x, r, wall_s);
	}
}

struct bwl_journal_bytes bwl_journal_state_bytes(uint64_t seq, const uint8_t *digest,
						 const struct bwl_closed *c)
{
	struct bwl_journal_rec first = { .kind = BWL_J_BEGIN, .after_seq = seq };
	struct bwl_journal_bytes body = { .seq = seq + 1 }, x = { .seq = seq };
	uint64_t now = (uint64_t)time(NULL);

	if (digest)
		memcpy(first.after, digest, sizeof(first.after));
	put_state(&body, c, now); /* only to count the records: they are not chained yet */
	first.records = body.records;
	free(body.b);
	bwl_journal_put(&x, first, now);
	put_state(&x, c, now);
	return x;
}
