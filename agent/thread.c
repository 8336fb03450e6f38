// SPDX-License-Identifier: GPL-2.0-or-later
/* See thread.h. */
#include <time.h>
#include "thread.h"

#define SECOND 1000000000ULL

static void let_go(struct agent_thread *t)
{
	pthread_cond_destroy(&t->news);
	pthread_mutex_destroy(&t->lock);
}

static void *run(void *arg)
{
	struct agent_thread *t = arg;
	void (*left)(void *);

	t->run(t->arg);
	pthread_mutex_lock(&t->lock);
	t->ended = true;
	left = t->left;
	pthread_cond_broadcast(&t->news);
	pthread_mutex_unlock(&t->lock);
	if (left) { /* otherwise t is no longer ours */
		let_go(t);
		left(t->arg);
	}
	return NULL;
}

int agent_thread_start(struct agent_thread *t, void (*fn)(void *arg), void *arg, struct bwl_err *e)
{
	pthread_condattr_t attr;

	*t = (struct agent_thread){ .run = fn, .arg = arg };
	pthread_mutex_init(&t->lock, NULL);
	pthread_condattr_init(&attr);
	pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
	pthread_cond_init(&t->news, &attr);
	pthread_condattr_destroy(&attr);
	if (!pthread_create(&t->id, NULL, run, t))
		return 0;
	let_go(t);
	return bwl_fail(e, EAGAIN, "cannot start a thread");
}

bool agent_thread_goes_on(struct agent_thread *t)
{
	bool stop;

	pthread_mutex_lock(&t->lock);
	stop = t->stop;
	pthread_mutex_unlock(&t->lock);
	return !stop;
}

static struct timespec in_ns(uint64_t ns)
{
	struct timespec at;

	clock_gettime(CLOCK_MONOTONIC, &at);
	ns += (uint64_t)at.tv_nsec;
	at.tv_sec += (time_t)(ns / SECOND);
	at.tv_nsec = (long)(ns % SECOND);
	return at;
}

bool agent_thread_nap(struct agent_thread *t, uint64_t ns)
{
	struct timespec until = in_ns(ns);
	bool stop;

	pthread_mutex_lock(&t->lock);
	while (!t->stop && !pthread_cond_timedwait(&t->news, &t->lock, &until))
		;
	stop = t->stop;
	pthread_mutex_unlock(&t->lock);
	return !stop;
}

void agent_thread_stop(struct agent_thread *t)
{
	pthread_mutex_lock(&t->lock);
	t->stop = true;
	pthread_cond_broadcast(&t->news);
	pthread_mutex_unlock(&t->lock);
	pthread_join(t->id, NULL);
	let_go(t);
}

bool agent_thread_stop_within(struct agent_thread *t, unsigned seconds, void (*give_up)(void *arg),
			      void (*free_arg)(void *arg))
{
	struct timespec until = in_ns(seconds * SECOND);
	pthread_t id = t->id;
	bool ended;

	pthread_mutex_lock(&t->lock);
	t->stop = true;
	pthread_cond_broadcast(&t->news);
	while (!t->ended && !pthread_cond_timedwait(&t->news, &t->lock, &until))
		;
	ended = t->ended;
	if (!ended) {
		give_up(t->arg);
		t->left = free_arg;
	}
	pthread_mutex_unlock(&t->lock);
	if (!ended) {
		pthread_detach(id);
		return false;
	}
	pthread_join(id, NULL);
	let_go(t);
	return true;
}

bool agent_join_within(pthread_t thread, unsigned seconds)
{
	struct timespec until;

	clock_gettime(CLOCK_REALTIME, &until);
	until.tv_sec += seconds;
	return !pthread_timedjoin_np(thread, NULL, &until);
}
