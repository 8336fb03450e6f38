/* SPDX-License-Identifier: GPL-2.0-or-later */
/* An interval's statement about a peer, under a pseudonym. */
#ifndef EV_PEER_H
#define EV_PEER_H

#include <bwl/err.h>
#include <jansson.h>
#include "tree.h"

/* An error: of a later version than this one, so that it cannot be judged here. */
#define EV_NEWER EPROTONOSUPPORT
#define EV_WORD 32
#define EV_WHY 160
#define EV_PARTS 64       /* maximum number of directions and classes */
#define EV_CPUS 4096      /* at most */
#define EV_NAME 256       /* maximum bytes of a peer's name */
#define EV_LINE 4096      /* of a record */
#define EV_TEXT (8 << 20) /* of a line of JSON about a peer */

struct ev_part {                      /* records and remainders of a direction and class */
	char way[8], class_[EV_WORD]; /* "out", "in" */
	struct ev_sum sum;
};
struct ev_cpu {
	uint32_t cpu;
	struct ev_sum before, after; /* the peer's counter on this CPU */
};
struct ev_peer {
	struct bwl_hash pseudonym;
	bool balanced;
	char why[EV_WHY]; /* why not balanced; "" */
	struct ev_sum flows, remainder, unclassed;
	struct ev_part *part; /* by their first record */
	size_t nparts;
	struct ev_cpu *cpu; /* ascending */
	size_t ncpus;
	uint32_t slots; /* number of slots for its records, including empty ones */
	struct bwl_hash root;
};
void ev_peer_free(struct ev_peer *p);

/* The salt of a name and its id. */
void ev_name_salt(const uint8_t master[32], uint64_t id, const char *name,
		  uint8_t ret[static EV_SALT]);
void ev_pseudonym(const uint8_t salt[static EV_SALT], uint64_t id, const char *name,
		  struct bwl_hash *ret);

void ev_peer_hash(const struct ev_peer *p, struct bwl_hash *ret);
/* Flows and remainders together: the sum of its records. false: too large. */
bool ev_peer_records(const struct ev_peer *p, struct ev_sum *ret);
/* Sums over all its CPUs, before and after. */
bool ev_peer_counters(const struct ev_peer *p, struct ev_sum *before, struct ev_sum *after);
/*
 * Do records, remainders and unclassed packets add up to the counters' growth, and the parts to the
 * records? NULL: yes; otherwise what is wrong. A peer that says that it does not balance is
 * believed.
 */
const char *ev_peer_wrong(const struct ev_peer *p);

json_t *ev_peer_json(const struct ev_peer *p);
/*
 * From untrusted input; the caller frees ret also on failure. -EBADMSG: says which value it is, and
 * what it must be; -EV_NEWER: it has a field that is not known here.
 */
int ev_peer_parse(const json_t *o, struct ev_peer *ret, struct bwl_err *e);

bool ev_is_way(const char *way); /* "out", "in" */

/* Numbers and bytes as JSON. */
json_t *ev_sum_json(const struct ev_sum *s);
bool ev_sum_parse(const json_t *a, struct ev_sum *ret);
json_t *ev_bytes_json(const uint8_t *at, size_t n);
bool ev_bytes_parse(const json_t *o, uint8_t *ret, size_t n);
bool ev_number_parse(const json_t *o, uint64_t most, uint64_t *ret);
bool ev_text_parse(const json_t *o, char *ret, size_t size);
/* The values that are accepted, for messages. */
#define EV_DOMAIN_SUM "four numbers from 0 to 2^63 - 1"
#define EV_DOMAIN_HASH "64 hexadecimal digits"
/*
 * A field that nobody here knows may say anything, also that bytes are left out. -EV_NEWER: o has a
 * field that is not in the list, which NULL ends.
 */
int ev_only_known(const json_t *o, const char *const *known, struct bwl_err *e);

#endif
