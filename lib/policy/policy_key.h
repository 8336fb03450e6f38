/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Inside the policy reader only. A key whose value is one scalar of a usual kind is a row of a
 * table: reading it, its domain, its default, checking and writing it go by the row. Rows stand in
 * the lists of policy_text.h (top level, a zone, a peer) and in policy_ipsec.c.
 */
#ifndef BWL_POLICY_KEY_H
#define BWL_POLICY_KEY_H

#include "policy_check.h"
#include "policy_conv.h"

enum bwl_key_kind {
	BWL_K_TEXT,    /* whatever fits; its check is somebody else's */
	BWL_K_ID,      /* an IKE identity */
	BWL_K_ADDRESS, /* of this DPU */
	BWL_K_NAME,
	BWL_K_WORD,   /* one of `words` */
	BWL_K_TIME,   /* ns; 32 or 64 bits */
	BWL_K_NUMBER, /* 32 bits */
	BWL_K_SIZE,   /* bytes; 32 bits */
	BWL_K_YESNO,  /* bool: the second of two `words`, "no or yes" */
	BWL_K_MAC,    /* of one station, 6 bytes; zeroes: none */
};

struct bwl_key {
	const char *name;
	size_t text;          /* of the string among those of libcyaml (policy_text.h) */
	size_t at, size;      /* in the policy; size 0: it is not kept */
	const char *standard; /* without the key; NULL: zeroes */
	const char *words;    /* WORD, YESNO: "a, b or c"; TIME: what stands for 0 */
	uint64_t min, max;
	enum bwl_key_kind kind;
	bool zero_is_none; /* TIME, NUMBER: 0 is that the key is not there */
	bool seconds;      /* TIME: whole ones */
	bool always;       /* written also where it is the default */
	bool apart;        /* written by policy_dump.c, where the digest has had it ever since */
};

/* Of the text struct TS member tm, kept in struct PS member pm. */
#define BWL_KEY(key, TS, tm, PS, pm)                                                               \
	.name = key, .text = offsetof(struct TS, tm), .at = offsetof(struct PS, pm),               \
	.size = sizeof(((struct PS *)0)->pm)

/* Until a row without a name. */
extern const struct bwl_key bwl_top_keys[], bwl_zone_keys[], bwl_peer_keys[];

void bwl_keys_defaults(const struct bwl_key *keys, void *x);
int bwl_conv_keys(struct bwl_conv *c, const struct bwl_key *keys, const void *text, void *x);
/* section: what the keys are in ("ipsec"); NULL: the top level. */
int bwl_check_keys(struct bwl_check *c, const struct bwl_key *keys, const char *section, void *x);
/* What is not its default, "KEY: VALUE\n" each behind indent; section stands before the first. */
void bwl_dump_keys(const struct bwl_key *keys, const void *x, const void *standard,
		   const char *section, const char *indent, FILE *f);

/* What strongSwan reads as an identity, and what stands between quotes in its files as it is. */
bool bwl_check_id(const char *s);
#define BWL_ID_DOMAIN "1 to 200 printable ASCII characters without \" \\ %% *"
#define BWL_PPK_DOMAIN "1 to 63 of A-Z a-z 0-9 . _ -, not starting with -"

#endif
