// SPDX-License-Identifier: GPL-2.0-or-later
/* The content of an interval's tables, added up over all CPUs. */
#include <stdlib.h>
#include <string.h>
#include <bwl/clock.h>
#include <bwl/record.h>
#include "maps/reason.h"
#include "maps/share.h"

bool bwl_book_balances(const struct bwl_book_cpu *c)
{
	struct bwl_rec_sum have = c->before;

	bwl_rec_sum_add(&have, &c->flows);
	bwl_rec_sum_add(&have, &c->rests);
	bwl_rec_sum_add(&have, &c->rest);
	return bwl_rec_sum_same(&have, &c->after);
}

/* As it would appear in the peer's counter. */
static struct bwl_rec_sum sum_of(const struct bwl_flow *x)
{
	struct bwl_rec_sum s = { 0 };

	if (bwl_reason_is_pass(bwl_flow_reason(x))) {
		s.frames = x->frames;
		s.bytes = x->charged;
	} else {
		s.drop_frames = x->frames;
		s.drop_bytes = x->bytes;
	}
	return s;
}

/* Correct within 26 days of now_ns. */
static uint64_t time_of(uint32_t shifted, uint64_t now_ns)
{
	int32_t ago = (int32_t)((uint32_t)(now_ns >> BWL_REC_TIME_SHIFT) - shifted);

	return (uint64_t)((int64_t)(now_ns >> BWL_REC_TIME_SHIFT) - ago) << BWL_REC_TIME_SHIFT;
}

static struct bwl_flow flow_of(const struct bwl_rec_row *x, uint64_t now_ns)
{
	uint64_t ports = x->id.ports, proto = ports >> BWL_REC_PROTO_SHIFT;
	struct bwl_flow f = { .key = { .ports = ports & ((1ULL << BWL_REC_PROTO_SHIFT) - 1),
				       .who = x->id.peer | (uint64_t)x->id.generation << 32,
				       .what = x->id.what | proto << 32 },
			      .frames = x->frames / BWL_REC_FRAME,
			      .bytes = x->bytes,
			      .charged = x->charged,
			      .first_ns = time_of(x->first, now_ns),
			      .last_ns = time_of(x->last, now_ns),
			      .tcp_flags = x->frames % BWL_REC_FRAME };

	if (bwl_flow_kind(&f) == BWL_REC_REST)
		return f;
	memcpy(f.key.saddr, x->saddr, sizeof(f.key.saddr));
	memcpy(f.key.daddr, x->daddr, sizeof(f.key.daddr));
	if (bwl_flow_kind(&f) == BWL_REC_FLOW6)
		f.key.what ^= BWL_REC_FLOW6 ^ BWL_REC_FLOW;
	return f;
}

static int by_key(const void *a, const void *b)
{
	const struct bwl_flow *x = a, *y = b;

	if (x->key.who != y->key.who)
		return (uint32_t)x->key.who != (uint32_t)y->key.who
			       ? (uint32_t)x->key.who < (uint32_t)y->key.who ? -1 : 1
		       : x->key.who < y->key.who ? -1
						 : 1;
	if (x->key.what != y->key.what)
		return x->key.what < y->key.what ? -1 : 1;
	return memcmp(&x->key, &y->key, sizeof(x->key));
}

static int by_peer(const void *a, const void *b)
{
	const struct bwl_book_cpu *x = a, *y = b;

	return x->peer != y->peer ? x->peer < y->peer ? -1 : 1 : x->cpu < y->cpu ? -1 : 1;
}

void bwl_book_merge(struct bwl_book *b)
{
	struct bwl_flow *to = b->flow;
	size_t i;

	if (!b->nflows)
		return;
	qsort(b->flow, b->nflows, sizeof(*b->flow), by_key);
	for (i = 1; i < b->nflows; i++) {
		const struct bwl_flow *f = &b->flow[i];

		if (memcmp(&to->key, &f->key, sizeof(f->key))) {
			*++to = *f;
			continue;
		}
		to->frames += f->frames;
		to->bytes += f->bytes;
		to->charged += f->charged;
		to->tcp_flags |= f->tcp_flags;
		if (f->first_ns < to->first_ns)
			to->first_ns = f->first_ns;
		if (f->last_ns > to->last_ns)
			to->last_ns = f->last_ns;
	}
	b->nflows = (size_t)(to - b->flow) + 1;
}

/* In the same place where the programs look for it. */
static struct bwl_book_cpu *find(struct bwl_book_cpu *const *of, uint32_t peer)
{
	uint32_t at = bwl_spread(peer, BWL_REC_PEERS_BITS), i;
	struct bwl_book_cpu *c;

	for (i = 0; i < BWL_REC_PEER_STEPS; i++) {
		c = of[(at + i) & (BWL_REC_PEERS - 1)];
		if (c && c->peer == peer)
			return c;
	}
	return NULL;
}

static void take_rows(const struct bwl_rec_row *x, struct bwl_book *b, struct bwl_book_cpu **of)
{
	uint64_t now_ns = bwl_now_ns();
	uint32_t i;

	for (i = 0; i < BWL_REC_TABLE; i++, x++) {
		struct bwl_book_cpu *c;
		struct bwl_flow *f;
		struct bwl_rec_sum s;

		if (x->id.stamp != b->interval)
			continue;
		f = &b->flow[b->nflows++];
		*f = flow_of(x, now_ns);
		s = sum_of(f);
		c = find(of, bwl_flow_peer(f));
		if (c) /* every row has one */
			bwl_rec_sum_add(i < BWL_REC_ROWS ? &c->flows : &c->rests, &s);
	}
}

static void take_cpu(const struct bwl_rec *r, unsigned cpu, struct bwl_book *b,
		     struct bwl_book_cpu **of)
{
	size_t table = cpu * BWL_REC_BANKS + bwl_rec_bank(b->interval);
	const struct bwl_rec_peer *p = &r->peer[table * BWL_REC_PEERS];
	uint32_t i;

	memset(of, 0, sizeof(*of) * BWL_REC_PEERS);
	for (i = 0; i < BWL_REC_PEERS; i++) {
		if (p[i].stamp != b->interval)
			continue;
		of[i] = &b->count[b->ncounts++];
		*of[i] = (struct bwl_book_cpu){ .peer = p[i].peer,
						.cpu = cpu,
						.before = p[i].before,
						.after = p[i].after,
						.rest = p[i].rest };
	}
	take_rows(&r->row[table * BWL_REC_TABLE], b, of);
}

/* Counted first, so that no more memory is used than necessary. */
static void count(const struct bwl_rec *r, uint32_t interval, size_t *rows, size_t *peers)
{
	unsigned cpu;
	uint32_t i;

	for (cpu = 0; cpu < r->ncpus; cpu++) {
		size_t table = cpu * BWL_REC_BANKS + bwl_rec_bank(interval);

		for (i = 0; i < BWL_REC_TABLE; i++)
			*rows += r->row[table * BWL_REC_TABLE + i].id.stamp == interval;
		for (i = 0; i < BWL_REC_PEERS; i++)
			*peers += r->peer[table * BWL_REC_PEERS + i].stamp == interval;
	}
}

int bwl_book_read(const struct bwl_rec *r, uint32_t interval, struct bwl_book *ret,
		  struct bwl_err *e)
{
	struct bwl_book_cpu **of = calloc(BWL_REC_PEERS, sizeof(*of));
	size_t rows = 0, peers = 0;
	unsigned cpu;

	*ret = (struct bwl_book){ .interval = interval };
	count(r, interval, &rows, &peers);
	ret->flow = calloc(rows + 1, sizeof(*ret->flow));
	ret->count = calloc(peers + 1, sizeof(*ret->count));
	if (!of || !ret->flow || !ret->count) {
		free(of);
		bwl_book_free(ret);
		return bwl_fail(e, ENOMEM, "out of memory");
	}
	for (cpu = 0; cpu < r->ncpus; cpu++)
		take_cpu(r, cpu, ret, of);
	free(of);
	ret->other_known = bwl_rec_other(r, interval, &ret->other);
	bwl_book_merge(ret);
	if (ret->ncounts)
		qsort(ret->count, ret->ncounts, sizeof(*ret->count), by_peer);
	return 0;
}

void bwl_book_free(struct bwl_book *b)
{
	free(b->flow);
	free(b->count);
	*b = (struct bwl_book){ 0 };
}
