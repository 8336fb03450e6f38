/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The desired policy. Its owner is bwlimitd, which takes the document from a source, checks it,
 * puts it in force and keeps its exact bytes, the accepted copy. Everybody else reads that copy
 * through this header.
 */
#ifndef BWL_DESIRED_H
#define BWL_DESIRED_H

#include <jansson.h>
#include <bwl/doc.h>
#include <bwl/policy.h>

#define BWL_STATE_DIR "/var/lib/bwlimit"
/* The folder for bwlimitd's persistent state: $BWLIMIT_STATE_DIR, or the default. */
const char *bwl_state_dir(void);
/* The source file: $BWLIMIT_POLICY, or /etc/bwlimit/policy.yaml. */
const char *bwl_source_file(void);

/*
 * Loads the named policy file ("-": standard input). file NULL: the desired policy, which is the
 * accepted copy, or the source file, with a notice, if nothing was accepted yet. A damaged copy is
 * refused (-EUCLEAN): what is closed stays closed.
 */
int bwl_desired_load(const char *file, struct bwl_policy **ret, struct bwl_err *e);
/* The file that bwl_desired_load() would read. */
#define BWL_DESIRED_PATH 512
const char *bwl_desired_path(const char *file, char buf[static BWL_DESIRED_PATH]);
/* For people: the file, or "the desired policy". */
const char *bwl_desired_name(const char *file);

#define BWL_ACCEPTED "accepted.yaml" /* in the state directory */
#define BWL_ACCEPTED_SOURCE 256

enum bwl_accepted_state {
	BWL_ACCEPTED_NONE,
	BWL_ACCEPTED_OK,
	BWL_ACCEPTED_DAMAGED, /* not what was written */
};
struct bwl_accepted {
	enum bwl_accepted_state state;
	char why[200];                    /* for DAMAGED */
	char source[BWL_ACCEPTED_SOURCE]; /* the source's name */
	char at[BWL_TIME_BUF];            /* when it was accepted */
	char digest[65];                  /* SHA-256 of text */
	const char *text;                 /* the exact bytes, in file */
	size_t len;
	char *file;
};
/* Never fails. bwl_accepted_free() frees its content. */
void bwl_accepted_look(const char *dir, struct bwl_accepted *ret);
/* The same from bytes, into which ret->text points; NULL: there is no file. */
void bwl_accepted_parse(const char *bytes, size_t len, struct bwl_accepted *ret);
void bwl_accepted_free(struct bwl_accepted *a);
/* -ENOENT: there is no copy. Errors in the document name its source. */
int bwl_accepted_policy(const struct bwl_accepted *a, struct bwl_policy **ret, struct bwl_err *e);
/* Removes the copy; this needs no room on the disk. 0 or -errno. */
int bwl_accepted_drop(const char *dir);
/*
 * Only for the owner: replaces the copy (after a kill at any point it is the old one or this one)
 * and forgets what was refused before.
 */
int bwl_accepted_keep(const char *dir, const char *source, const char *text, size_t len,
		      struct bwl_err *e);

/* Records, for readers, that the source's content was refused; this never replaces the copy. */
int bwl_refused_keep(const char *dir, const char *source, const struct bwl_err *why,
		     struct bwl_err *e);
void bwl_refused_forget(const char *dir);
json_t *bwl_refused_json(const char *dir); /* null: nothing is refused */

/* The object for `status`. */
json_t *bwl_desired_json(const char *dir);

#endif
