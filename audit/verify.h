/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Checks a log that somebody else wrote, with the public key and old checkpoints that were kept
 * elsewhere. Every fault is named by record and byte.
 */
#ifndef BWL_AUDIT_VERIFY_H
#define BWL_AUDIT_VERIFY_H

#include "item.h"

enum bwl_audit_fault {
	BWL_FAULT_BAD,        /* a line that is neither record nor checkpoint */
	BWL_FAULT_ORDER,      /* a record whose number is not that of its place */
	BWL_FAULT_CHANGED,    /* records that differ from those that were signed */
	BWL_FAULT_CHECKPOINT, /* a checkpoint that the key has not signed, or that was changed */
	BWL_FAULT_MISSING,    /* records between files, or before a checkpoint */
	BWL_FAULT_CUT,        /* an old checkpoint covers more records than there are */
	BWL_FAULT_FORK,       /* an old checkpoint of this key covers other records */
	/* an old checkpoint that cannot be compared, because earlier records were removed */
	BWL_FAULT_GONE,
	BWL_FAULT_TORN, /* a torn line that is not the end of the log */
	/* records that were damaged when they were to be pruned, according to a record */
	BWL_FAULT_DAMAGED,
	_BWL_FAULT_MAX
};
const char *bwl_audit_fault_name(enum bwl_audit_fault f);

struct bwl_audit_problem {
	enum bwl_audit_fault fault;
	uint64_t from, to; /* records [from, to) */
	char file[BWL_AUDIT_NAME];
	uint64_t offset, end; /* bytes [offset, end) of the file; end 0: not known */
	char text[256];
};

struct bwl_audit_result {
	uint64_t first, records; /* of the log: [first, records) can be read */
	/* number of which only hashes exist: the lines were pruned, or moved away */
	uint64_t hashed;
	uint64_t pruned; /* number of those in files with a kept, signed part */
	/* records before this one are gone, according to a `pruned` record */
	uint64_t removed;
	uint64_t checkpoints, problems;
	uint64_t unsigned_records; /* after the last checkpoint */
	uint64_t torn_bytes;       /* at the end, left by a crash */
	bool has_last;
	struct bwl_checkpoint last;
};
/*
 * old: checkpoints, opened with the key. 0 if the log could be read, whatever is wrong with it:
 * ret->problems counts the calls of fn.
 */
int bwl_audit_verify(const char *dir, const struct bwl_note_key *k,
		     const struct bwl_checkpoint *old, size_t nold,
		     void (*fn)(const struct bwl_audit_problem *p, void *arg), void *arg,
		     struct bwl_audit_result *ret, struct bwl_err *e);

/*
 * Does a record report that others were damaged when they were to be pruned, or removed? [from, to)
 */
struct bwl_audit_damage {
	uint64_t from, to;
};
bool bwl_audit_tells_damage(const struct bwl_audit_item *i, struct bwl_audit_damage *ret);

/*
 * Verifies only the first files of n: up to the first checkpoint after them, which also covers
 * their records. each: called with their items, whatever is wrong with them.
 */
int bwl_audit_verify_files(const char *dir, const struct bwl_audit_file *file, size_t mine,
			   size_t n, const struct bwl_note_key *k, bwl_audit_fn each,
			   void (*fn)(const struct bwl_audit_problem *p, void *arg), void *arg,
			   struct bwl_err *e);

/* The newest checkpoint of all files, as a note. */
int bwl_audit_latest(const char *dir, const struct bwl_note_key *k, char ret[static BWL_NOTE_MAX],
		     struct bwl_checkpoint *ret_c, struct bwl_err *e);

#endif
