// SPDX-License-Identifier: GPL-2.0-or-later
/* See chain.h. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <bwl/text.h>
#include "chain.h"

__attribute__((format(printf, 3, 4))) static void say(struct ev_chain *c, bool bad, const char *fmt,
						      ...)
{
	char text[300];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	c->fn(bad, text, c->arg);
}

static void forget(struct ev_chain *c)
{
	free(c->known);
	c->known = NULL;
	c->n = 0;
}

void ev_chain_free(struct ev_chain *c)
{
	forget(c);
}

/* Reports if this interval does not directly follow the last one. */
static void look_between(struct ev_chain *c, const struct ev_entry *x)
{
	const struct ev_id *was = &c->last.id, *now = &x->id;
	unsigned long long at = now->sequence;

	if (ev_id_same(was, now))
		say(c, true, "interval %llu: duplicate interval", at);
	else if (!bwl_hash_equal(&x->previous, &c->last.root))
		say(c, true,
		    "interval %llu: the log has entries between it and interval %llu that are missing here",
		    at, (unsigned long long)was->sequence);
	else if (!ev_follows(was, now) && !now->gap)
		say(c, true,
		    "interval %llu: it does not follow interval %llu, and does not say that one is missing",
		    at, (unsigned long long)was->sequence);
	else if (now->gap)
		say(c, false, "interval %llu says that something before it is missing", at);
	c->gaps += now->gap;
}

#define DAY_S 86400
#define STEP_S 1 /* times are cut to seconds; a clock that is slewed moves 5 ms in 10 s */

/* The times are the DPU's own. Both times of one interval come from one reading of the clock. */
static void look_at_times(struct ev_chain *c, const struct ev_entry *x)
{
	int64_t begin, end, was, by;
	bool has_begin = ev_time_s(x->id.begin, &begin), has_end = ev_time_s(x->id.end, &end);

	if (has_begin && has_end && begin > end)
		say(c, true, "interval %" PRIu64 ": it ends before it begins", x->id.sequence);
	if (!c->begun || (!has_begin && !has_end) || !ev_time_s(c->last.id.end, &was))
		return;
	by = (has_begin ? begin : end) - was;
	/* It may be ahead if an interval is missing in between, or if its begin is not known. */
	if (by >= -STEP_S &&
	    (by <= STEP_S || !has_begin || x->id.gap || !ev_follows(&c->last.id, &x->id)))
		return;
	c->clock_steps++;
	say(c, false, "interval %" PRIu64 ": the DPU's clock was set %s by %" PRId64 " s before it",
	    x->id.sequence, by < 0 ? "back" : "ahead", by < 0 ? -by : by);
}

/* Both ends are known, and x did not end before the last one. */
static bool is_later(const struct ev_entry *last, const struct ev_entry *x)
{
	int64_t was, end;

	return ev_time_s(last->id.end, &was) && ev_time_s(x->id.end, &end) && end >= was;
}

/* Is its epoch the day of its end, give or take one interval? Each day has its own secret. */
static bool is_its_day(const struct ev_entry *x)
{
	int64_t begin, end, span = 0;

	if (!ev_time_s(x->id.end, &end))
		return true;
	if (ev_time_s(x->id.begin, &begin) && begin < end)
		span = end - begin < DAY_S ? end - begin : DAY_S;
	return x->epoch >= (uint64_t)((end > span ? end - span : 0) / DAY_S) &&
	       x->epoch <= (uint64_t)((end + span) / DAY_S);
}

/* A log that changes pseudonyms at will cannot be followed. */
static void look_at_day(struct ev_chain *c, const struct ev_entry *x)
{
	if (!is_its_day(x))
		say(c, true,
		    "interval %" PRIu64 ": its pseudonyms are not those of the day when it ended",
		    x->id.sequence);
	if (c->begun && x->epoch < c->last.epoch && is_later(&c->last, x))
		say(c, true,
		    "interval %" PRIu64
		    ": its pseudonyms are of an earlier day than the last interval's",
		    x->id.sequence);
}

static void look_at_other(struct ev_chain *c, const struct ev_entry *x)
{
	if (!x->id.other_known || ev_sum_is_zero(&x->id.other))
		return;
	c->other_seen++;
	if (!ev_sum_add(&c->other, &x->id.other))
		say(c, true, "interval %" PRIu64 ": sums are above 2^64", x->id.sequence);
}

static int order_of(const struct ev_known *a, const struct bwl_hash *pseudonym, uint32_t cpu)
{
	int order = memcmp(a->pseudonym.b, pseudonym->b, 32);

	return order ? order : a->cpu < cpu ? -1 : a->cpu > cpu;
}

static uint64_t packets(const struct ev_sum *s)
{
	return s->v[EV_FRAMES] + s->v[EV_DROPPED_FRAMES];
}

/* Merges the peers into c->known; both are sorted. */
static void follow(struct ev_chain *c, const struct ev_entry *x, const struct ev_peer *peer,
		   uint32_t n)
{
	bool keep = x->id.other_known && !x->id.other.v[EV_FRAMES] &&
		    !x->id.other.v[EV_DROPPED_FRAMES];
	bool here = c->begun && !strcmp(c->last.id.boot, x->id.boot);
	struct ev_known *all;
	size_t room = c->n + 1, i = 0, m = 0;

	for (uint32_t p = 0; p < n; p++)
		room += peer[p].ncpus;
	all = bwl_must(calloc(room, sizeof(*all)));
	for (uint32_t p = 0; p < n; p++)
		for (size_t k = 0; k < peer[p].ncpus; k++) {
			const struct ev_cpu *now = &peer[p].cpu[k];
			struct ev_sum after = now->after;
			int order = -1;

			for (; i < c->n; i++) {
				order = order_of(&c->known[i], &peer[p].pseudonym, now->cpu);
				if (order >= 0)
					break;
				if (keep)
					all[m++] = c->known[i];
				else
					c->forgotten++;
			}
			if (i < c->n && !order) {
				c->counters++;
				if (!ev_sum_same(&c->known[i].after, &now->before) &&
				    peer[p].balanced)
					say(c, true,
					    "interval %" PRIu64
					    ": the counter of peer %02x%02x%02x%02x… does not begin where the last interval ended",
					    x->id.sequence, peer[p].pseudonym.b[0],
					    peer[p].pseudonym.b[1], peer[p].pseudonym.b[2],
					    peer[p].pseudonym.b[3]);
				if (packets(&c->known[i].after) > packets(&after))
					after = c->known[i].after;
				i++;
			} else if (here && !ev_sum_is_zero(&now->before))
				c->appeared++;
			all[m++] = (struct ev_known){ peer[p].pseudonym, now->cpu, after };
		}
	for (; keep && i < c->n; i++)
		all[m++] = c->known[i];
	c->forgotten += c->n - i;
	free(c->known);
	c->known = all;
	c->n = m;
}

static void look_at_balance(struct ev_chain *c, const struct ev_entry *x,
			    const struct ev_peer *peer, uint32_t n)
{
	char why[EV_WHY];

	for (uint32_t i = 0; i < n; i++) {
		if (peer[i].balanced)
			continue;
		c->unbalanced_peers++;
		bwl_text_ascii(why, sizeof(why), peer[i].why);
		say(c, false, "interval %" PRIu64 ": peer %02x%02x%02x%02x… does not balance: %s",
		    x->id.sequence, peer[i].pseudonym.b[0], peer[i].pseudonym.b[1],
		    peer[i].pseudonym.b[2], peer[i].pseudonym.b[3],
		    *why ? why : "it does not say why");
	}
}

void ev_chain_next(struct ev_chain *c, const struct ev_entry *x, const struct ev_peer *peer,
		   uint32_t n)
{
	if (c->begun)
		look_between(c, x);
	else
		c->first = *x;
	look_at_times(c, x);
	look_at_day(c, x);
	look_at_other(c, x);
	c->boots += !c->begun || strcmp(c->last.id.boot, x->id.boot);
	if (c->begun && (c->last.epoch != x->epoch || strcmp(c->last.id.boot, x->id.boot))) {
		c->epochs += c->last.epoch != x->epoch;
		if (!strcmp(c->last.id.boot, x->id.boot))
			c->forgotten += c->n;
		forget(c);
	}
	follow(c, x, peer, n);
	look_at_balance(c, x, peer, n);
	c->intervals++;
	c->unbalanced += !x->id.balanced;
	c->thinned += x->id.thinned;
	c->other_unknown += !x->id.other_known;
	c->last = *x;
	c->begun = true;
}
