// SPDX-License-Identifier: GPL-2.0-or-later
/* See sums.h. */
#include <stdlib.h>
#include "maps/reason.h"
#include "bucket.h"
#include "sums.h"

struct sum {
	uint32_t peer;
	uint8_t reason;
	bool used, mixed;
	uint64_t told_ns, events, bytes;
	struct bwl_event example;
};

/* For one kind at one port. */
struct queue {
	struct bucket lines;
	struct sum own[SUMS_BURST]; /* by peer and reason; for junk only the first, for all of it */
	struct sum rest;            /* events that got no sum of their own */
};

struct sums {
	sums_fn fn;
	void *arg;
	struct queue *queue[_BWL_EVENT_MAX][BWL_MAX_PORTS]; /* NULL: none yet */
};

bool sums_is_junk(uint32_t kind)
{
	return kind == BWL_E_NEW_DEST || kind == BWL_E_SPOOF || kind == BWL_E_DROP;
}

bool sums_is_told(const struct bwl_event *e)
{
	if (e->kind >= _BWL_EVENT_MAX || e->port >= BWL_MAX_PORTS)
		return false;
	switch (e->reason) {
	case BWL_R_PEER_RATE:
	case BWL_R_FLOOR_RATE:
	case BWL_R_CLASS_RATE:
	case BWL_R_ZONE_RATE:
	case BWL_R_PORT_RATE:
	case BWL_R_NODE_RATE:
	case BWL_R_ACCEPT_RATE:
	case BWL_R_NEIGHBOUR_RATE:
	case BWL_R_IKE_RATE:
	case BWL_R_CONTENDED:
		return false;
	default:
		return true;
	}
}

struct sums *sums_new(sums_fn fn, void *arg)
{
	struct sums *s = calloc(1, sizeof(*s));

	if (s) {
		s->fn = fn;
		s->arg = arg;
	}
	return s;
}

void sums_free(struct sums *s)
{
	if (!s)
		return;
	for (unsigned k = 0; k < _BWL_EVENT_MAX; k++)
		for (unsigned p = 0; p < BWL_MAX_PORTS; p++)
			free(s->queue[k][p]);
	free(s);
}

static uint64_t interval_of(uint32_t kind)
{
	return sums_is_junk(kind) ? SUMS_JUNK_NS : SUMS_INTERVAL_NS;
}

static bool may_say(struct queue *q, uint32_t kind, uint64_t now_ns)
{
	return sums_is_junk(kind) ? bucket_take(&q->lines, 1, SUMS_JUNK_NS, now_ns)
				  : bucket_take(&q->lines, SUMS_BURST, SUMS_REFILL_NS, now_ns);
}

static void count(struct sum *x, const struct bwl_event *e, uint64_t now_ns)
{
	if (!x->events++) {
		x->example = *e;
		x->mixed = false;
	}
	x->bytes += e->len;
	x->mixed |= x->example.peer != e->peer || x->example.reason != e->reason;
	if (!x->used)
		x->told_ns = now_ns;
	x->used = true;
}

static void tell(struct sums *s, struct sum *x, uint64_t now_ns)
{
	struct sums_line l = { .example = x->example,
			       .events = x->events,
			       .bytes = x->bytes,
			       .since_ns = x->told_ns,
			       .sum = true,
			       .mixed = x->mixed };

	x->events = x->bytes = 0;
	x->told_ns = now_ns;
	s->fn(&l, s->arg);
}

static struct queue *queue_of(struct sums *s, const struct bwl_event *e)
{
	struct queue **q = &s->queue[e->kind][e->port];

	if (!*q)
		*q = calloc(1, sizeof(**q));
	return *q;
}

/* Returns the sum that counts e, or a free one (!used), or NULL. */
static struct sum *find(struct queue *q, const struct bwl_event *e)
{
	struct sum *room = NULL;

	if (sums_is_junk(e->kind))
		return &q->own[0];
	for (unsigned i = 0; i < SUMS_BURST; i++) {
		struct sum *x = &q->own[i];

		if (x->used && x->peer == e->peer && x->reason == e->reason)
			return x;
		if (!x->used && !room)
			room = x;
	}
	return room;
}

void sums_add(struct sums *s, const struct bwl_event *e, uint64_t now_ns)
{
	struct sums_line l = { .example = *e, .events = 1, .bytes = e->len, .since_ns = now_ns };
	struct queue *q = sums_is_told(e) ? queue_of(s, e) : NULL;
	struct sum *x = q ? find(q, e) : NULL;

	if (!q)
		return;
	if (x && x->used) {
		count(x, e, now_ns);
	} else if (x && may_say(q, e->kind, now_ns)) {
		*x = (struct sum){
			.peer = e->peer, .reason = e->reason, .used = true, .told_ns = now_ns
		};
		s->fn(&l, s->arg);
	} else {
		count(&q->rest, e, now_ns);
	}
}

static void merge(struct sum *to, const struct sum *x)
{
	if (!x->events)
		return;
	if (!to->events) {
		to->example = x->example;
		to->mixed = false;
	}
	if (!to->used)
		to->told_ns = x->told_ns;
	to->used = true;
	to->mixed |= x->mixed || to->example.peer != x->example.peer ||
		     to->example.reason != x->example.reason;
	to->events += x->events;
	to->bytes += x->bytes;
}

static void tick_queue(struct sums *s, struct queue *q, uint32_t kind, uint64_t now_ns)
{
	uint64_t interval = interval_of(kind);

	for (unsigned i = 0; i < SUMS_BURST; i++) {
		struct sum *x = &q->own[i];

		if (!x->used || now_ns - x->told_ns < interval)
			continue;
		if (x->events && may_say(q, kind, now_ns)) {
			tell(s, x, now_ns);
			continue;
		}
		merge(&q->rest, x); /* unless it has been quiet */
		*x = (struct sum){ 0 };
	}
	if (!q->rest.used || now_ns - q->rest.told_ns < interval)
		return;
	if (q->rest.events)
		tell(s, &q->rest, now_ns);
	else
		q->rest.used = false;
}

void sums_tick(struct sums *s, uint64_t now_ns)
{
	for (unsigned k = 0; k < _BWL_EVENT_MAX; k++)
		for (unsigned p = 0; p < BWL_MAX_PORTS; p++)
			if (s->queue[k][p])
				tick_queue(s, s->queue[k][p], k, now_ns);
}

void sums_end(struct sums *s, uint64_t now_ns)
{
	for (unsigned k = 0; k < _BWL_EVENT_MAX; k++) {
		for (unsigned p = 0; p < BWL_MAX_PORTS; p++) {
			struct queue *q = s->queue[k][p];

			for (unsigned i = 0; q && i < SUMS_BURST; i++) {
				merge(&q->rest, &q->own[i]);
				q->own[i] = (struct sum){ 0 };
			}
			if (q && q->rest.events)
				tell(s, &q->rest, now_ns);
		}
	}
}
