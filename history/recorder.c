// SPDX-License-Identifier: GPL-2.0-or-later
/* See recorder.h. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "recorder.h"

#define NAME 32
#define SECOND 1000000000ULL
#define IDLE_NS (60 * SECOND) /* if nothing has grown, that is written this often */

struct track {
	uint32_t counter;
	bool named, dirty; /* dirty: the counter is not on disk */
	char peer[NAME], class_[NAME];
	int64_t series;           /* 0: not looked up */
	struct hist_values total; /* the counter, as far as it is in the history */
	int64_t start_s;          /* the block's */
	struct hist_block block;
};

struct hist_recorder {
	struct hist_db *db;
	struct hist_state state; /* era; when the last look was */
	uint64_t flushed_ns;     /* 0: never, so the first look is written at once */
	bool begun, silent;      /* silent: the first reading only records the counters' values */
	struct track *track;
	uint32_t n, room;
	uint32_t *hash, mask; /* index + 1 by counter; 0 empty */
	size_t pending;
	/* about the current look */
	int64_t from_s;
	uint64_t seconds, parts;
};

static uint32_t place(const struct hist_recorder *r, uint32_t counter)
{
	uint32_t at = (counter * 2654435761U >> 7) & r->mask;

	while (r->hash[at] && r->track[r->hash[at] - 1].counter != counter)
		at = (at + 1) & r->mask;
	return at;
}

static int grow(struct hist_recorder *r)
{
	uint32_t room = r->room ? 2 * r->room : 64, i;
	struct track *t = reallocarray(r->track, room, sizeof(*t));
	uint32_t *hash;

	if (!t)
		return -ENOMEM;
	r->track = t;
	hash = calloc((size_t)room * 4, sizeof(*hash));
	if (!hash)
		return -ENOMEM;
	free(r->hash);
	r->hash = hash;
	r->mask = room * 4 - 1;
	r->room = room;
	for (i = 0; i < r->n; i++)
		r->hash[place(r, r->track[i].counter)] = i + 1;
	return 0;
}

static struct track *track_of(struct hist_recorder *r, uint32_t counter)
{
	uint32_t at;

	if (r->n == r->room && grow(r))
		return NULL;
	at = place(r, counter);
	if (!r->hash[at]) {
		r->track[r->n] = (struct track){ .counter = counter };
		r->hash[at] = ++r->n;
	}
	return &r->track[r->hash[at] - 1];
}

static int take_count(uint32_t counter, const struct hist_values *x, void *arg)
{
	struct track *t = track_of(arg, counter);

	if (!t)
		return -ENOMEM;
	t->total = *x;
	return 0;
}

static int begin(struct hist_recorder *r, const char *era, uint64_t made_ns, struct hist_clocks now,
		 struct bwl_err *e)
{
	const struct hist_state *s = hist_db_state(r->db);

	if (!strcmp(s->era, era)) {
		r->state = *s;
		return hist_db_counts(r->db, take_count, r, e);
	}
	snprintf(r->state.era, sizeof(r->state.era), "%s", era);
	r->state.boot_ns = made_ns; /* when the counters were 0 */
	r->silent = !*s->era && now.boot_ns - made_ns > HIST_BELIEVED_NS;
	return 0;
}

int hist_recorder_new(struct hist_db *db, const char *era, uint64_t made_ns, struct hist_clocks now,
		      struct hist_recorder **ret, struct bwl_err *e)
{
	struct hist_recorder *r = calloc(1, sizeof(*r));
	int err;

	if (!r)
		return bwl_fail(e, ENOMEM, "out of memory");
	r->db = db;
	err = begin(r, era, made_ns, now, e);
	if (!err && !r->hash && grow(r))
		err = bwl_fail(e, ENOMEM, "out of memory");
	if (err) {
		hist_recorder_free(r);
		return err;
	}
	if (!r->state.wall_s)
		r->state.wall_s = now.wall_s - (int64_t)((now.boot_ns - r->state.boot_ns) / SECOND);
	*ret = r;
	return 0;
}

void hist_recorder_free(struct hist_recorder *r)
{
	uint32_t i;

	if (!r)
		return;
	for (i = 0; i < r->n; i++)
		hist_block_free(&r->track[i].block);
	free(r->track);
	free(r->hash);
	free(r);
}

/* By the clock that does not jump. */
static uint64_t seconds_since(const struct hist_recorder *r, struct hist_clocks now)
{
	return now.boot_ns > r->state.boot_ns
		       ? (now.boot_ns - r->state.boot_ns + SECOND / 2) / SECOND
		       : 0;
}

static bool has_stepped(const struct hist_recorder *r, struct hist_clocks now)
{
	int64_t by = now.wall_s - r->state.wall_s - (int64_t)seconds_since(r, now);

	return by < -1 || by > 1;
}

bool hist_recorder_is_due(const struct hist_recorder *r, struct hist_clocks now)
{
	return r->begun && (now.boot_ns - r->flushed_ns >= HIST_FLUSH_S * SECOND ||
			    r->pending > HIST_PENDING_MAX || (r->pending && has_stepped(r, now)));
}

bool hist_recorder_look(struct hist_recorder *r, struct hist_clocks now)
{
	if (has_stepped(r, now)) {
		r->seconds = seconds_since(r, now);
		r->from_s = now.wall_s - (int64_t)r->seconds;
	} else { /* continues where the last one ended */
		r->from_s = r->state.wall_s;
		r->seconds = now.wall_s > r->from_s ? (uint64_t)(now.wall_s - r->from_s) : 0;
	}
	if (!r->seconds)
		return false;
	r->silent = r->silent && !r->begun;
	r->begun = true;
	r->parts = r->seconds < HIST_PARTS ? r->seconds : HIST_PARTS;
	r->state.wall_s = now.wall_s;
	r->state.boot_ns = now.boot_ns;
	return true;
}

static uint64_t part_of(uint64_t all, uint64_t i, uint64_t parts)
{
	return (uint64_t)((unsigned __int128)all * (i + 1) / parts -
			  (unsigned __int128)all * i / parts);
}

static int add(struct hist_recorder *r, struct track *t, const struct hist_values *grown)
{
	size_t was = t->block.len;
	uint64_t i;
	int err = 0;

	for (i = 0; !err && i < r->parts; i++) {
		int64_t at = r->from_s + (int64_t)((i + 1) * r->seconds / r->parts) - 1;
		struct hist_values x;
		unsigned c;

		for (c = 0; c < HIST_COLS; c++)
			x.v[c] = part_of(grown->v[c], i, r->parts);
		if (!t->block.len)
			t->start_s = at;
		err = hist_block_add(&t->block, (uint32_t)(at - t->start_s), &x);
	}
	r->pending += t->block.len - was;
	return err;
}

int hist_recorder_count(struct hist_recorder *r, uint32_t counter, const char *peer,
			const char *class_, const struct hist_values *x)
{
	struct hist_values grown = { 0 };
	struct track *t;
	unsigned c;

	if (hist_is_zero(x))
		return 0;
	t = track_of(r, counter);
	if (!t)
		return -ENOMEM;
	if (!t->named) {
		snprintf(t->peer, sizeof(t->peer), "%s", peer);
		snprintf(t->class_, sizeof(t->class_), "%s", class_);
		t->named = true;
	}
	/* Counters may be read at slightly different moments, but never fall. */
	for (c = 0; c < HIST_COLS; c++)
		grown.v[c] = x->v[c] > t->total.v[c] ? x->v[c] - t->total.v[c] : 0;
	if (hist_is_zero(&grown))
		return 0;
	t->dirty = true;
	hist_sum(&t->total, &grown);
	return r->silent ? 0 : add(r, t, &grown);
}

/* Split so that no reader has to look further back than HIST_MAX_SPAN. */
static int write_block(struct hist_recorder *r, const struct track *t, struct bwl_err *e)
{
	struct hist_cursor c = hist_cursor(t->block.data, t->block.len);
	struct hist_block b = { 0 };
	uint32_t unit, first = 0;
	struct hist_values x;
	int err = 0, more;

	if (t->block.last < HIST_MAX_SPAN)
		return hist_db_add(r->db, t->series, t->start_s, t->block.data, t->block.len, e);
	do {
		more = hist_next(&c, &unit, &x);
		if (b.len && (more != 1 || unit - first >= HIST_MAX_SPAN)) {
			err = hist_db_add(r->db, t->series, t->start_s + first, b.data, b.len, e);
			hist_block_free(&b);
		}
		if (more != 1 || err)
			break;
		if (!b.len)
			first = unit;
		if (hist_block_add(&b, unit - first, &x))
			err = bwl_fail(e, ENOMEM, "out of memory");
	} while (!err);
	hist_block_free(&b);
	return err;
}

static int write_track(struct hist_recorder *r, struct track *t, struct bwl_err *e)
{
	int err = 0;

	if (t->block.len && !t->series)
		err = hist_db_series(r->db, t->peer, t->class_, &t->series, e);
	if (!err && t->block.len)
		err = write_block(r, t, e);
	return err ? err : hist_db_count(r->db, t->counter, &t->total, e);
}

static void settle(struct hist_recorder *r, bool renamed)
{
	uint32_t i;

	for (i = 0; i < r->n; i++) {
		struct track *t = &r->track[i];

		if (renamed) {
			t->named = false;
			t->series = 0;
		}
		t->dirty = false;
		t->block.len = t->block.last = 0;
		if (t->block.room > 4096)
			hist_block_free(&t->block);
	}
	r->pending = 0;
	r->flushed_ns = r->state.boot_ns;
}

int hist_recorder_flush(struct hist_recorder *r, bool renamed, struct bwl_err *e)
{
	const struct hist_state *was = hist_db_state(r->db);
	bool other = strcmp(was->era, r->state.era);
	bool any = other || r->state.boot_ns - was->boot_ns >= IDLE_NS;
	uint32_t i;
	int err;

	for (i = 0; !any && i < r->n; i++)
		any = r->track[i].dirty;
	if (any) {
		err = hist_db_begin(r->db, e);
		if (!err && other)
			err = hist_db_forget_counts(r->db, e);
		for (i = 0; !err && i < r->n; i++)
			if (r->track[i].dirty || (other && !hist_is_zero(&r->track[i].total)))
				err = write_track(r, &r->track[i], e);
		if (!err)
			err = hist_db_commit(r->db, &r->state, e);
		if (err)
			return err;
	}
	settle(r, renamed);
	return 0;
}
