/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Signed notes and checkpoints as in c2sp.org/signed-note and c2sp.org/tlog-checkpoint, and
 * witnesses' signatures on them (c2sp.org/tlog-cosignature, version 1). Ed25519 only; keys as text
 * in the form of Go's sumdb/note. Nothing here does I/O.
 */
#ifndef BWL_AUDIT_SIGNED_NOTE_H
#define BWL_AUDIT_SIGNED_NOTE_H

#include "bwl/err.h"
#include "merkle.h"

#define BWL_NOTE_NAME 128
#define BWL_NOTE_KEY_TEXT 256
#define BWL_NOTE_MAX 65536 /* maximum size of a note, in bytes */

enum bwl_note_type {
	BWL_NOTE_ED25519 = 1,
	BWL_NOTE_COSIGNATURE = 4, /* of a witness, with the time */
};
struct bwl_note_key {
	char name[BWL_NOTE_NAME];
	uint8_t type; /* enum bwl_note_type */
	uint32_t id;  /* first four bytes of SHA-256(name, newline, type, pub) */
	uint8_t pub[32];
	uint8_t seed[32]; /* with can_sign */
	bool can_sign;
};
/* A new random key. */
int bwl_note_key_new(const char *name, struct bwl_note_key *ret, struct bwl_err *e);
/*
 * A log's key: "NAME+ID+BASE64" or "PRIVATE+KEY+NAME+ID+BASE64"; trailing spaces and newlines are
 * ignored.
 */
int bwl_note_key_parse(const char *text, struct bwl_note_key *ret, struct bwl_err *e);
/* A witness's key, for verifying: "NAME+ID+BASE64". */
int bwl_witness_key_parse(const char *text, struct bwl_note_key *ret, struct bwl_err *e);
/* The same from raw bytes. -EINVAL: the name is invalid. */
int bwl_witness_key(const char *name, const uint8_t pub[32], struct bwl_note_key *ret,
		    struct bwl_err *e);
char *bwl_note_key_format(const struct bwl_note_key *k, bool secret,
			  char buf[static BWL_NOTE_KEY_TEXT]);

/* text ends with a newline. *ret_len without the NUL. */
int bwl_note_sign(const struct bwl_note_key *k, const char *text, char *buf, size_t size,
		  size_t *ret_len, struct bwl_err *e);
/*
 * Is it signed by k, of either type? *ret_text: length of the text. Other signatures are ignored.
 */
int bwl_note_open(const struct bwl_note_key *k, const char *note, size_t len, size_t *ret_text,
		  struct bwl_err *e);

/* Also returns k's signature, as in the note, with a witness's time before it. */
#define BWL_NOTE_SIGNATURE 72
int bwl_note_signature(const struct bwl_note_key *k, const char *note, size_t len,
		       uint8_t ret[static BWL_NOTE_SIGNATURE], struct bwl_err *e);

/* The length of the text alone; 0: not a note. */
size_t bwl_note_text(const char *note, size_t len);
/* What a witness signs: that many bytes of a note's text, and the time. The caller frees it. */
char *bwl_cosignature_said(const char *text, size_t len, uint64_t time_s, size_t *ret_len);
#define BWL_COSIGNATURE_LINE (BWL_NOTE_NAME + 128)
/* The witness's line below the note, with a newline. */
void bwl_cosignature_line(const struct bwl_note_key *k, uint64_t time_s, const uint8_t sig[64],
			  char buf[static BWL_COSIGNATURE_LINE]);

struct bwl_checkpoint {
	char origin[BWL_NOTE_NAME];
	uint64_t size;
	struct bwl_hash root;
	char extension[64]; /* one more line that is signed with it; "": none, or others */
};
#define BWL_CHECKPOINT_NOTE 640 /* bytes of one that we sign, including the NUL */
int bwl_checkpoint_sign(const struct bwl_note_key *k, const struct bwl_checkpoint *c,
			char buf[static BWL_CHECKPOINT_NOTE], size_t *ret_len, struct bwl_err *e);
/* Its content, whoever signed it; like bwl_checkpoint_open(), but without checking signatures. */
int bwl_checkpoint_read(const char *note, size_t len, struct bwl_checkpoint *ret,
			struct bwl_err *e);
int bwl_checkpoint_open(const struct bwl_note_key *k, const char *note, size_t len,
			struct bwl_checkpoint *ret, struct bwl_err *e);

#define BWL_HASH_TEXT 48 /* 44 in base64, NUL */
char *bwl_hash_format(const struct bwl_hash *h, char buf[static BWL_HASH_TEXT]);
bool bwl_hash_parse(const char *text, size_t len, struct bwl_hash *ret);

#endif
