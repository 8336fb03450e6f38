/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Inside the policy reader only. A key whose value is one scalar of a common kind is a row of a
 * table; it is read, checked and written from the row, with its domain and default. Rows are in the
 * lists of policy_text.h (top level, a zone, a peer) and in policy_ipsec.c.
 */
#ifndef BWL_POLICY_KEY_H
#define BWL_POLICY_KEY_H

#include "policy_check.h"
#include "policy_conv.h"

enum bwl_key_kind {
	BWL_K_TEXT,    /* any text that fits; checked elsewhere */
	BWL_K_ID,      /* an IKE identity, kept in its canonical form */
	BWL_K_ADDRESS, /* of this DPU */
	BWL_K_NAME,
	BWL_K_WORD,   /* one of `words` */
	BWL_K_TIME,   /* ns; 32 or 64 bits */
	BWL_K_NUMBER, /* 32 bits */
	BWL_K_SIZE,   /* bytes; 32 bits */
	BWL_K_YESNO,  /* bool: true is the second of two `words`, "no or yes" */
	BWL_K_MAC,    /* one station's, 6 bytes; zeroes: none */
};

struct bwl_key {
	const char *name;
	size_t text;          /* offset of the string that libcyaml fills (policy_text.h) */
	size_t at, size;      /* in the policy; size 0: not kept */
	const char *standard; /* value if the key is missing; NULL: zeroes */
	const char *words;    /* WORD, YESNO: "a, b or c"; TIME: the word for 0 */
	uint64_t min, max;
	enum bwl_key_kind kind;
	bool zero_is_none; /* TIME, NUMBER: 0 means the key is missing */
	bool seconds;      /* TIME: whole seconds only */
	bool always;       /* written even if it is the default */
	/* written by policy_dump.c, at the place that it has always had in the digest */
	bool apart;
};

/* Reads member tm of struct TS; stores member pm of struct PS. */
#define BWL_KEY(key, TS, tm, PS, pm)                                                               \
	.name = key, .text = offsetof(struct TS, tm), .at = offsetof(struct PS, pm),               \
	.size = sizeof(((struct PS *)0)->pm)

/* Each ends with a row without a name. */
extern const struct bwl_key bwl_top_keys[], bwl_zone_keys[], bwl_peer_keys[];

void bwl_keys_defaults(const struct bwl_key *keys, void *x);
void bwl_conv_keys(struct bwl_conv *c, const struct bwl_key *keys, const void *text, void *x);
/* section: the mapping of these keys ("ipsec"); NULL: the top level. */
void bwl_check_keys(struct bwl_check *c, const struct bwl_key *keys, const char *section, void *x);
/*
 * Writes what is not the default, as "KEY: VALUE\n" each after indent; section goes before the
 * first.
 */
void bwl_dump_keys(const struct bwl_key *keys, const void *x, const void *standard,
		   const char *section, const char *indent, FILE *f);

/* 0, or the error that s is no identity; what: before it, "ipsec: ". */
int bwl_check_id(struct bwl_err *e, const char *what, const char *s);
#define BWL_PPK_DOMAIN "1 to 63 of A-Z a-z 0-9 . _ -, not starting with -"

#endif
