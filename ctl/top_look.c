// SPDX-License-Identifier: GPL-2.0-or-later
/* See top.h: takes the counters, selected and sorted. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "top.h"

const char *const top_sort_words[] = {
#define X(e, word) word,
	TOP_SORTS(X)
#undef X
		NULL
};

static int measure(struct ctl *c, const struct ctl_sample *before, const struct ctl_sample *now,
		   struct top_look *k)
{
	uint32_t *ids;
	int r = ctl_view_ids(c, &k->v, 0, NULL, &ids, &k->all);

	if (r)
		return r;
	k->rows = calloc(k->all + 1, sizeof(*k->rows));
	for (size_t i = 0; k->rows && i < k->all; i++) {
		struct top_row *row = &k->rows[i];

		row->id = ids[i];
		row->speed = ctl_speed(before, now, ids[i]);
		k->pass_bps += row->speed.passed_bps;
		k->drop_bps += row->speed.dropped_bps;
		k->passed_bytes += now->count[ids[i]].bytes;
		k->dropped_bytes += now->count[ids[i]].drop_bytes;
	}
	free(ids);
	return k->rows ? 0 : bwl_fail(&c->err, ENOMEM, "out of memory");
}

/* The generation may have changed since, and the maps too. */
static int look_again(struct ctl *c, struct top_look *k)
{
	struct bwl_view *v = &k->v;
	uint64_t now_ns = bwl_now_ns();
	int r;

	if (v->pins && !v->pins->copied && bwl_pins_are_there(v->pins) &&
	    v->pins->ctl->generation == k->generation && bwl_active_slot(v->pins) == v->gen.slot) {
		v->now_ns = now_ns;
		return 0;
	}
	top_look_free(k);
	r = ctl_view_open(c, false, v);
	if (!r)
		k->generation = v->pins->ctl->generation;
	return r;
}

int top_look(struct ctl *c, const struct ctl_sample *before, struct ctl_sample *now,
	     struct top_look *k)
{
	int r = look_again(c, k);

	free(k->rows);
	*k = (struct top_look){ .v = k->v, .generation = k->generation };
	if (!r)
		r = ctl_sample(c, k->v.pins, now);
	if (!r && before->count)
		r = measure(c, before, now, k);
	return r;
}

void top_look_free(struct top_look *k)
{
	free(k->rows);
	if (k->v.pins)
		bwl_view_close(&k->v);
	*k = (struct top_look){ 0 };
}

bool top_peer(const struct top_look *k, const struct top_row *row, struct bwl_peer_row *ret)
{
	*ret = (struct bwl_peer_row){ .v = &k->v,
				      .id = row->id,
				      .body = ctl_view_peer(&k->v, row->id),
				      .speed = &row->speed };
	if (!ret->body)
		return false;
	bwl_grant_left(&k->v, row->id, ret->body, &ret->left);
	return true;
}

static double key_of(const struct top_look *k, const struct top_row *row, enum top_sort sort)
{
	struct bwl_peer_row p;
	double rate;

	if (sort == TOP_NOW || sort == TOP_NAME)
		return row->speed.passed_bps + row->speed.dropped_bps;
	if (sort == TOP_PASSES || sort == TOP_DROPS)
		return sort == TOP_PASSES ? row->speed.passed_bps : row->speed.dropped_bps;
	if (!top_peer(k, row, &p))
		return -1;
	rate = (double)bwl_rate_decode(&p.body->grant.rate);
	switch (sort) {
	case TOP_STATE: /* those that are not live first */
		return bwl_standing(&k->v, row->id, p.body);
	case TOP_LIMIT:
		return rate;
	case TOP_OF:
		return rate > 0 ? row->speed.passed_bps / rate : 0;
	default:
		return p.left.has_volume && p.left.volume
			       ? (double)p.left.used / (double)p.left.volume
			       : -1;
	}
}

/* Rows come sorted by name: equal ones keep that order. */
static int by_key(const void *a, const void *b)
{
	const struct top_row *x = a, *y = b;

	return x->key < y->key ? 1 : x->key > y->key ? -1 : x->id < y->id ? -1 : x->id > y->id;
}

static int by_name(const void *a, const void *b, void *names)
{
	const struct bwl_name *name = names;

	return strncmp(name[((const struct top_row *)a)->id].name,
		       name[((const struct top_row *)b)->id].name, BWL_NAME_LEN);
}

/* Rows that are not selected go behind the others, and may be selected again. */
void top_choose(struct top_look *k, const struct top_choice *t)
{
	char name[BWL_NAME_LEN];
	size_t n = 0;

	for (size_t i = 0; i < k->all; i++) {
		struct top_row row = k->rows[i];

		if (*t->filter &&
		    (!bwl_peer_name(k->v.pins, row.id, name) || !strcasestr(name, t->filter)))
			continue;
		k->rows[i] = k->rows[n];
		row.key = key_of(k, &row, t->sort);
		k->rows[n++] = row;
	}
	k->n = n;
	if (t->sort == TOP_NAME)
		qsort_r(k->rows, n, sizeof(*k->rows), by_name, k->v.pins->name);
	else
		qsort(k->rows, n, sizeof(*k->rows), by_key);
}

void top_head(const struct top_look *k, FILE *f)
{
	const struct bwl_view *v = &k->v;
	uint64_t heartbeat = bwl_silent_at(v);
	const char *todo, *why = bwl_why_silent(v->pins, v->gen.base, v->now_ns, &todo);
	char a[BWL_UNIT_BUF], b[BWL_UNIT_BUF], when[BWL_WHEN_BUF];
	const char *stop = bwl_is_stopped(v->pins)               ? "STOPPED, "
			   : v->pins->ctl->stop == BWL_UPGRADING ? "UPGRADING, "
			   : v->pins->ctl->stop == BWL_UNJUDGED  ? "NOT JUDGED, "
			   : v->pins->ctl->stop                  ? "NOT OPENED, "
								 : "";

	fprintf(f, "%s: %s%zu peer%s, %s passes, %s is dropped, ", v->gen.base->node_name, stop,
		k->all, BWL_S(k->all), bwl_human_rate(k->pass_bps, a),
		bwl_human_rate(k->drop_bps, b));
	if (heartbeat == BWL_NEVER_NS)
		fputs("no heartbeat is asked for", f);
	else if (heartbeat <= v->now_ns && why)
		fprintf(f, "%s: %s", why, todo);
	else if (!heartbeat)
		fputs("heartbeat never renewed", f);
	else
		fprintf(f, "heartbeat %s %s", heartbeat > v->now_ns ? "lapses" : "lapsed",
			bwl_when(heartbeat, v->now_ns, when));
	fputc('\n', f);
}
