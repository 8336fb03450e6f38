/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Does this widen? One pure function over what is in force and what is proposed. It compares; what
 * a document says of itself counts for nothing. What is not provably as narrow is called wider:
 * widening costs a second person, and a wrong "narrower" costs a model.
 *
 * "Does not widen" is reflexive and transitive (unit.signed_widen_test), so no chain of documents
 * that one person signs ends above where it began.
 */
#ifndef BWL_SIGNED_WIDEN_H
#define BWL_SIGNED_WIDEN_H

#include <bwl/policy.h>

/* A policy and what holds beside it. Times of grants are in pol, read with the same two clocks. */
struct bwl_holding {
	const struct bwl_policy *pol;
	int64_t not_after_s;     /* INT64_MAX: it does not end */
	uint64_t offline_for_ns; /* UINT64_MAX: it needs no signed time */
	uint64_t lease_most_ns;  /* what an online key may renew for; UINT64_MAX: any time */
	bool stages;             /* an online key may choose who takes it when */
	/* Of what is proposed: volumes begin unspent. An act, no state: it always widens. */
	bool fresh_volume;
	const char *const *closed; /* names of peers that are closed; each of them must stay so */
	size_t nclosed;
};
/* A policy alone: without an end, as local files have always been. */
struct bwl_holding bwl_holding_of(const struct bwl_policy *pol);

struct bwl_widening {
	char where[64]; /* "peer log-collector, grant" */
	char what[24];  /* "rate" */
	char from[80], to[80];
};
#define BWL_WIDENINGS_KEPT 256
struct bwl_widened {
	struct bwl_widening *item; /* the first of them */
	size_t n;                  /* how many there are; kept are at most BWL_WIDENINGS_KEPT */
};
bool bwl_widens(const struct bwl_holding *from, const struct bwl_holding *to,
		struct bwl_widened *ret);
void bwl_widened_free(struct bwl_widened *w);
/* "peer log-collector, grant: rate: 10mbit -> 20mbit" */
#define BWL_WIDENING_TEXT 280
char *bwl_widening_text(const struct bwl_widening *w, char buf[static BWL_WIDENING_TEXT]);

#endif
