/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * An interval's file (docs/recorder.md) as evidence: commitments are recomputed from the file and
 * the epoch's secret when they are needed.
 */
#ifndef EV_INTERVAL_H
#define EV_INTERVAL_H

#include "peer.h"

#define EV_BOOT 40
#define EV_TIME 40
#define EV_SLOTS_MIN 16        /* of peers */
#define EV_FILE_MAX (1U << 30) /* bytes of an interval's file */

/* A line about a flow or a remainder: the parts that are summed. */
struct ev_record {
	uint64_t id;  /* the peer's */
	uint64_t row; /* number in the file, from 1 */
	char way[8], class_[EV_WORD];
	bool remainder; /* otherwise a flow */
	struct ev_sum sum;
	const char *line; /* without its newline */
	size_t len;
};
/* Reads only bwlimitd's own spelling, but fast. */
bool ev_record_scan(const char *line, size_t len, struct ev_record *ret);
/*
 * Reads any spelling of such a line in JSON. name: at most EV_NAME bytes, "" for none. -EBADMSG: it
 * is none; -EV_NEWER: it has a field or a reason that is not known here.
 */
int ev_record_parse(const char *line, size_t len, struct ev_record *ret, char name[static EV_NAME],
		    struct bwl_err *e);

/* Identifies an interval for all time: the content of the log's entry, without the roots. */
struct ev_id {
	char boot[EV_BOOT];
	uint64_t tables, interval, sequence;
	bool final, gap, thinned, balanced;
	char begin[EV_TIME], end[EV_TIME]; /* "": not known */
	bool other_known;
	struct ev_sum other;
};
/* A time as bwlimitd writes it; seconds since 1970. false: "", which is not known, or invalid. */
bool ev_time_s(const char *text, int64_t *ret);
/* The first line of a file. */
bool ev_id_parse(const char *line, size_t len, struct ev_id *ret);
bool ev_id_same(const struct ev_id *a, const struct ev_id *b); /* boot, tables, interval */
/*
 * A root over the peers' root and the interval's identity, so that the same peers cannot pass for
 * another interval.
 */
void ev_interval_root(const struct ev_id *id, const struct bwl_hash *peers, struct bwl_hash *ret);
/* If an interval says that it balances, none of its peers may say otherwise. NULL: none does. */
const char *ev_peer_denied(const struct ev_id *id, const struct ev_peer *p);
/* Does one directly follow the other? */
bool ev_follows(const struct ev_id *was, const struct ev_id *now);

struct ev_own { /* the data behind a slot */
	bool decoy;
	uint64_t id;
	char name[EV_NAME];
	size_t first, n; /* of its records */
};
struct ev_interval {
	struct ev_id id;
	uint8_t master[32], key[32];
	uint32_t slots;
	struct ev_peer *peer; /* by slot: in the order of pseudonyms */
	struct ev_own *own;
	struct ev_record *record; /* by peer */
	size_t nrecords;
	struct bwl_hash root;
	char *text; /* records point into it */
};
/* Takes text, a string of len bytes, also on failure. -EBADMSG: not such a file. */
int ev_interval_make(char *text, size_t len, const uint8_t master[32], struct ev_interval *ret,
		     struct bwl_err *e);
void ev_interval_free(struct ev_interval *v);

void ev_record_salt(const struct ev_interval *v, uint32_t slot, uint64_t index,
		    uint8_t ret[static EV_SALT]);
void ev_pad_key(const struct ev_interval *v, uint32_t slot, uint8_t ret[static EV_SALT]);
/* Leaves of a peer's records; the caller frees. */
struct ev_node *ev_interval_leaves(const struct ev_interval *v, uint32_t slot);

#endif
