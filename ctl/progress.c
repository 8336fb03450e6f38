// SPDX-License-Identifier: GPL-2.0-or-later
/* A thread that reports once a second; the work itself does not know about it. */
#include <errno.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include "bwl/err.h"
#include "progress.h"

struct ctl_progress {
	pthread_t thread;
	pthread_mutex_t lock;
	pthread_cond_t end;
	bool ended;
	char what[320];
};

static void *speak(void *arg)
{
	struct ctl_progress *p = arg;
	unsigned int seconds = 0;
	struct timespec next;

	clock_gettime(CLOCK_MONOTONIC, &next);
	pthread_mutex_lock(&p->lock);
	while (!p->ended) {
		next.tv_sec++;
		while (!p->ended && pthread_cond_timedwait(&p->end, &p->lock, &next) != ETIMEDOUT)
			;
		if (!p->ended)
			bwl_info("still %s (%u s)", p->what, ++seconds);
	}
	pthread_mutex_unlock(&p->lock);
	return NULL;
}

struct ctl_progress *ctl_progress_start(const char *fmt, ...)
{
	struct ctl_progress *p = calloc(1, sizeof(*p));
	pthread_condattr_t attr;
	va_list ap;

	if (!p)
		return NULL;
	va_start(ap, fmt);
	vsnprintf(p->what, sizeof(p->what), fmt, ap);
	va_end(ap);
	pthread_mutex_init(&p->lock, NULL);
	pthread_condattr_init(&attr);
	pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
	pthread_cond_init(&p->end, &attr);
	pthread_condattr_destroy(&attr);
	if (pthread_create(&p->thread, NULL, speak, p)) {
		free(p);
		return NULL;
	}
	return p;
}

void ctl_progress_end(struct ctl_progress *p)
{
	if (!p)
		return;
	pthread_mutex_lock(&p->lock);
	p->ended = true;
	pthread_cond_signal(&p->end);
	pthread_mutex_unlock(&p->lock);
	pthread_join(p->thread, NULL);
	pthread_cond_destroy(&p->end);
	pthread_mutex_destroy(&p->lock);
	free(p);
}
