/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The audit log on disk, and appending to it. README.md describes the files and what a power cut
 * leaves. A log is on if its folder holds a key (`bwlimit-ctl audit init`); otherwise nothing is
 * written.
 */
#ifndef BWL_AUDIT_LOG_H
#define BWL_AUDIT_LOG_H

#include <jansson.h>
#include "signed_note.h"

#define BWL_AUDIT_DIR "/var/lib/bwlimit/audit" /* default; BWLIMIT_AUDIT_DIR, empty: off */
#define BWL_AUDIT_LINE 65536                   /* bytes of a line, at most */
#define BWL_AUDIT_PATH 512
#define BWL_AUDIT_NAME 64 /* "log-00000000000000000000.jsonl" */

/* dir NULL: BWLIMIT_AUDIT_DIR, otherwise BWL_AUDIT_DIR. NULL: off. */
const char *bwl_audit_dir(const char *dir);

/*
 * Creates a new key and an empty log in a folder that has none. ret_key: the public key, as text.
 */
int bwl_audit_init(const char *dir, const char *origin, char ret_key[static BWL_NOTE_KEY_TEXT],
		   struct bwl_err *e);

#define BWL_AUDIT_SIZE_MIN 65536
/*
 * Sets the maximum size of all files, as bwl_parse_size() reads it, in the folder, where every tool
 * finds it; a program with the log open uses it from the next record on.
 */
int bwl_audit_put_size(const char *dir, const char *text, struct bwl_err *e);

struct bwl_audit_log;
/*
 * *ret NULL, and 0, if the log is off. Nothing is locked or written yet. Any thread, one at a time.
 */
int bwl_audit_open(const char *dir, struct bwl_audit_log **ret, struct bwl_err *e);
void bwl_audit_close(struct bwl_audit_log *l); /* NULL-safe */

enum bwl_audit_urgency {
	/* before an action that opens something: fails while only the reserved room is left */
	BWL_AUDIT_BEFORE,
	BWL_AUDIT_AFTER,   /* after an action: uses the reserved room, waits 1 s at most */
	BWL_AUDIT_EVENT,   /* for what a host may have caused: uses none of the reserved room */
	BWL_AUDIT_REGULAR, /* for what comes by the clock: like EVENT, also when the log is full */
	/* for what a host causes at will; pruned first when the log is full, EVENT second */
	BWL_AUDIT_JUNK,
};
/*
 * Appends one record, which is on disk and signed when this returns 0. text: one line for people;
 * data (may be NULL, borrowed): an object for programs. NULL l: 0. ret_n (may be NULL): the
 * record's number.
 */
int bwl_audit_append(struct bwl_audit_log *l, enum bwl_audit_urgency u, const char *event,
		     const char *text, json_t *data, uint64_t *ret_n, struct bwl_err *e);
/*
 * Signs text, which ends with a newline, as a note with the log's key: for statements outside the
 * log. Its first line must not be the origin of a log. -ENOENT: the log is off.
 */
int bwl_audit_sign(const char *dir, const char *text, char *buf, size_t size, size_t *ret_len,
		   struct bwl_err *e);
/* The size at which a new file is begun; for tests. Default 16 MiB. */
void bwl_audit_set_limit(struct bwl_audit_log *l, uint64_t bytes);
/*
 * The size of all files above which old ones are pruned (prune.h); for tests. Default 256 MiB, or
 * the file `size`.
 */
void bwl_audit_set_size(struct bwl_audit_log *l, uint64_t bytes);

#endif
