/* SPDX-License-Identifier: GPL-2.0-or-later */
/* `watch`: its two sources of events, and their shared output. */
#ifndef BWL_CTL_WATCH_H
#define BWL_CTL_WATCH_H

#include "bwl/events.h"
#include "ctl.h"

struct watch {
	struct ctl *c;
	struct bwl_event_filter filter;
	uint64_t end_ns;       /* 0: no --timeout */
	uint64_t count, max;   /* events printed; max 0: no --count */
	uint64_t lost, behind; /* behind: lost events for which we were too slow */
	unsigned busy;         /* how often another one was reading that could be asked */
	int refused;           /* -EBUSY: that one still was, when it was last tried here */
	/* a bwlimitd has answered before: if it has gone it usually returns */
	bool followed;
};

/* A source ends with an error, or with one of these. */
enum watch_end {
	WATCH_DONE,
	WATCH_OTHER, /* try the other source */
};

/* watch_agent.c: through bwlimitd */
int watch_agent(struct watch *w);
bool watch_is_agent(const struct watch *w); /* does bwlimitd answer? */
/* watch_ring.c: without it */
int watch_ring(struct watch *w);

/* watch_print.c: takes the reference of a document of kind event, or event-lost. */
void watch_print(struct watch *w, json_t *o);
bool watch_goes_on(const struct watch *w);
/* How long to wait, `most` at most. */
int watch_left_ms(const struct watch *w, int most);

#endif
