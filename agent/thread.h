/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The thread of a part: it works, naps until it is told to stop, and ends. Waits use
 * CLOCK_MONOTONIC.
 */
#ifndef BWL_AGENT_THREAD_H
#define BWL_AGENT_THREAD_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include "bwl/err.h"

struct agent_thread {
	pthread_t id;
	pthread_mutex_t lock;
	pthread_cond_t news;
	bool stop, ended;
	void (*run)(void *arg);
	void (*left)(void *arg); /* not NULL: it was abandoned; called at the end */
	void *arg;
};

/* Runs run(arg) on a separate thread. */
int agent_thread_start(struct agent_thread *t, void (*run)(void *arg), void *arg,
		       struct bwl_err *e);
/* In the thread: false when told to stop, which ends a nap at once. */
bool agent_thread_goes_on(struct agent_thread *t);
bool agent_thread_nap(struct agent_thread *t, uint64_t ns);
/* Tells it to stop, and waits until it has. */
void agent_thread_stop(struct agent_thread *t);
/*
 * The same, but waits only for so many seconds. false: it hangs, and is abandoned. Then
 * give_up(arg) has been called, while it may be running, and the thread will call free_arg(arg)
 * should it ever end: t and arg no longer belong to the caller.
 */
bool agent_thread_stop_within(struct agent_thread *t, unsigned seconds, void (*give_up)(void *arg),
			      void (*free_arg)(void *arg));

/* For a thread that waits by itself. false: it hangs, and is abandoned. */
bool agent_join_within(pthread_t thread, unsigned seconds);

#endif
