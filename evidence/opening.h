/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What is shown of intervals: one record, one peer, or everything; as JSON, with all that is needed
 * to verify it by the log's public key.
 */
#ifndef EV_OPENING_H
#define EV_OPENING_H

#include "audit/proof.h"
#include "entry.h"

#define EV_OPENING_KIND "evidence-opening"
#define EV_OPENING_MAX (512U << 20) /* bytes of a file */

/* The keys to trust. */
struct ev_trust {
	struct bwl_note_key log;
	struct bwl_witnesses witnesses;
};
/*
 * Is this line the record that the proof names? *ret_n: its number; and the checkpoint. -EV_NEWER:
 * it is, but of a later version.
 */
int ev_entry_check(const struct ev_trust *t, const char *line, size_t len, const char *proof,
		   size_t proof_len, struct ev_entry *ret, uint64_t *ret_n,
		   struct bwl_checkpoint *ret_checkpoint, struct bwl_err *e);

/*
 * Shows the record of that index, or the whole peer: all its records, or none for a slot without
 * any.
 */
json_t *ev_open_record(const struct ev_interval *v, uint32_t slot, uint64_t index);
json_t *ev_open_peer(const struct ev_interval *v, uint32_t slot);
/* Takes peers. */
json_t *ev_open_interval(const char *line, const char *proof, json_t *peers);

struct ev_shown { /* a record that was shown and verified */
	const struct ev_entry *entry;
	const struct ev_peer *peer;
	uint32_t slot;
	uint64_t id;
	const char *name;
	uint64_t index;
	const struct ev_record *record;
	struct ev_sum before; /* sum of the peer's earlier records */
};
struct ev_seen {         /* an interval that was shown and verified */
	bool any, whole; /* whole: every slot, and every record of each peer */
	struct ev_entry x;
	uint64_t n;                  /* its record's number */
	uint64_t peers, whole_peers; /* number shown, and number shown completely */
	struct bwl_checkpoint checkpoint;
};
struct ev_watch {
	/* all: every record of the peer was shown */
	void (*on_peer)(const struct ev_entry *x, const struct ev_peer *p, uint32_t slot,
			const char *name, bool all, void *arg);  /* NULL: not needed */
	void (*on_record)(const struct ev_shown *s, void *arg);  /* likewise */
	void (*on_interval)(const struct ev_seen *s, void *arg); /* likewise, after its peers */
	void *arg;
	uint64_t intervals, peers, records;    /* number shown */
	uint64_t whole_intervals, whole_peers; /* number shown completely */
	uint64_t whole_slots;
};
/*
 * Checks all of a file: each interval once, in the order of the log, and by one checkpoint.
 * -EBADMSG says what is wrong, and where; -EV_NEWER what is not known here.
 */
int ev_opening_check(const json_t *doc, const struct ev_trust *t, struct ev_watch *w,
		     struct bwl_err *e);

#endif
