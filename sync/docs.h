/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What the store has for this tray, and how far each document has got. Pure: no clock, no I/O.
 * Bounded: DOCS_MOST documents; of what the watch brought DOCS_BYTES_MOST bytes are kept, and
 * beyond them documents are fetched by name.
 */
#ifndef BWL_SYNC_DOCS_H
#define BWL_SYNC_DOCS_H

#include "fleet/store/layout.h"

#define DOCS_MOST 2048
#define DOCS_BYTES_MOST (4U << 20)
#define DOC_AGAIN_NS 60000000000ULL        /* after it was refused once; then twice as long */
#define DOC_AGAIN_MOST_NS 3600000000000ULL /* at most */

enum doc_state { DOC_TODO, DOC_ON_ITS_WAY, DOC_TAKEN, DOC_REFUSED };

struct doc {
	char key[BWL_ETCD_KEY_MOST];
	struct bwl_doc_at at;
	int64_t mod; /* the revision that it is from: a newer one is another document */
	enum doc_state state;
	uint64_t again_ns; /* not before */
	uint64_t fetch_ns; /* of one in parts: nor is it fetched before; 0: not chosen yet */
	unsigned refusals;
	bool seen;      /* in the read that is going on */
	uint8_t *bytes; /* as the watch brought them; NULL: to be fetched */
	size_t len;
};

struct sync_docs {
	struct doc **list;
	unsigned n;
	size_t bytes;
	unsigned left_out; /* documents for which there is no place */
	uint64_t cosigned; /* records under the audit log's checkpoint that the controller cosigned
			      last, as the store says it; 0: none. bwlimitd proves from there on */
};

void sync_docs_done(struct sync_docs *d);
struct doc *sync_docs_find(const struct sync_docs *d, const char *key);
/*
 * A key of a range. From a read (without its value) whatever is there counts: a store that was
 * restored from a copy has lower revisions than before. From the watch only what is newer: an event
 * may be late.
 */
enum sync_docs_from { DOCS_READ, DOCS_WATCH };
void sync_docs_put(struct sync_docs *d, const char *range, const struct bwl_etcd_kv *kv,
		   enum sync_docs_from from);
/* All keys are put between the two; what was not has gone from the store. */
void sync_docs_read_begin(struct sync_docs *d);
void sync_docs_read_end(struct sync_docs *d);

/*
 * Two ways to bwlimitd, so that what closes waits for no large policy. Within each: by kind, then
 * as they were published.
 */
enum doc_lane { LANE_CLOSES, LANE_REST, LANE_COUNT };
enum doc_lane sync_docs_lane(const struct doc *doc);
/* What is to be handed over next; of the rest nothing while something that closes is to be. */
struct doc *sync_docs_next(const struct sync_docs *d, enum doc_lane lane, uint64_t now_ns);
/*
 * The end of a way. What was refused before may be taken after a root, a timestamp, an enrolment or
 * a policy was.
 */
void sync_docs_taken(struct sync_docs *d, struct doc *doc, uint64_t now_ns);
void sync_docs_refused(struct doc *doc, uint64_t now_ns);
/* Another bwlimitd, or one that forgot: everything again. */
void sync_docs_again(struct sync_docs *d);
void doc_drop_bytes(struct sync_docs *d, struct doc *doc);

#endif
