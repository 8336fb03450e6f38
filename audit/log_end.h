/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The end of the log, where it grows. Only inside audit/; the lock is held. */
#ifndef BWL_AUDIT_LOG_END_H
#define BWL_AUDIT_LOG_END_H

#include "item.h"

struct bwl_audit_end {
	int fd; /* of the last file; -1: not determined yet */
	char name[BWL_AUDIT_NAME];
	uint64_t first;               /* number of its first record */
	uint64_t at;                  /* its length: where the next line goes */
	struct bwl_frontier frontier; /* of all records */
};
struct bwl_audit_torn {
	uint64_t adopted; /* whole records that a crash left without a checkpoint */
	uint64_t bytes;   /* and bytes that are no whole record */
	char kept[80];    /* the file with these bytes */
};
/* From memory if nobody else has written, otherwise from the last checkpoint on. */
int bwl_audit_end_find(struct bwl_audit_end *x, const char *dir, int dir_fd,
		       const struct bwl_note_key *k, struct bwl_audit_torn *ret, struct bwl_err *e);
void bwl_audit_end_close(struct bwl_audit_end *x);
/*
 * Writes one line, which is on disk when this returns. A failure leaves the file unchanged, or
 * torn.
 */
int bwl_audit_end_write(struct bwl_audit_end *x, const char *line, struct bwl_err *e);
int bwl_audit_end_sign(struct bwl_audit_end *x, const struct bwl_note_key *k, struct bwl_err *e);
/* A checkpoint line over f; the caller frees. extension: signed with it, or "". */
char *bwl_audit_signed_line(const struct bwl_frontier *f, const char *extension,
			    const struct bwl_note_key *k, struct bwl_err *e);
/* bytes kept allocated beyond the end, so that no host can take them */
#define BWL_AUDIT_RESERVE (512 << 10)
/*
 * Creates a file that appears whole under its name. reserve: that many bytes are allocated behind
 * it, or it is not created.
 */
int bwl_audit_make_file(const char *dir, int dir_fd, const char *name, const void *data, size_t len,
			off_t reserve, struct bwl_err *e);
/* Starts a new file with the last checkpoint, and writes the old one's hashes beside it. */
int bwl_audit_end_rotate(struct bwl_audit_end *x, const char *dir, int dir_fd,
			 const struct bwl_note_key *k, struct bwl_err *e);
/* The first file of a log. */
int bwl_audit_end_begin(const char *dir, int dir_fd, const struct bwl_note_key *k,
			struct bwl_err *e);

#endif
