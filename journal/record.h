/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Records of the journal as bytes, and the closures that result from replaying them. No I/O and no
 * clock here.
 *
 * A record: a header of 152 bytes, prefixes of 18 bytes each, and SHA-256 over the previous
 * record's digest and all of it. Numbers are little-endian. The header has a separate checksum, so
 * that a record whose end is torn off still tells what it was to close.
 */
#ifndef BWL_JOURNAL_RECORD_H
#define BWL_JOURNAL_RECORD_H

#include <bwl/closed_peers.h>

#define BWL_JOURNAL_HEADER 152
#define BWL_JOURNAL_PFX 18
#define BWL_JOURNAL_DIGEST 32
#define BWL_JOURNAL_MAX (64U << 20) /* bytes of a record */

enum bwl_journal_kind {
	BWL_J_BEGIN = 1, /* the first of a file */
	BWL_J_CLOSE,     /* a name and prefixes; holes: what was open within them, and stays open */
	BWL_J_OPEN,      /* a name and prefixes were granted, with limits */
	BWL_J_STOP,
	BWL_J_START,
	BWL_J_CLAMP,
	BWL_J_LIFT,
	BWL_J_PEER,
	BWL_J_ZONE, /* limits that were set */
	BWL_J_RAISE_PEER,
	BWL_J_RAISE_ZONE, /* a policy applied by hand restores these limits from its file */
	_BWL_J_MAX
};

/* Which fields of a record are set. */
enum bwl_journal_set {
	BWL_JS_RATE = 1 << 0,
	BWL_JS_BURST = 1 << 1,
	BWL_JS_VOLUME = 1 << 2,
	BWL_JS_EXPIRY = 1 << 3,
	BWL_JS_MODE = 1 << 4,
	BWL_JS_ACCEPT = 1 << 5,
	BWL_JS_MORE = 1 << 6,      /* volume is added to the previous one */
	BWL_JS_UNLIMITED = 1 << 7, /* with BWL_JS_VOLUME: none */
};

struct bwl_journal_limits {
	uint32_t set; /* enum bwl_journal_set */
	uint32_t mode;
	uint64_t rate_bps, burst, volume, window_ns;
	uint64_t expiry_s; /* by the wall clock; 0: never */
	uint64_t accept_bps;
};

struct bwl_journal_rec {
	uint32_t kind;
	uint64_t seq;
	/* when it was closed or opened: its number, or in a compacted file its first one */
	uint64_t at;
	uint64_t wall_s;
	char name[BWL_NAME_LEN];
	struct bwl_journal_limits lim;
	const struct bwl_pfx *pfx, *hole; /* for CLOSE and OPEN */
	uint32_t npfx, nholes;
	/* BEGIN: what the file continues from, and its initial number of records */
	uint64_t after_seq, records;
	uint8_t after[BWL_JOURNAL_DIGEST];
};

/* Its size; writes it if buf is not NULL, chained to prev, and its digest to ret. */
size_t bwl_journal_encode(const struct bwl_journal_rec *r, const uint8_t prev[BWL_JOURNAL_DIGEST],
			  uint8_t *buf, uint8_t ret[BWL_JOURNAL_DIGEST]);

enum bwl_journal_read {
	BWL_JR_WHOLE,
	BWL_JR_TORN, /* the header is readable, the rest is not: *ret has no prefixes */
	BWL_JR_BAD,  /* unreadable */
};
/*
 * Reads the record at the start of buf. *ret_pfx: its prefixes, allocated (pfx and hole point
 * there); the caller frees. *ret_size: its bytes.
 */
enum bwl_journal_read bwl_journal_decode(const uint8_t *buf, size_t size,
					 const uint8_t prev[BWL_JOURNAL_DIGEST],
					 struct bwl_journal_rec *ret, struct bwl_pfx **ret_pfx,
					 size_t *ret_size, uint8_t digest[BWL_JOURNAL_DIGEST]);
bool bwl_journal_opens(uint32_t kind);

/* The state after a number of records. */
struct bwl_closed_name {
	char name[BWL_NAME_LEN];
	uint64_t at, wall_s;
	bool closed;
};
/* When prefixes of a record were closed. */
struct bwl_closed_when {
	uint64_t at, wall_s;
};
struct bwl_closed_limit {
	char name[BWL_NAME_LEN];
	bool zone, gone;
	uint64_t at, wall_s;
	struct bwl_journal_limits lim;
};
struct bwl_closed {
	bool stop, clamp;
	uint64_t stop_s, clamp_s; /* the last time, by the wall clock */
	struct bwl_closed_name *name;
	size_t nnames, name_room;
	struct bwl_closed_limit *limit;
	size_t nlimits, limit_room;
	struct bwl_closed_when *when;
	size_t nwhen, when_room;
	uint64_t begin_s;                       /* of the file: used for records without a time */
	struct bwl_pfxset closed, opened, hole; /* value: the number of the record */
	struct bwl_pfxset live; /* closed, and not opened as a whole since: after settling */
};

void bwl_closed_add(struct bwl_closed *c, const struct bwl_journal_rec *r);
/* After the last record, before any query. */
void bwl_closed_settle(struct bwl_closed *c);
void bwl_closed_free(struct bwl_closed *c);

bool bwl_closed_name_is(const struct bwl_closed *c, const char *name);
/* Is every address of it closed? */
bool bwl_closed_pfx_is(const struct bwl_closed *c, const struct bwl_pfx *pfx);
size_t bwl_closed_names(const struct bwl_closed *c);

/* When the prefixes of this number were closed, by the wall clock. */
uint64_t bwl_closed_when(const struct bwl_closed *c, uint64_t at);
/*
 * Which peers of pol were closed at wall_s or later, by name or prefix: ret, by peer. Returns how
 * many.
 */
size_t bwl_closed_after(const struct bwl_closed *c, int64_t wall_s, const struct bwl_policy *pol,
			bool *ret);
/* Sets `revoked` of closed peers; returns how many. */
size_t bwl_closed_into_policy(const struct bwl_closed *c, struct bwl_policy *pol);
/*
 * Lowers limits to the lower of file and journal; returns how many. An expiry is a wall-clock time:
 * if the clock cannot be trusted, or is behind the record, the grant has ended.
 */
size_t bwl_closed_lower(const struct bwl_closed *c, struct bwl_policy *pol, uint64_t now_boot_ns,
			uint64_t now_wall_s, bool wall_ok);

#endif
