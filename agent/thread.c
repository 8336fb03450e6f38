/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What every thread of the agent needs to wait and to end. */
#include <time.h>
#include "agent.h"

void agent_cond_init(pthread_cond_t *cond)
{
	pthread_condattr_t attr;

	pthread_condattr_init(&attr);
	pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
	pthread_cond_init(cond, &attr);
	pthread_condattr_destroy(&attr);
}

bool agent_join_within(pthread_t thread, unsigned seconds)
{
	struct timespec until;

	clock_gettime(CLOCK_REALTIME, &until);
	until.tv_sec += seconds;
	return !pthread_timedjoin_np(thread, NULL, &until);
}
