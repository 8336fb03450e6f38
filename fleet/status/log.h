/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What controllers keep about a tray's audit log, at PREFIX/controller/log/-/TRAY. Written by the
 * leader (fleet/controller/cosign.h), shown by `bwlimit-ctl --fleet logs`.
 */
#ifndef BWL_FLEET_LOG_H
#define BWL_FLEET_LOG_H

#include "audit/signed_note.h"
#include "signed/document.h"

struct log_head {
	char note[BWL_CHECKPOINT_NOTE]; /* signed by the log's key; empty: none */
	struct bwl_checkpoint c;        /* its content */
};

struct log_state {
	struct bwl_note_key key;  /* the log's; name empty: none was seen yet */
	struct log_head seen;     /* the newest that the tray reported */
	struct log_head cosigned; /* the newest that was cosigned; seen may be later */
	int64_t cosigned_s;       /* when */
	/* number of the newest signed status that came with it; 0: none */
	uint64_t number;
	uint64_t enrolled_epoch, enrolled_version; /* of the enrolment that judged that status */
	char wrong[200];          /* why nothing is signed any more; empty: no fault */
	struct log_head evidence; /* for that: contradicts the other two */
};
bool log_head_set(struct log_head *h, const char *note, size_t len);

/*
 * Is that enrolment older than the one that once judged a signed status? Also true if there is
 * none.
 */
bool log_is_before(const struct bwl_signed_terms *enrolled, uint64_t epoch, uint64_t version);
#define LOG_ENROLMENT_OLD "the store has an older one than before"

/* As in the store; the caller frees it. And back: -EBADMSG. */
char *log_state_text(const struct log_state *c);
int log_state_parse(const void *at, size_t len, struct log_state *ret, struct bwl_err *e);

#endif
