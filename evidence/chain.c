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

static void forget_values(struct ev_chain *c)
{
	free(c->by_value);
	c->by_value = NULL;
}

static void forget(struct ev_chain *c)
{
	forget_values(c);
	free(c->known);
	c->known = NULL;
	c->n = 0;
	c->room = (struct ev_sum){ { 0 } };
}

void ev_chain_free(struct ev_chain *c)
{
	forget(c);
	free(c->boot);
	c->boot = NULL;
	c->nboots = 0;
}

void ev_chain_cut(struct ev_chain *c)
{
	forget(c);
	c->cut = true;
	c->has_end = c->is_end = false;
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
}

/* A boot that is over does not return. Otherwise counters need not be followed, whenever one likes.
 */
static void look_at_boot(struct ev_chain *c, const struct ev_entry *x, bool same)
{
	size_t i = 0;

	if (same)
		return;
	while (i < c->nboots && strcmp(c->boot[i], x->id.boot))
		i++;
	if (i < c->nboots && !c->cut)
		say(c, true, "interval %" PRIu64 ": it is of a boot that was over before",
		    x->id.sequence);
	c->boot = bwl_must(reallocarray(c->boot, c->nboots + 1, sizeof(*c->boot)));
	strcpy(c->boot[c->nboots++], x->id.boot);
}

#define DAY_S 86400
#define STEP_S 1 /* times are cut to seconds; a clock that is slewed moves 5 ms in 10 s */

/* The times are the DPU's own. Both times of one interval come from one reading of the clock. */
static void look_at_times(struct ev_chain *c, const struct ev_entry *x, bool follows)
{
	int64_t begin, end, by;
	bool has_begin = ev_time_s(x->id.begin, &begin), has_end = ev_time_s(x->id.end, &end);

	if (has_begin && has_end && begin > end)
		say(c, true, "interval %" PRIu64 ": it ends before it begins", x->id.sequence);
	if (!c->has_end || (!has_begin && !has_end))
		return;
	by = (has_begin ? begin : end) - c->end_s;
	/*
	 * It may be ahead if an interval is missing in between, or has no end, or if its begin is
	 * not known.
	 */
	if (by >= -STEP_S && (by <= STEP_S || !has_begin || !c->is_end || x->id.gap || !follows))
		return;
	c->clock_steps++;
	say(c, false, "interval %" PRIu64 ": the DPU's clock was set %s by %" PRId64 " s before it",
	    x->id.sequence, by < 0 ? "back" : "ahead", by < 0 ? -by : by);
}

/*
 * Is its epoch the day of its end, give or take one interval? Each day has its own secret. Without
 * an end it is the day on which it was entered, which is after its begin.
 */
static bool is_its_day(const struct ev_entry *x)
{
	int64_t begin, end, span = 0;
	bool has_begin = ev_time_s(x->id.begin, &begin);

	if (!ev_time_s(x->id.end, &end))
		return !has_begin || x->epoch >= (uint64_t)(begin / DAY_S);
	if (has_begin && begin < end)
		span = end - begin < DAY_S ? end - begin : DAY_S;
	return x->epoch >= (uint64_t)((end > span ? end - span : 0) / DAY_S) &&
	       x->epoch <= (uint64_t)((end + span) / DAY_S);
}

/*
 * A log that changes pseudonyms at will cannot be followed. Compared with the last interval whose
 * end is known: one without may have waited, and then has a later day than its successors.
 */
static void look_at_day(struct ev_chain *c, const struct ev_entry *x)
{
	int64_t end;
	bool has_end = ev_time_s(x->id.end, &end);

	if (!is_its_day(x))
		say(c, true,
		    "interval %" PRIu64 ": its pseudonyms are not those of the day when it %s",
		    x->id.sequence,
		    has_end ? "ended" : "was entered, which cannot be before it began");
	if (c->has_end && x->epoch < c->day && (!has_end || end >= c->end_s))
		say(c, true,
		    "interval %" PRIu64
		    ": its pseudonyms are of an earlier day than the last interval's",
		    x->id.sequence);
	c->is_end = has_end;
	if (!has_end)
		return;
	c->has_end = true;
	c->end_s = end;
	c->day = x->epoch;
}

static void look_at_other(struct ev_chain *c, const struct ev_entry *x)
{
	if (!x->id.other_known)
		say(c, false,
		    "interval %" PRIu64 " does not know what passed without a peer: that is a gap",
		    x->id.sequence);
	if (!x->id.other_known || ev_sum_is_zero(&x->id.other))
		return;
	c->other_seen++;
	if (!ev_sum_add(&c->other, &x->id.other) || !ev_sum_add(&c->room, &x->id.other))
		say(c, true, "interval %" PRIu64 ": sums are above 2^64", x->id.sequence);
}

static int order_of(const struct ev_known *a, const struct bwl_hash *pseudonym, uint32_t cpu)
{
	int order = memcmp(a->pseudonym.b, pseudonym->b, 32);

	return order ? order : a->cpu < cpu ? -1 : a->cpu > cpu;
}

static int order_of_value(const struct ev_known *a, uint32_t cpu, const struct ev_sum *s)
{
	if (a->cpu != cpu)
		return a->cpu < cpu ? -1 : 1;
	for (int i = 0; i < EV_NUMBERS; i++)
		if (a->after.v[i] != s->v[i])
			return a->after.v[i] < s->v[i] ? -1 : 1;
	return 0;
}

static int compare_values(const void *a, const void *b)
{
	const struct ev_known *const *x = a, *const *y = b;

	return order_of_value(*x, (*y)->cpu, &(*y)->after);
}

/*
 * The first of the counters of this CPU that had that value when they were last seen, in the order
 * of c->by_value: one of them under another day's pseudonym. NULL: none.
 */
static struct ev_known **find_value(struct ev_chain *c, uint32_t cpu, const struct ev_sum *s)
{
	size_t lo = 0, hi = c->n;

	if (!c->n)
		return NULL;
	if (!c->by_value) {
		c->by_value = bwl_must(calloc(c->n, sizeof(struct ev_known *)));
		for (size_t i = 0; i < c->n; i++)
			c->by_value[i] = &c->known[i];
		qsort(c->by_value, c->n, sizeof(struct ev_known *), compare_values);
	}
	while (lo < hi) {
		size_t mid = (lo + hi) / 2;

		if (order_of_value(c->by_value[mid], cpu, s) < 0)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo < c->n && !order_of_value(c->by_value[lo], cpu, s) ? &c->by_value[lo] : NULL;
}

/* k was followed under another pseudonym since, up to this value. gap: also with a break in it. */
static bool went_on_as_another(struct ev_chain *c, const struct ev_known *k,
			       const struct ev_sum *value, bool gap)
{
	struct ev_known **at = find_value(c, k->cpu, value);

	for (; at && at < c->by_value + c->n && !order_of_value(*at, k->cpu, value); at++)
		if ((*at)->seen > k->seen && (gap || (*at)->start <= k->seen)) {
			(*at)->moved = true;
			return true;
		}
	return false;
}

static void add(struct ev_chain *c, const struct ev_entry *x, struct ev_sum *to,
		const struct ev_sum *s)
{
	if (!ev_sum_add(to, s))
		say(c, true, "interval %" PRIu64 ": sums are above 2^64", x->id.sequence);
}

/* A counter that is not known by its pseudonym. Returns since when it can be followed. */
static uint64_t look_at_new(struct ev_chain *c, const struct ev_entry *x, const struct ev_peer *p,
			    const struct ev_cpu *now)
{
	struct ev_known **at, *was = NULL;

	if (!c->begun || c->cut)
		return 0;
	if (ev_sum_is_zero(&now->before))
		return c->intervals;
	at = find_value(c, now->cpu, &now->before);
	for (; at && at < c->by_value + c->n && !order_of_value(*at, now->cpu, &now->before); at++)
		if (!(*at)->moved && (!was || (*at)->start < was->start))
			was = *at;
	if (was) {
		was->moved = true;
		c->counters++;
		return was->start;
	}
	c->appeared++;
	add(c, x, &c->appeared_at, &now->before);
	return p->balanced ? c->intervals : 0;
}

/* With the tables, counters may have been made anew, as by a detach: then they begin at zero. */
static bool began_anew(struct ev_chain *c, const struct ev_entry *x, const struct ev_cpu *now,
		       const struct ev_known *k)
{
	struct ev_sum by = now->before;

	if (k->tables == x->id.tables)
		return false;
	if (ev_sum_less(&by, &k->after))
		return went_on_as_another(c, k, &now->before, true);
	c->appeared += !ev_sum_is_zero(&now->before);
	add(c, x, &c->appeared_at, &now->before);
	return true;
}

/* k: the same counter when it was last seen. Must go on from there. */
static void look_at_known(struct ev_chain *c, const struct ev_entry *x, const struct ev_peer *p,
			  const struct ev_cpu *now, const struct ev_known *k)
{
	struct ev_sum by = now->before;
	bool grew = ev_sum_less(&by, &k->after);

	if (ev_sum_same(&k->after, &now->before) ||
	    went_on_as_another(c, k, &now->before, k->in_gap || k->in_other)) {
		c->counters++;
	} else if (!p->balanced) { /* it says so: look_at_balance() */
		c->open++;
	} else if (grew && (k->in_gap || (k->in_other && ev_sum_less(&c->room, &by)))) {
		c->jumps++;
		add(c, x, &c->grown, &by);
	} else if (began_anew(c, x, now, k)) {
		c->forgotten++;
	} else {
		say(c, true,
		    "interval %" PRIu64
		    ": the counter of peer %02x%02x%02x%02x… does not begin where the last interval ended",
		    x->id.sequence, p->pseudonym.b[0], p->pseudonym.b[1], p->pseudonym.b[2],
		    p->pseudonym.b[3]);
	}
}

static uint64_t packets(const struct ev_sum *s)
{
	return s->v[EV_FRAMES] + s->v[EV_DROPPED_FRAMES];
}

/*
 * Keeps a counter that this interval does not have; but not for ever: one that goes on under
 * another pseudonym only until two days are over.
 */
static size_t keep(const struct ev_chain *c, const struct ev_entry *x, const struct ev_known *k,
		   struct ev_known *to)
{
	if (k->moved && k->epoch != x->epoch && k->epoch != c->epoch_before)
		return 0;
	*to = *k;
	to->in_gap |= !x->id.other_known;
	to->in_other |= !ev_sum_is_zero(&x->id.other);
	return 1;
}

/* Judges the interval's counters by c->known, and writes them to now, as they are known from here
 * on. */
static size_t judge_counters(struct ev_chain *c, const struct ev_entry *x,
			     const struct ev_peer *peer, uint32_t n, struct ev_known *now)
{
	size_t i = 0, m = 0;

	for (uint32_t p = 0; p < n; p++)
		for (size_t k = 0; k < peer[p].ncpus; k++) {
			const struct ev_cpu *cpu = &peer[p].cpu[k];
			struct ev_known *to = &now[m++];
			const struct ev_known *was;

			*to = (struct ev_known){ .pseudonym = peer[p].pseudonym,
						 .cpu = cpu->cpu,
						 .after = cpu->after,
						 .tables = x->id.tables,
						 .epoch = x->epoch,
						 .seen = c->intervals };
			while (i < c->n && order_of(&c->known[i], &to->pseudonym, to->cpu) < 0)
				i++;
			if (i == c->n || order_of(&c->known[i], &to->pseudonym, to->cpu)) {
				to->start = look_at_new(c, x, &peer[p], cpu);
				continue;
			}
			was = &c->known[i];
			look_at_known(c, x, &peer[p], cpu, was);
			to->start = was->start;
			if (to->tables == was->tables && packets(&was->after) > packets(&to->after))
				to->after = was->after;
		}
	return m;
}

/* Merges the peers into c->known; both are sorted. */
static void follow(struct ev_chain *c, const struct ev_entry *x, const struct ev_peer *peer,
		   uint32_t n)
{
	struct ev_known *all, *now;
	size_t room = 1, count, i = 0, m = 0;

	for (uint32_t p = 0; p < n; p++)
		room += peer[p].ncpus;
	now = bwl_must(calloc(room, sizeof(*now)));
	all = bwl_must(calloc(room + c->n, sizeof(*all)));
	for (size_t k = 0; k < c->n; k++)
		c->known[k].in_gap |= x->id.gap;
	count = judge_counters(c, x, peer, n, now);
	for (size_t k = 0; k < count; k++) {
		for (; i < c->n && order_of(&c->known[i], &now[k].pseudonym, now[k].cpu) < 0; i++)
			m += keep(c, x, &c->known[i], &all[m]);
		i += i < c->n && !order_of(&c->known[i], &now[k].pseudonym, now[k].cpu);
		all[m++] = now[k];
	}
	for (; i < c->n; i++)
		m += keep(c, x, &c->known[i], &all[m]);
	free(now);
	forget_values(c);
	free(c->known);
	c->known = all;
	c->n = m;
}

/* Do its records and counters agree all the same? Then it has nothing that is not shown. */
static bool adds_up(const struct ev_peer *p)
{
	struct ev_sum records, before, after;

	return ev_peer_records(p, &records) && ev_sum_add(&records, &p->unclassed) &&
	       ev_peer_counters(p, &before, &after) && ev_sum_less(&after, &before) &&
	       ev_sum_same(&records, &after);
}

static void look_at_balance(struct ev_chain *c, const struct ev_entry *x,
			    const struct ev_peer *peer, uint32_t n)
{
	char why[EV_WHY];

	for (uint32_t i = 0; i < n; i++) {
		if (peer[i].balanced)
			continue;
		c->unbalanced_peers++;
		c->open += !adds_up(&peer[i]);
		bwl_text_ascii(why, sizeof(why), peer[i].why);
		say(c, false, "interval %" PRIu64 ": peer %02x%02x%02x%02x… does not balance: %s",
		    x->id.sequence, peer[i].pseudonym.b[0], peer[i].pseudonym.b[1],
		    peer[i].pseudonym.b[2], peer[i].pseudonym.b[3], why);
	}
}

void ev_chain_next(struct ev_chain *c, const struct ev_entry *x, const struct ev_peer *peer,
		   uint32_t n)
{
	bool same_boot = c->begun && !c->cut && !strcmp(c->last.id.boot, x->id.boot);

	if (!c->begun)
		c->first = *x;
	else if (!c->cut)
		look_between(c, x);
	look_at_boot(c, x, same_boot);
	if (!same_boot)
		forget(c);
	look_at_times(c, x, c->begun && ev_follows(&c->last.id, &x->id));
	look_at_day(c, x);
	look_at_other(c, x);
	c->boots += !same_boot && !(c->cut && !strcmp(c->last.id.boot, x->id.boot));
	if (c->begun && c->last.epoch != x->epoch) {
		c->epochs++;
		c->epoch_before = c->last.epoch;
	}
	follow(c, x, peer, n);
	look_at_balance(c, x, peer, n);
	c->intervals++;
	c->gaps += x->id.gap && c->begun;
	c->unbalanced += !x->id.balanced;
	c->thinned += x->id.thinned;
	c->other_unknown += !x->id.other_known;
	c->last = *x;
	c->begun = true;
	c->cut = false;
}

bool ev_chain_has_gap(const struct ev_chain *c)
{
	return c->gaps || c->other_unknown || c->other_seen || c->jumps || c->appeared ||
	       c->forgotten || c->open;
}
