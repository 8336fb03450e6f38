/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Reads the files of an audit log, which may have been altered: any bytes are an item or a BAD one.
 */
#ifndef BWL_AUDIT_ITEM_H
#define BWL_AUDIT_ITEM_H

#include <stdio.h>
#include "log.h"

enum bwl_audit_kind {
	BWL_AUDIT_RECORD,
	BWL_AUDIT_CHECKPOINT,
	BWL_AUDIT_LEAF, /* a record that was removed: its hash is left */
	BWL_AUDIT_NODE, /* 2^bits records that were removed: one hash over theirs */
	BWL_AUDIT_BAD,  /* a line that is none of these */
	BWL_AUDIT_TORN, /* the end of a file, without a newline */
};
struct bwl_audit_item {
	enum bwl_audit_kind kind;
	const char *file; /* without the folder */
	uint64_t offset;  /* of the line in it, bytes */
	const char *line; /* without its newline */
	size_t len;
	json_t *json;         /* RECORD, CHECKPOINT */
	uint64_t n;           /* RECORD: the number in it; LEAF: the number of its place */
	struct bwl_hash leaf; /* RECORD, LEAF, NODE */
	unsigned bits;        /* NODE */
	const char *note;     /* CHECKPOINT */
	size_t note_len;
	struct bwl_hash node[64]; /* CHECKPOINT: its frontier, the smallest first */
	unsigned nodes;
	bool kept; /* of a pruned file: a kept record, or the hash of a removed one */
	const struct bwl_hash *rest; /* first line of the kept part: hash of what follows it */
};
/* Classifies a line; sets all except file and offset. The caller drops json. */
void bwl_audit_parse(const char *line, size_t len, struct bwl_audit_item *ret);
/* The frontier of a checkpoint line, if it has that size and root; otherwise false. */
bool bwl_audit_frontier(const struct bwl_audit_item *i, const struct bwl_checkpoint *c,
			struct bwl_frontier *ret);
/* The text of a checkpoint line, without a newline; the caller frees. */
char *bwl_audit_checkpoint_line(const char *note, const struct bwl_frontier *f);

/*
 * Runs until fn returns non-zero, which is returned. A read error is -EIO: never the end of a file.
 */
typedef int (*bwl_audit_fn)(const struct bwl_audit_item *i, void *arg);
int bwl_audit_scan_file(FILE *f, const char *name, bwl_audit_fn fn, void *arg, struct bwl_err *e);

/* The text of a NODE line, without a newline; the caller frees. */
char *bwl_audit_node_line(unsigned bits, const struct bwl_hash *h);

/* "log-N.TAIL", "log-N-END.least": TAIL, or NULL. *ret_end: 0 for others. */
const char *bwl_audit_name(const char *name, uint64_t *ret_first, uint64_t *ret_end);

#define BWL_AUDIT_NAME_MIN "log-%020llu-%020llu.least"
struct bwl_audit_file {
	char name[BWL_AUDIT_NAME];
	uint64_t first; /* number of its first record */
	bool hashes;    /* the lines are gone, their hashes are left */
	bool least;     /* no hashes either: what is left of the records below end */
	uint64_t end;
	char kept[BWL_AUDIT_NAME]; /* hashes: the file with the hashes of kept lines; "": none */
};
/*
 * In the order of their records; free() it. Leaves out files beside an existing one with the lines,
 * or covered by a `least`.
 */
int bwl_audit_files(const char *dir, struct bwl_audit_file **ret, size_t *ret_n, struct bwl_err *e);
/* Reads the whole log. */
int bwl_audit_scan(const char *dir, bwl_audit_fn fn, void *arg, struct bwl_err *e);
/* Reads these files. */
int bwl_audit_scan_files(const char *dir, const struct bwl_audit_file *file, size_t n,
			 bwl_audit_fn fn, void *arg, struct bwl_err *e);
/* With `rest`: signed with the first line of the kept part. */
#define BWL_AUDIT_KEPT_EXTENSION "kept "
int bwl_audit_path(char buf[static BWL_AUDIT_PATH], const char *dir, const char *name,
		   struct bwl_err *e);

#endif
