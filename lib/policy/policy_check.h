/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Common parts of a policy's checks. Library only. */
#ifndef BWL_POLICY_CHECK_H
#define BWL_POLICY_CHECK_H

#include <bwl/effects.h>
#include "policy_report.h"
#include "policy_text.h"

#define BWL_NAME_DOMAIN "1 to 31 of A-Z a-z 0-9 . _ -, not starting with -"

struct bwl_check {
	struct bwl_policy *p;
	const char *file;
	struct bwl_place w; /* of what is being checked */
	struct bwl_report *rep;
	struct bwl_err *e;                 /* the report's */
	unsigned line;                     /* of the item that is being checked */
	const struct bwl_pol_zone **zones; /* by name */
	uint32_t *names;                   /* hash of peers: index + 1 */
	size_t names_mask;
	struct bwl_hop *nexthops; /* hash; without an uplink: free */
	size_t nexthops_mask, nnexthops;
	struct bwl_hop last_hop;
};

bool bwl_check_name(const char *s, size_t max);
/* Where the check is: section, item (SIZE_MAX: none), key (NULL: none). */
void bwl_check_at(struct bwl_check *c, const char *section, size_t index, const char *key,
		  unsigned line);
void bwl_check_peer_at(struct bwl_check *c, size_t i, const char *key, const char *below);
/* Tells error r (0: none) of what the check is at, unless it only follows from another one. */
void bwl_check_tell(struct bwl_check *c, int r);
#define BWL_BAD(c, code, ...) bwl_check_tell(c, bwl_fail((c)->e, code, __VA_ARGS__))
/* "a: b", or "a" if b is empty: with printf a check would take twice as long. */
void bwl_check_words(char *buf, size_t size, const char *a, const char *sep, const char *b);
/* Checks limit what ("grant") of who ("peer x"). c->w is its place. */
void bwl_check_limit(struct bwl_check *c, const struct bwl_lim *l, const char *who,
		     const char *what, bool may_be_empty);
void bwl_check_prefixes(struct bwl_check *c, const struct bwl_pfx *list, size_t n, const char *key,
			const char *who);
bool bwl_check_has_uplink(const struct bwl_policy *p, const char *name);
/* Is it one of the first n host ports? */
bool bwl_check_has_port(const struct bwl_policy *p, const char *name, size_t n);
int bwl_check_zone_cmp(const void *a, const void *b); /* of pointers to zones, by name */
void bwl_check_ipsec(struct bwl_check *c);
void bwl_check_peer_ipsec(struct bwl_check *c, size_t i, const char *who);
/* policy_check_path.c: the way to a peer */
void bwl_check_path(struct bwl_check *c, size_t i, const char *who);
void bwl_check_nexthop(struct bwl_check *c, size_t i, const char *who);
void bwl_check_peer(struct bwl_check *c, size_t i);
/* After all peers: each one's portion of a zone that is shared by weight. */
void bwl_check_portions(struct bwl_check *c);
/* policy_overlaps.c: compares prefixes with each other */
void bwl_policy_check_overlaps(struct bwl_check *c);
uint64_t bwl_check_hash(const void *data, size_t n);

#endif
