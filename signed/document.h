/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Signed documents: the bytes of an envelope in, a verified document out, or an error that says
 * why. Nothing here does I/O, reads a clock or remembers: time, the trusted root and who we are are
 * arguments. memory.h has what was accepted before (versions, epoch, newest time).
 *
 * A document is lines of text, then bytes:
 *
 *	bwlimit-document: 2
 *	signature: KEYID BASE64
 *	…
 *	type: policy
 *	fleet: hall-3
 *	audience: tray:tray-7
 *	serial: 5577006791947779410
 *	bytes: 1234
 *	terms: {"name":"base","epoch":1,"version":7,"issued_at":"2027-01-31T18:00:00.123Z",…}
 *
 *	a policy's text, as it is in the file
 *
 * The signatures (Ed25519) cover the first line and everything from `type` on, as these bytes: only
 * the lines of words are parsed before a signature is verified, and nothing is ever normalised.
 * What bwlimit 0.3.0 signed is read as well (envelope_dsse.c).
 */
#ifndef BWL_SIGNED_DOCUMENT_H
#define BWL_SIGNED_DOCUMENT_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <bwl/err.h>
#include "maps/words.h"

/*
 * The owners of keys by role. People hold `root` and `policy`, at least two of them each; only the
 * controller holds `online`, and no key is in both.
 */
enum bwl_role { BWL_ROLE_ROOT, BWL_ROLE_POLICY, BWL_ROLE_ONLINE, _BWL_ROLE_MAX };

/* X(enumerator, word in payloadType, role, does one person of the role suffice?) */
#define BWL_SIGNED_TYPES(X)                                                                        \
	X(ROOT, "root", BWL_ROLE_ROOT, false)                                                      \
	X(POLICY, "policy", BWL_ROLE_POLICY, true) /* if it widens nothing: widen.h */             \
	X(GRANT, "grant", BWL_ROLE_POLICY, true)                                                   \
	X(LEASE, "lease", BWL_ROLE_ONLINE, false)                                                  \
	X(REVOCATION, "revocation", BWL_ROLE_POLICY, true)                                         \
	X(ROLLOUT, "rollout", BWL_ROLE_ONLINE, false)                                              \
	X(EXPULSION, "expulsion", BWL_ROLE_POLICY, true)                                           \
	X(ENROLMENT, "enrolment", BWL_ROLE_POLICY, false)                                          \
	X(TIMESTAMP, "timestamp", BWL_ROLE_ONLINE, false)
enum bwl_signed_type {
#define X(e, word, role, one) BWL_SIGNED_##e,
	BWL_SIGNED_TYPES(X)
#undef X
		_BWL_SIGNED_MAX
};
const char *bwl_signed_word(enum bwl_signed_type t);
enum bwl_role bwl_signed_role(enum bwl_signed_type t);

#define BWL_SIGNED_BYTES_MAX (64UL << 20) /* of an envelope */
#define BWL_SIGNED_AUDIENCE 1024          /* bytes, with the NUL */
#define BWL_SIGNED_SIGNATURES_MAX 32

/* This tray, from its enrolment. */
struct bwl_tray {
	char fleet[BWL_NAME_LEN], name[BWL_NAME_LEN];
	const char *const *labels; /* "KEY=VALUE" */
	size_t nlabels;
};

struct bwl_root; /* root.h: the keys, owners, roles and thresholds that are trusted now */

/* Fields of every payload. */
struct bwl_signed_terms {
	char name[BWL_NAME_LEN];
	uint64_t epoch, version; /* a higher epoch starts versions anew */
	int64_t issued_s, not_after_s;
	int issued_ms; /* of the second, 0 to 999; -1: it does not say */
};
/* Was a signed before b (< 0), as far as they say at the same moment (0), or later? */
int bwl_signed_order(const struct bwl_signed_terms *a, const struct bwl_signed_terms *b);

struct bwl_signed {
	enum bwl_signed_type type;
	char fleet[BWL_NAME_LEN], audience[BWL_SIGNED_AUDIENCE];
	struct bwl_signed_terms terms;
	uint64_t serial;       /* 0: bwlimit 0.3.0 signed it */
	uint8_t digest[32];    /* SHA-256 of what is signed: what a version stands for */
	unsigned people;       /* number of different owners of the role with valid signatures */
	char by[BWL_NAME_LEN]; /* the owner's name, if one person signed; otherwise empty */
	bool enough;           /* as many as the role's threshold: it may widen */
	json_t *body;          /* the payload, with the keys of its type (payload.h) */
};

/*
 * The error for programs, in e->id: "signed-malformed" (not an envelope, or a payload that is not
 * of its type), "signed-untrusted" (too few valid signatures), "signed-audience" (another fleet or
 * tray), "signed-expired", "signed-early" (issued over a minute in the future).
 * memory.h adds "signed-old" (a lower version or epoch) and "signed-conflict" (the same version
 * with another text), widen.h adds "signed-widens".
 *
 * who NULL: the audience is not checked (for programs that pass documents on). now_s: the wall
 * clock, but never below the newest signed timestamp (bwl_memory_now()). Not for the type `root`:
 * bwl_root_*().
 */
int bwl_signed_open(const char *bytes, size_t len, const struct bwl_root *root,
		    const struct bwl_tray *who, int64_t now_s, struct bwl_signed *ret,
		    struct bwl_err *e);
/* The same from the result of bwl_envelope_parse(). */
struct bwl_envelope;
int bwl_signed_open_envelope(const struct bwl_envelope *v, const struct bwl_root *root,
			     const struct bwl_tray *who, int64_t now_s, struct bwl_signed *ret,
			     struct bwl_err *e);
void bwl_signed_free(struct bwl_signed *d); /* frees its content */
/*
 * "signed-early" if it was issued after now. A tray refuses whatever is not to close before its
 * time, to the second: by a date ahead one person would put it after what others sign until then.
 */
int bwl_signed_not_early(const struct bwl_signed *d, int64_t now_s, struct bwl_err *e);

/*
 * The same without a root and a clock: type, fleet, audience, terms and digest as the bytes claim,
 * people 0. For programs that only store, name and pass on documents: trust none of it.
 */
int bwl_signed_peek(const char *bytes, size_t len, struct bwl_signed *ret, struct bwl_err *e);

#endif
