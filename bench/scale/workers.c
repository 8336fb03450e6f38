// SPDX-License-Identifier: GPL-2.0-or-later
/* See workers.h. */
#include <errno.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include "bench/scale/counters.h"
#include "bench/scale/workers.h"

#define LOST_SHARE 0.02 /* fraction of the wall time that a task may be off its CPU … */
#define LOST_NS 50000   /* … plus this much: the barrier, a timer tick */
#define OVERLAP 0.9     /* of the time from the first start to the last end */

struct worker {
	struct crew *crew;
	pthread_t thread;
	sem_t go;
	int cpu, err;
	struct crew_task *task; /* NULL: end */
	struct counters counters;
};

struct crew {
	unsigned n;
	sem_t done;
	atomic_uint ready;
	atomic_uint active;
	struct worker w[];
};

/* Spins, because a wake-up takes longer than some of what is measured. */
static void start_line(struct crew *c)
{
	unsigned n = atomic_load(&c->active);

	atomic_fetch_add(&c->ready, 1);
	while (atomic_load(&c->ready) < n)
		;
}

static void *worker(void *arg)
{
	struct worker *w = arg;
	struct crew_task *t;
	double cpu;

	w->err = bench_pin(w->cpu);
	counters_open(&w->counters);
	sem_post(&w->crew->done);
	for (;;) {
		while (sem_wait(&w->go))
			;
		t = w->task;
		if (!t)
			break;
		bench_urgent(t->urgent);
		start_line(w->crew);
		counters_start(&w->counters);
		t->begin_ns = bench_wall_ns();
		cpu = bench_thread_ns();
		t->err = t->work(t->arg);
		t->cpu_ns = bench_thread_ns() - cpu;
		t->end_ns = bench_wall_ns();
		counters_stop(&w->counters, &t->cycles, &t->transfers);
		bench_urgent(false);
		sem_post(&w->crew->done);
	}
	counters_close(&w->counters);
	return NULL;
}

static void wait_for(struct crew *c, unsigned n)
{
	while (n)
		if (!sem_wait(&c->done))
			n--;
}

struct crew *crew_up(const int *cpu, unsigned n)
{
	struct crew *c = calloc(1, sizeof(*c) + n * sizeof(c->w[0]));
	int err = c ? 0 : ENOMEM;
	unsigned i;

	if (c)
		sem_init(&c->done, 0, 0);
	for (i = 0; !err && i < n; i++) {
		c->w[i] = (struct worker){ .crew = c, .cpu = cpu[i] };
		sem_init(&c->w[i].go, 0, 0);
		err = pthread_create(&c->w[i].thread, NULL, worker, &c->w[i]);
		c->n += !err;
	}
	if (c)
		wait_for(c, c->n);
	for (i = 0; c && !err && i < c->n; i++)
		err = -c->w[i].err;
	if (!err)
		return c;
	crew_down(c);
	errno = err;
	return NULL;
}

void crew_down(struct crew *c)
{
	unsigned i;

	if (!c)
		return;
	for (i = 0; i < c->n; i++) {
		c->w[i].task = NULL;
		sem_post(&c->w[i].go);
		pthread_join(c->w[i].thread, NULL);
	}
	free(c);
}

int crew_run(struct crew *c, const unsigned *who, struct crew_task *task, unsigned n)
{
	unsigned i;

	atomic_store(&c->ready, 0);
	atomic_store(&c->active, n);
	for (i = 0; i < n; i++) {
		c->w[who[i]].task = &task[i];
		sem_post(&c->w[who[i]].go);
	}
	wait_for(c, n);
	for (i = 0; i < n; i++)
		if (task[i].err)
			return task[i].err;
	return 0;
}

bool crew_disturbed(const struct crew_task *task, unsigned n)
{
	double first = task[0].begin_ns, last = task[0].end_ns, late = first, early = last, wall;
	unsigned i;

	for (i = 0; i < n; i++) {
		wall = task[i].end_ns - task[i].begin_ns;
		if (wall - task[i].cpu_ns > wall * LOST_SHARE + LOST_NS)
			return true;
		first = task[i].begin_ns < first ? task[i].begin_ns : first;
		late = task[i].begin_ns > late ? task[i].begin_ns : late;
		last = task[i].end_ns > last ? task[i].end_ns : last;
		early = task[i].end_ns < early ? task[i].end_ns : early;
	}
	return early - late < OVERLAP * (last - first) - LOST_NS;
}

const char *crew_counts_cycles(const struct crew *c)
{
	return c->w[0].counters.cycles >= 0 ? "cycles" : NULL;
}

const char *crew_counts_transfers(const struct crew *c)
{
	return c->w[0].counters.transfers >= 0 ? c->w[0].counters.transfers_name : NULL;
}

const char *crew_counts_not(const struct crew *c)
{
	return strerror(c->w[0].counters.err);
}
