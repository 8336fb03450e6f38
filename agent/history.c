// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The history's thread: reads the counters every second and writes every ten (history/). Nothing
 * waits for it and nothing depends on it. An error is reported once and retried; what passed
 * meanwhile is in the history afterwards.
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <syslog.h>
#include <time.h>
#include "history/recorder.h"
#include "history_roots.h"
#include "parts.h"
#include "thread.h"

#define SECOND 1000000000ULL
#define LATE_NS 2000000ULL /* after the start of the second */
#define LOOK_SHARE 100     /* looking takes at most one part in so many of a CPU */
#define LOOK_MAX_S 60
#define RETRY_MAX_S 60
#define STOP_S 2

struct class_counter {
	uint32_t state, peer;
	char name[BWL_NAME_LEN]; /* the class; for a tenant "port/DEVICE" */
};

struct history {
	struct agent_thread thread;
	pthread_mutex_t lock;  /* for using the pins; never held while waiting for the disk */
	struct bwl_pins *pins; /* NULL: no longer ours */
	char state_dir[400], era[HIST_ERA];
	uint64_t made_ns, max_bytes;
	/* thread */
	struct hist_db *db;
	struct hist_recorder *rec;
	struct bwl_peer_count *count;
	uint32_t top, room; /* ids below top have names */
	struct class_counter *classes;
	uint32_t nclasses;
	bool has_list;
	uint32_t generation, edits; /* when the list was made */
	unsigned every_s, retry_s;
	int64_t retry_at_s;
	bool told;
	struct agent_history_roots roots;
};

static struct hist_clocks clocks(void)
{
	struct timespec t;

	clock_gettime(CLOCK_REALTIME, &t);
	return (struct hist_clocks){ .wall_s = t.tv_sec, .boot_ns = bwl_now_ns() };
}

static uint64_t until_the_second_has_turned_ns(void)
{
	struct timespec wall;

	clock_gettime(CLOCK_REALTIME, &wall);
	return SECOND - (uint64_t)wall.tv_nsec + LATE_NS;
}

static bool is_counted(const struct bwl_extra *x)
{
	return x->kind == BWL_X_CLASS || x->kind == BWL_X_TENANT;
}

/* Maps counters to names: only when a policy has changed. Under the lock. */
static int list(struct history *v)
{
	const struct bwl_pins *p = v->pins;
	uint32_t i, n = 0;

	v->generation = p->ctl->generation;
	v->edits = p->ctl->edits;
	v->has_list = true;
	for (i = p->schema.max_peers - 1; i && !p->name[i].name[0]; i--)
		;
	v->top = i + 1;
	if (v->top > v->room) {
		free(v->count);
		v->count = calloc(v->top, sizeof(*v->count));
		v->room = v->count ? v->top : 0;
	}
	for (i = 0; i < p->schema.max_extras; i++)
		n += is_counted(&p->extra[i]);
	free(v->classes);
	v->classes = calloc(n + 1, sizeof(*v->classes));
	v->nclasses = 0;
	if (!v->count || !v->classes) {
		v->top = 0;
		return -ENOMEM;
	}
	for (i = 0; i < p->schema.max_extras && v->nclasses < n; i++) {
		const struct bwl_extra *x = &p->extra[i];
		struct class_counter *c = &v->classes[v->nclasses];

		if (!is_counted(x))
			continue;
		v->nclasses++;
		c->state = BWL_EXTRA_STATE(p->schema.max_peers, i) + 1;
		c->peer = x->peer;
		if (x->kind == BWL_X_TENANT)
			snprintf(c->name, sizeof(c->name), "port/%.15s", x->name);
		else
			snprintf(c->name, sizeof(c->name), "%s", bwl_class_name(x->class));
	}
	return 0;
}

static uint64_t less(uint64_t a, uint64_t b)
{
	return a > b ? a - b : 0;
}

static int count_peer(struct history *v, uint32_t id)
{
	const volatile struct bwl_state *in = &v->pins->state[bwl_accept_state(id)];
	const struct bwl_peer_count *n = &v->count[id];
	struct hist_values x;

	if (!v->pins->name[id].name[0] || !(n->bytes | n->drop_bytes))
		return 0;
	/* The peer's counter has both directions, and was read earlier: see bwl_end(). */
	x.v[HIST_ARRIVED] = in->used_bytes;
	x.v[HIST_ARRIVED_DROPPED] = in->drop_bytes;
	x.v[HIST_SENT] = less(n->bytes, x.v[HIST_ARRIVED]);
	x.v[HIST_SENT_DROPPED] = less(n->drop_bytes, x.v[HIST_ARRIVED_DROPPED]);
	return hist_recorder_count(v->rec, bwl_grant_state(id), v->pins->name[id].name, "", &x);
}

static int count_class(struct history *v, const struct class_counter *c)
{
	const volatile struct bwl_state *s = &v->pins->state[c->state];
	struct hist_values x = {
		{ [HIST_SENT] = s->used_bytes, [HIST_SENT_DROPPED] = s->drop_bytes }
	};

	if (c->peer >= v->pins->schema.max_peers || !v->pins->name[c->peer].name[0])
		return 0;
	return hist_recorder_count(v->rec, c->state, v->pins->name[c->peer].name, c->name, &x);
}

/* Under the lock. */
static int look(struct history *v, struct hist_clocks now, struct bwl_err *e)
{
	uint32_t i;
	int r;

	if (!v->has_list && list(v))
		return bwl_fail(e, ENOMEM, "out of memory");
	if (!hist_recorder_look(v->rec, now))
		return 0;
	r = bwl_peercnt_read_first(v->pins, v->top, v->count, e);
	if (r)
		return r;
	for (i = 1; !r && i < v->top; i++)
		r = count_peer(v, i);
	for (i = 0; !r && i < v->nclasses; i++)
		r = count_class(v, &v->classes[i]);
	return r ? bwl_fail(e, -r, "cannot store the counters: %s", strerror(-r)) : 0;
}

static uint64_t cpu_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return (uint64_t)t.tv_sec * SECOND + (uint64_t)t.tv_nsec;
}

static bool is_listed(struct history *v)
{
	bool yes;

	pthread_mutex_lock(&v->lock);
	yes = !v->pins || (v->has_list && v->generation == v->pins->ctl->generation &&
			   v->edits == v->pins->ctl->edits);
	pthread_mutex_unlock(&v->lock);
	return yes;
}

static int write_out(struct history *v, bool renamed, struct hist_clocks now, struct bwl_err *e)
{
	bool numbers = false;
	int r = hist_recorder_flush(v->rec, renamed, e);

	if (!r)
		r = hist_db_tend(v->db, now.wall_s, &numbers, e);
	if (!r && numbers) /* nothing is pending: this only looks the names up again */
		r = hist_recorder_flush(v->rec, true, e);
	if (!r)
		agent_history_enter(&v->roots, v->db, v->state_dir, now.wall_s);
	return r;
}

static int open_history(struct history *v, struct hist_clocks now, struct bwl_err *e)
{
	bool aside = false;
	int r = 0;

	if (!v->db) {
		r = hist_db_open(v->state_dir, v->max_bytes, &v->db, &aside, e);
		if (!r && aside)
			agent_log(
				LOG_WARNING, "history",
				"the history cannot be read (%s); it is set aside as %s/" HIST_FILE
				".bad and a new one is started",
				e->text, v->state_dir);
	}
	if (!r && !v->rec)
		r = hist_recorder_new(v->db, v->era, v->made_ns, now, &v->rec, e);
	return r;
}

static int step(struct history *v, bool last, struct bwl_err *e)
{
	struct hist_clocks now = clocks();
	bool renamed;
	uint64_t cost;
	int r = open_history(v, now, e);

	if (r || (!last && now.wall_s % v->every_s))
		return r;
	renamed = !is_listed(v);
	if (renamed || hist_recorder_is_due(v->rec, now))
		r = write_out(v, renamed, now, e);
	if (r)
		return r;
	cost = cpu_ns();
	pthread_mutex_lock(&v->lock);
	if (renamed)
		v->has_list = false;
	if (v->pins)
		r = look(v, now, e);
	pthread_mutex_unlock(&v->lock);
	cost = (cpu_ns() - cost) * LOOK_SHARE / SECOND;
	v->every_s = cost < LOOK_MAX_S ? 1 + (unsigned)cost : LOOK_MAX_S;
	if (!r && last)
		r = hist_recorder_flush(v->rec, false, e);
	return r;
}

static void close_history(struct history *v)
{
	hist_recorder_free(v->rec);
	hist_db_close(v->db);
	v->rec = NULL;
	v->db = NULL;
}

static void take_result(struct history *v, int r, const struct bwl_err *e)
{
	if (!r) {
		if (v->told)
			agent_log(LOG_NOTICE, "history", "the history is being written again");
		v->told = false;
		v->retry_s = 1;
		return;
	}
	if (!v->told)
		agent_log(LOG_WARNING, "history",
			  "no history is written: %s (see %s); limits and ledger work without it",
			  e->text, v->state_dir);
	v->told = true;
	close_history(v);
	v->retry_at_s = (int64_t)(bwl_now_ns() / SECOND) + v->retry_s;
	v->retry_s = v->retry_s < RETRY_MAX_S / 2 ? v->retry_s * 2 : RETRY_MAX_S;
}

static void run(void *arg)
{
	struct history *v = arg;
	bool on = true;

	while (on) {
		struct bwl_err e = { 0 };

		on = agent_thread_nap(&v->thread, until_the_second_has_turned_ns());
		if (on && (int64_t)(bwl_now_ns() / SECOND) < v->retry_at_s)
			continue;
		take_result(v, step(v, !on, &e), &e);
	}
	close_history(v);
}

static void give_up(void *arg)
{
	struct history *v = arg;

	pthread_mutex_lock(&v->lock);
	v->pins = NULL;
	pthread_mutex_unlock(&v->lock);
}

static void end(void *arg)
{
	struct history *v = arg;

	pthread_mutex_destroy(&v->lock);
	free(v->count);
	free(v->classes);
	free(v);
}

bool agent_history_wanted(struct agent *a)
{
	return a->history_bytes;
}

int agent_history_start(struct agent *a, void **ret_part, struct bwl_err *e)
{
	struct history *v = calloc(1, sizeof(*v));
	int r;

	if (!v)
		return bwl_fail(e, ENOMEM, "out of memory");
	v->pins = a->pins;
	v->max_bytes = a->history_bytes;
	v->made_ns = a->pins->ctl->attached_ns;
	v->every_s = v->retry_s = 1;
	agent_era(a->pins, v->era);
	snprintf(v->state_dir, sizeof(v->state_dir), "%s", a->state_dir);
	pthread_mutex_init(&v->lock, NULL);
	r = agent_thread_start(&v->thread, run, v, e);
	if (r)
		end(v);
	else
		*ret_part = v;
	return r;
}

/* A hanging disk delays nobody: the thread is abandoned, without the pins. */
void agent_history_stop(struct agent *a, void *part)
{
	struct history *v = part;

	(void)a;
	if (agent_thread_stop_within(&v->thread, STOP_S, give_up, end))
		end(v);
	else
		agent_log(
			LOG_WARNING, "history",
			"the disk does not answer: the last seconds are missing from the history");
}
