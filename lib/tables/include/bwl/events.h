/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Events of the data plane for readers: filters, printing, and counts of lost events. The ring has
 * a single read position: only the holder of its lock reads (bwlimitd, or one `watch`).
 */
#ifndef BWL_EVENTS_H
#define BWL_EVENTS_H

#include <bwl/pins.h>
#include <jansson.h>

#define BWL_FILTER_NAMES 16 /* maximum number of peers, and of ports, in a filter */

/*
 * A subscriber's filter: for each word below, one of the listed names; an empty list matches any.
 * As text it is an object whose words have arrays of names: {"event": ["gate"], "peer": ["tray-3"]}
 */
struct bwl_event_filter {
	uint32_t kinds;   /* bit per enum bwl_event_kind; 0: any, here and below */
	uint64_t reasons; /* bit per enum bwl_reason */
	uint32_t classes; /* bit per enum bwl_class */
	unsigned npeers, nports;
	char peer[BWL_FILTER_NAMES][BWL_NAME_LEN], port[BWL_FILTER_NAMES][BWL_NAME_LEN];
};
/* "event", "reason", "port", "peer", "class"; NULL ends it */
extern const char *const bwl_filter_words[];
/* Adds one name to a word's list. */
int bwl_filter_add(struct bwl_event_filter *f, const char *word, const char *name,
		   struct bwl_err *e);
int bwl_filter_parse(const char *text, size_t len, struct bwl_event_filter *ret, struct bwl_err *e);
json_t *bwl_filter_json(const struct bwl_event_filter *f);
/* Are the filter's ports attached, and its peers known? */
int bwl_filter_check(const struct bwl_event_filter *f, const struct bwl_pins *p, struct bwl_err *e);
/* Could the filter match an event of that kind at that port, for any peer and reason? */
bool bwl_filter_has(const struct bwl_event_filter *f, const struct bwl_pins *p, uint32_t kind,
		    uint32_t port);
bool bwl_filter_matches(const struct bwl_event_filter *f, const struct bwl_pins *p,
			const struct bwl_event *e);

/* Documents of kind event, and event-lost. behind: events for which the reader was too slow. */
json_t *bwl_event_doc(const struct bwl_pins *p, const struct bwl_event *e);
json_t *bwl_event_lost_doc(uint64_t lost, uint64_t behind);

/* Events that the data plane did not send, by kind and port, since the maps were made. */
struct bwl_event_losses {
	uint64_t n[_BWL_EVENT_MAX][BWL_MAX_PORTS];
};
int bwl_event_losses(const struct bwl_pins *p, struct bwl_event_losses *ret, struct bwl_err *e);
/* Lost events between two samples, of those that the filter may match. */
uint64_t bwl_event_lost_between(const struct bwl_event_filter *f, const struct bwl_pins *p,
				const struct bwl_event_losses *from,
				const struct bwl_event_losses *to);

/* *ret_fd: the lock, held until it is closed. -EBUSY: another process reads. */
int bwl_event_lock(const struct bwl_pins *p, int *ret_fd, struct bwl_err *e);

#endif
