// SPDX-License-Identifier: GPL-2.0-or-later
/* Timers of the loop. Each callback returns when the next call is due. */
#include <string.h>
#include <time.h>
#include "agent.h"

#define ACCURACY_US 1000

int agent_timer(struct agent *a, uint64_t us, sd_event_time_handler_t fn, void *arg,
		sd_event_source **ret, struct bwl_err *e)
{
	int r = sd_event_add_time_relative(a->loop, ret, CLOCK_BOOTTIME, us, ACCURACY_US, fn, arg);

	return r < 0 ? bwl_fail(e, -r, "cannot set a timer: %s", strerror(-r)) : 0;
}

int agent_again(sd_event_source *s, uint64_t us)
{
	sd_event_source_set_time_relative(s, us);
	return sd_event_source_set_enabled(s, SD_EVENT_ONESHOT);
}
