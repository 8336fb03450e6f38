/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The audit log on disk, and appending to it. README.md has the files and what a power cut leaves.
 * A log is on where its folder holds a key (`bwlimit-ctl audit init`), else nothing is written.
 */
#ifndef BWL_AUDIT_LOG_H
#define BWL_AUDIT_LOG_H

#include <jansson.h>
#include "signed_note.h"

#define BWL_AUDIT_DIR "/var/lib/bwlimit/audit" /* default; BWLIMIT_AUDIT_DIR, empty: off */
#define BWL_AUDIT_LINE 65536                   /* bytes of a line, at most */
#define BWL_AUDIT_PATH 512
#define BWL_AUDIT_NAME 64 /* "log-00000000000000000000.jsonl" */

/* dir NULL: BWLIMIT_AUDIT_DIR, else BWL_AUDIT_DIR. NULL: off. */
const char *bwl_audit_dir(const char *dir);

/* A new key and an empty log in a folder that has none. ret_key: the public one, as text. */
int bwl_audit_init(const char *dir, const char *origin, char ret_key[static BWL_NOTE_KEY_TEXT],
		   struct bwl_err *e);

#define BWL_AUDIT_SIZE_LEAST 65536
/*
 * What all files may have, as bwl_parse_size() reads it: into the folder, where every tool finds
 * it; who has the log open, with the next record.
 */
int bwl_audit_put_size(const char *dir, const char *text, struct bwl_err *e);

struct bwl_audit_log;
/*
 * *ret NULL, and 0, where the log is off. Nothing is locked or written yet. Any thread, one at a
 * time.
 */
int bwl_audit_open(const char *dir, struct bwl_audit_log **ret, struct bwl_err *e);
void bwl_audit_close(struct bwl_audit_log *l); /* NULL-safe */

enum bwl_audit_urgency {
	BWL_AUDIT_BEFORE,  /* of what opens something: fails while there is room left for the other
			    */
	BWL_AUDIT_AFTER,   /* of what has happened: uses the room that is kept, waits 1 s at most */
	BWL_AUDIT_EVENT,   /* of what a host may have caused: takes nothing of the room that is kept
			    */
	BWL_AUDIT_REGULAR, /* of what comes by the clock: as EVENT, also when the log is full */
	BWL_AUDIT_JUNK,    /* of what it causes at will; goes first when it is full, EVENT second */
};
/*
 * One record, on disk and signed when this returns 0; text: one line for people; data (may be NULL,
 * borrowed): an object for programs. NULL l: 0. ret_n (may be NULL): the record's number.
 */
int bwl_audit_append(struct bwl_audit_log *l, enum bwl_audit_urgency u, const char *event,
		     const char *text, json_t *data, uint64_t *ret_n, struct bwl_err *e);
/* The size at which a new file is begun; for tests. Default 16 MiB. */
void bwl_audit_set_limit(struct bwl_audit_log *l, uint64_t bytes);
/*
 * The size of all files above which old ones are pruned (prune.h); for tests. Default 256 MiB, or
 * the file `size`.
 */
void bwl_audit_set_size(struct bwl_audit_log *l, uint64_t bytes);

#endif
