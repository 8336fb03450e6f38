/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Internal: the contents of the journal's files. */
#ifndef BWL_JOURNAL_FILE_H
#define BWL_JOURNAL_FILE_H

#include "journal.h"

#define BWL_JOURNAL_PATH 512
#define BWL_JOURNAL_SECTOR 512

/* `end`: two of them, a sector each, written in turn. */
struct bwl_journal_anchor {
	char magic[8];
	uint64_t seq;
	uint8_t digest[BWL_JOURNAL_DIGEST];
	uint8_t sum[32];
};
void bwl_journal_anchor_make(struct bwl_journal_anchor *a, uint64_t seq, const uint8_t *digest);

/* The newer of both; false: neither is readable. */
bool bwl_journal_anchor_find(const uint8_t *end, size_t size, struct bwl_journal_anchor *ret);
/* All of a file of the folder; the caller frees. */
int bwl_journal_file(const char *dir, const char *name, uint8_t **ret, size_t *ret_n);

/* Consecutive records, as they are written. */
struct bwl_journal_bytes {
	uint8_t *b;
	size_t n, room;
	uint64_t seq, records; /* number of the last one; count */
	uint8_t digest[BWL_JOURNAL_DIGEST];
	bool unreadable; /* one was left out, because read.c would not read it */
};
/* r.at 0: it happens now. */
void bwl_journal_put(struct bwl_journal_bytes *x, struct bwl_journal_rec r, uint64_t wall_s);
/* A file that begins after `seq` with the state in c. digest NULL: after nothing. */
struct bwl_journal_bytes bwl_journal_state_bytes(uint64_t seq, const uint8_t *digest,
						 const struct bwl_closed *c);

#endif
