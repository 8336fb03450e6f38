/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The audit log's entry for an interval. It has the same length for every interval. */
#ifndef EV_ENTRY_H
#define EV_ENTRY_H

#include "interval.h"

#define EV_EVENT "interval"

enum ev_total { EV_BEFORE, EV_AFTER, EV_FLOWS, EV_REMAINDER, EV_UNCLASSED, EV_TOTALS };
struct ev_entry {
	struct ev_id id;
	uint64_t epoch;
	uint32_t slots;
	/* previous: root of the previous entry; zeros: this is the first */
	struct bwl_hash root, previous;
	struct ev_sum total[EV_TOTALS];
};
/* false: a total is too large. */
bool ev_entry_of(const struct ev_interval *v, uint64_t epoch, const struct bwl_hash *previous,
		 struct ev_entry *ret);
json_t *ev_entry_json(const struct ev_entry *x);
/*
 * -EBADMSG: says which value is missing or cannot be read, and what it must be; -EV_NEWER: it is of
 * a later version, or has a field that is not known here. Nothing of it is skipped.
 */
int ev_entry_parse(const json_t *data, struct ev_entry *ret, struct bwl_err *e);
/*
 * For whoever continues the log: which interval it is, whether it was the last of its tables, and
 * its root, also of a later version's entry. false: not even these can be read.
 */
bool ev_entry_identity(const json_t *data, struct ev_entry *ret);
/* From a line of the log; *ret_n: its number there. */
int ev_entry_line(const char *line, size_t len, struct ev_entry *ret, uint64_t *ret_n,
		  struct bwl_err *e);

/* Does it cover these peers, and are their sums its totals? NULL: yes; otherwise what is wrong. */
const char *ev_entry_wrong(const struct ev_entry *x, const struct ev_peer *peer, uint32_t n);
/* Sums of these peers. */
bool ev_totals(const struct ev_peer *peer, uint32_t n, struct ev_sum ret[static EV_TOTALS]);

#endif
