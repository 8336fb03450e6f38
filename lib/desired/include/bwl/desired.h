/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The desired policy. Its owner is bwlimitd: it takes the document from a source, checks it, puts
 * it in force and keeps its exact bytes, the accepted copy. Everybody else reads that copy, here.
 */
#ifndef BWL_DESIRED_H
#define BWL_DESIRED_H

#include <jansson.h>
#include <bwl/doc.h>
#include <bwl/policy.h>

#define BWL_STATE_DIR "/var/lib/bwlimit"
/* Where bwlimitd keeps what must survive: $BWLIMIT_STATE_DIR, or that. */
const char *bwl_state_dir(void);
/* The file that is its source: $BWLIMIT_POLICY, or /etc/bwlimit/policy.yaml. */
const char *bwl_source_file(void);

/*
 * The policy of a file that somebody names ("-": standard input); file NULL: the desired one, which
 * is the accepted copy, or the source's file, with a word about it, where nothing was accepted yet.
 * A copy that is damaged is refused (-EUCLEAN): what is closed stays so.
 */
int bwl_desired_load(const char *file, struct bwl_policy **ret, struct bwl_err *e);
/* The file that it would read. */
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
	char why[200];                    /* of DAMAGED */
	char source[BWL_ACCEPTED_SOURCE]; /* its name */
	char at[BWL_TIME_BUF];            /* when */
	char digest[65];                  /* SHA-256 of text */
	const char *text;                 /* the exact bytes, in file */
	size_t len;
	char *file;
};
/* Never fails. bwl_accepted_free() frees what it holds. */
void bwl_accepted_look(const char *dir, struct bwl_accepted *ret);
/* The same of bytes, of which ret->text is a part; NULL: there is no file. */
void bwl_accepted_parse(const char *bytes, size_t len, struct bwl_accepted *ret);
void bwl_accepted_free(struct bwl_accepted *a);
/* -ENOENT: there is none. Errors of the document say whose it was. */
int bwl_accepted_policy(const struct bwl_accepted *a, struct bwl_policy **ret, struct bwl_err *e);
/* There is none from here on; needs no room on the disk. 0 or -errno. */
int bwl_accepted_drop(const char *dir);
/*
 * For its owner alone: the copy is what it was or this, killed at any point, and what was refused
 * before is forgotten.
 */
int bwl_accepted_keep(const char *dir, const char *source, const char *text, size_t len,
		      struct bwl_err *e);

/* What the source says and was refused, for those who ask; it never replaces the copy. */
int bwl_refused_keep(const char *dir, const char *source, const struct bwl_err *why,
		     struct bwl_err *e);
void bwl_refused_forget(const char *dir);
json_t *bwl_refused_json(const char *dir); /* null: nothing is refused */

/* As `status` has it. */
json_t *bwl_desired_json(const char *dir);

#endif
