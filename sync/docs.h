/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The store's documents for this tray, and how far each has got. Pure: no clock, no I/O. Bounded:
 * DOCS_MAX documents; up to DOCS_BYTES_MAX bytes that the watch brought are kept; beyond that
 * documents are fetched by name.
 */
#ifndef BWL_SYNC_DOCS_H
#define BWL_SYNC_DOCS_H

#include "fleet/store/layout.h"

#define DOCS_MAX 2048
#define DOCS_BYTES_MAX (4U << 20)
#define DOC_AGAIN_NS 60000000000ULL       /* after the first refusal; doubled each time */
#define DOC_EARLY_NS 1000000000ULL        /* if its time has not come: clocks differ, */
#define DOC_EARLY_TRIES 8                 /* so often each second; then doubled, too */
#define DOC_AGAIN_MAX_NS 3600000000000ULL /* at most */

enum doc_state { DOC_TODO, DOC_ON_ITS_WAY, DOC_TAKEN, DOC_REFUSED };

struct doc {
	char key[BWL_ETCD_KEY_MAX];
	struct bwl_doc_at at;
	int64_t mod; /* its revision: a newer one is another document */
	enum doc_state state;
	uint64_t again_ns; /* not handed over before */
	uint64_t fetch_ns; /* in parts: not fetched before, either; 0: not chosen yet */
	unsigned refusals;
	bool early;     /* refused because its time has not come */
	bool seen;      /* in the current read */
	uint8_t *bytes; /* from the watch; NULL: must be fetched */
	size_t len;
};

struct sync_docs {
	struct doc **list;
	unsigned n;
	size_t bytes;
	unsigned left_out; /* documents that found no place */
	/*
	 * Records covered by the audit log's checkpoint that the controller cosigned last,
	 * according to the store; 0: none. bwlimitd's proof begins there.
	 */
	uint64_t cosigned;
};

void sync_docs_done(struct sync_docs *d);
struct doc *sync_docs_find(const struct sync_docs *d, const char *key);
/*
 * A key of a range. In a read (without its value) whatever is there counts: a store that was
 * restored from a copy has lower revisions than before. From the watch only newer ones count: an
 * event may be late.
 */
enum sync_docs_from { DOCS_READ, DOCS_WATCH };
void sync_docs_put(struct sync_docs *d, const char *range, const struct bwl_etcd_kv *kv,
		   enum sync_docs_from from);
/* Between these two all keys are put; documents that were not put are gone from the store. */
void sync_docs_read_begin(struct sync_docs *d);
void sync_docs_read_end(struct sync_docs *d);

/*
 * Two ways to bwlimitd, so that closing documents never wait for a large policy. Within each way:
 * by kind, then in the order of publication.
 */
enum doc_lane { LANE_CLOSES, LANE_REST, LANE_COUNT };
enum doc_lane sync_docs_lane(const struct doc *doc);
/* What to hand over next. The other lane gets nothing while a closing document waits. */
struct doc *sync_docs_next(const struct sync_docs *d, enum doc_lane lane, uint64_t now_ns);
/*
 * A document's way is over. After a root, a timestamp, an enrolment or a policy was taken,
 * documents that were refused before may be taken.
 */
void sync_docs_taken(struct sync_docs *d, struct doc *doc, uint64_t now_ns);
/*
 * early: its time has not come. In the first seconds nothing of a later kind overtakes it: a grant
 * would be judged on the policy before, and end with it.
 */
void sync_docs_refused(struct doc *doc, uint64_t now_ns, bool early);
/* bwlimitd is another one, or has forgotten: everything is handed over again. */
void sync_docs_again(struct sync_docs *d);
void doc_drop_bytes(struct sync_docs *d, struct doc *doc);

#endif
