/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The data plane's events for who reads them: which of them, what is printed of one, how many were
 * lost. The ring has one read position: whoever holds its lock reads (bwlimitd, else one `watch`).
 */
#ifndef BWL_EVENTS_H
#define BWL_EVENTS_H

#include <bwl/pins.h>
#include <jansson.h>

#define BWL_FILTER_NAMES 16 /* peers, and ports, that a filter may have */

/*
 * What somebody wants to hear of: for each word below, one of those named; none is named: any.
 * As text an object, whose words have arrays of names: {"event": ["gate"], "peer": ["tray-3"]}
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
/* One more name to a word of the list. */
int bwl_filter_add(struct bwl_event_filter *f, const char *word, const char *name,
		   struct bwl_err *e);
int bwl_filter_parse(const char *text, size_t len, struct bwl_event_filter *ret, struct bwl_err *e);
json_t *bwl_filter_json(const struct bwl_event_filter *f);
/* Are its ports attached, its peers known? */
int bwl_filter_check(const struct bwl_event_filter *f, const struct bwl_pins *p, struct bwl_err *e);
/* Is something of that kind at that port wanted, whoever's and whyever? */
bool bwl_filter_has(const struct bwl_event_filter *f, const struct bwl_pins *p, uint32_t kind,
		    uint32_t port);
bool bwl_filter_matches(const struct bwl_event_filter *f, const struct bwl_pins *p,
			const struct bwl_event *e);

/* Documents of kind event, and event-lost. behind: those that the reader was too slow for. */
json_t *bwl_event_doc(const struct bwl_pins *p, const struct bwl_event *e);
json_t *bwl_event_lost_doc(uint64_t lost, uint64_t behind);

/* What the data plane did not send, by kind and port, since the maps were made. */
struct bwl_event_losses {
	uint64_t n[_BWL_EVENT_MAX][BWL_MAX_PORTS];
};
int bwl_event_losses(const struct bwl_pins *p, struct bwl_event_losses *ret, struct bwl_err *e);
/* Of what the filter lets through, from one to the other. */
uint64_t bwl_event_lost_between(const struct bwl_event_filter *f, const struct bwl_pins *p,
				const struct bwl_event_losses *from,
				const struct bwl_event_losses *to);

/* *ret_fd: held until it is closed. -EBUSY: somebody else reads. */
int bwl_event_lock(const struct bwl_pins *p, int *ret_fd, struct bwl_err *e);

#endif
