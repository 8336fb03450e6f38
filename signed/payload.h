/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The content of a document: one JSON object, whose keys depend on its type, and for a policy its
 * text. Unknown keys are
 * refused, because a key that a reader does not understand might narrow the document. docs/fleet.md
 * has the list for people.
 */
#ifndef BWL_SIGNED_PAYLOAD_H
#define BWL_SIGNED_PAYLOAD_H

#include "signed/document.h"

/*
 * X(type, key, kind, must). Kinds: NAME, TEXT (not empty), NAMES and LABELS (lists, not empty),
 * DIGEST and DIGESTS (64 hex digits), NUMBER (from 1), PERCENT (1 to 100), SPAN (as in a policy
 * file), YES (true, or not there), MAP, CLOSINGS (closing.h), LOG_KEY (an audit log's verifier
 * key).
 */
#define BWL_PAYLOAD_KEYS(X)                                                                        \
	X(ROOT, "keys", MAP, true)                                                                 \
	X(ROOT, "roles", MAP, true)                                                                \
	X(POLICY, "text", TEXT, true)                                                              \
	X(POLICY, "offline_for", SPAN, false)                                                      \
	X(POLICY, "lease_most", SPAN, false)                                                       \
	X(POLICY, "stages", YES, false)                                                            \
	X(POLICY, "opens", NAMES, false)                                                           \
	X(POLICY, "lifts", NAMES, false)                                                           \
	X(POLICY, "fresh_volume", YES, false)                                                      \
	X(POLICY, "break_glass", YES, false)                                                       \
	X(POLICY, "reason", TEXT, false)                                                           \
	X(GRANT, "peer", NAME, true)                                                               \
	X(GRANT, "limit", MAP, true)                                                               \
	X(GRANT, "offline_for", SPAN, false)                                                       \
	X(GRANT, "opens", NAMES, false)                                                            \
	X(GRANT, "break_glass", YES, false)                                                        \
	X(GRANT, "reason", TEXT, true)                                                             \
	X(LEASE, "policy", DIGEST, true)                                                           \
	X(LEASE, "for", SPAN, true)                                                                \
	X(REVOCATION, "peers", NAMES, false)                                                       \
	X(REVOCATION, "all", YES, false)                                                           \
	X(REVOCATION, "documents", DIGESTS, false)                                                 \
	X(REVOCATION, "new_epoch", NUMBER, false)                                                  \
	X(REVOCATION, "reason", TEXT, true)                                                        \
	X(ROLLOUT, "from", DIGEST, false)                                                          \
	X(ROLLOUT, "to", DIGEST, true)                                                             \
	X(ROLLOUT, "percent", PERCENT, true)                                                       \
	X(ROLLOUT, "salt", TEXT, true)                                                             \
	X(ROLLOUT, "back", YES, false)                                                             \
	X(EXPULSION, "tray", NAME, true)                                                           \
	X(EXPULSION, "reason", TEXT, true)                                                         \
	X(ENROLMENT, "tray", NAME, true)                                                           \
	X(ENROLMENT, "labels", LABELS, false)                                                      \
	X(ENROLMENT, "log_key", LOG_KEY, false)                                                    \
	X(ENROLMENT, "root", DIGEST, true)                                                         \
	X(TIMESTAMP, "root", NUMBER, false)                                                        \
	X(TIMESTAMP, "closing", CLOSINGS, false)

#define BWL_OFFLINE_FOR_NS (900 * 1000000000ULL) /* if a document does not set it */
#define BWL_PAYLOAD_LIST_MAX 4096

struct bwl_envelope;
/* The caller drops *ret_body: the terms, and a policy's text as `text`. */
int bwl_payload_parse(const struct bwl_envelope *v, struct bwl_signed_terms *ret, json_t **ret_body,
		      struct bwl_err *e);
/* Is this what a document of the type may contain? body as bwl_envelope_new() takes it. */
int bwl_payload_check(enum bwl_signed_type type, const json_t *body, struct bwl_signed_terms *ret,
		      struct bwl_err *e);

/* From a parsed body: NULL, 0, false, … if the key is absent. */
const char *bwl_payload_text(const json_t *body, const char *key);
bool bwl_payload_yes(const json_t *body, const char *key);
uint64_t bwl_payload_number(const json_t *body, const char *key);
uint64_t bwl_payload_span(const json_t *body, const char *key, uint64_t otherwise_ns);
bool bwl_payload_lists(const json_t *body, const char *key, const char *word);

#endif
