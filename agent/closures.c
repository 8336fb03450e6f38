/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Whatever is found closed in the maps goes into the journal (docs/journal.md): by a tool that could not
 * write it, by us after a sign of tampering, by the gate. On a thread of its own, which may wait for the
 * disk: nobody waits for it.
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <syslog.h>
#include <time.h>
#include <unistd.h>
#include "agent.h"
#include "journal/journal.h"

#define SECOND 1000000000ULL
#define REPEAT_NS (600 * SECOND)

/* What changes with everything that closes, and costs nothing to look at. */
struct numbers {
	uint32_t seq, all, stop, generation, edits;
	bool clamped;
};

struct agent_closures {
	pthread_t thread;
	pthread_mutex_t lock;
	pthread_cond_t cond;
	bool stop, written;
	struct bwl_pins *pins;
	struct numbers at;	/* all of it is in the journal */
	char told[sizeof(((struct bwl_err *)0)->text)];
	uint64_t told_ns;
};

static struct numbers numbers_of(const struct bwl_pins *p)
{
	const volatile struct bwl_control *c = p->ctl;
	struct numbers n;

	memset(&n, 0, sizeof(n));
	n = (struct numbers){ c->seq, c->revoked_all, c->stop, c->generation, c->edits, bwl_is_clamped(p) };
	return n;
}

static bool is_same(const struct numbers *a, const struct numbers *b)
{
	return a->seq == b->seq && a->all == b->all && a->stop == b->stop && a->generation == b->generation &&
	       a->edits == b->edits && a->clamped == b->clamped;
}

static void tell(struct agent_closures *v, const struct bwl_err *e)
{
	uint64_t now = bwl_now_ns();

	if (!strcmp(v->told, e->text) && now - v->told_ns < REPEAT_NS)
		return;
	snprintf(v->told, sizeof(v->told), "%s", e->text);
	v->told_ns = now;
	agent_log(LOG_ALERT, "journal", "%s; what is closed in the maps holds until reboot only", e->text);
}

static void step(struct agent_closures *v)
{
	struct numbers now = numbers_of(v->pins);
	struct bwl_err e = { 0 };
	int still, r;

	if (v->written && is_same(&now, &v->at))
		return;
	still = bwl_pins_still(v->pins);	/* not in the middle of a grant, whose record comes first */
	if (still < 0)
		return;
	r = bwl_journal_note(v->pins, &e);
	close(still);
	if (r == -EAGAIN)
		return;
	v->written = !r;
	v->at = now;
	if (r)
		tell(v, &e);
	else if (*v->told)
		agent_log(LOG_NOTICE, "journal", "what is closed is in the journal again");
	if (!r)
		*v->told = '\0';
}

static void *run(void *arg)
{
	struct agent_closures *v = arg;
	struct timespec t;

	pthread_mutex_lock(&v->lock);
	while (!v->stop) {
		pthread_mutex_unlock(&v->lock);
		step(v);
		clock_gettime(CLOCK_MONOTONIC, &t);
		t.tv_sec++;
		pthread_mutex_lock(&v->lock);
		while (!v->stop && !pthread_cond_timedwait(&v->cond, &v->lock, &t))
			;
	}
	pthread_mutex_unlock(&v->lock);
	step(v);
	return NULL;
}

void agent_closures_start(struct agent *a)
{
	struct agent_closures *v;

	if (a->closures || a->once || !bwl_journal_dir(a->pins->ctl->drill))
		return;
	v = calloc(1, sizeof(*v));
	if (!v)
		return;
	v->pins = a->pins;	/* which outlives the thread */
	pthread_mutex_init(&v->lock, NULL);
	agent_cond_init(&v->cond);
	if (pthread_create(&v->thread, NULL, run, v)) {
		agent_log(LOG_ALERT, "journal", "cannot start a thread: closures are journalled by the tools alone");
		free(v);
		return;
	}
	a->closures = v;
}

void agent_closures_stop(struct agent *a)
{
	struct agent_closures *v = a->closures;

	if (!v)
		return;
	pthread_mutex_lock(&v->lock);
	v->stop = true;
	pthread_cond_signal(&v->cond);
	pthread_mutex_unlock(&v->lock);
	pthread_join(v->thread, NULL);
	pthread_cond_destroy(&v->cond);
	pthread_mutex_destroy(&v->lock);
	free(v);
	a->closures = NULL;
}
