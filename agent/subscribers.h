/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * subscribers.c: readers of the data plane's events through this agent (see bwl/agent.h). Never
 * waits: each reader has a socket buffer, and events that do not fit are lost only to that reader,
 * counted, and reported when there is room again.
 */
#ifndef BWL_AGENT_SUBSCRIBERS_H
#define BWL_AGENT_SUBSCRIBERS_H

#include <stdbool.h>
#include "bwl/events.h"
#include "line_pool.h"

#define SUBSCRIBERS 32
#define SUBSCRIBERS_ROOT 8            /* of these, reserved for root */
#define SUBSCRIBERS_OPERATE 8         /* and for members of bwlimit, and root */
#define SUBSCRIBERS_OF_ONE 8          /* at most of one user, unless it is root */
#define SUBSCRIBER_BYTES (128 * 1024) /* SO_SNDBUF, which the kernel doubles: some 300 events */
/*
 * A reader that has not read for this long, although there was something, makes room for a new one.
 */
#define SUBSCRIBER_STUCK_NS 10000000000ULL
#define SUBSCRIBERS_LOOK_NS 1000000000ULL /* for what the data plane did not send */

struct subscribers_rule {
	const struct bwl_pins *pins;
	int (*losses)(const struct bwl_pins *p, struct bwl_event_losses *ret, struct bwl_err *e);
	struct line_who who; /* root, and the groups whose members may read */
	bool alone;          /* no thread of its own: for tests */
};

struct subscribers;
/* At a path, whose folder exists; an old socket is replaced. rule must outlive it. */
int subscribers_open(const char *path, const struct subscribers_rule *rule,
		     struct subscribers **ret, struct bwl_err *e);
/* For poll(2): a new reader. Departures are noticed later. NULL: -1 */
int subscribers_fd(const struct subscribers *s);
/* NULL-safe, as all below. */
void subscribers_event(struct subscribers *s, const struct bwl_event *e, uint64_t now_ns);
void subscribers_run(struct subscribers *s, uint64_t now_ns);
void subscribers_close(struct subscribers *s);

#endif
