/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Does this widen? One pure function over what is in force and what is proposed. It compares; what
 * a document says about itself does not count. What is not provably as narrow is called wider:
 * widening costs a second person, while a wrong "narrower" costs a model.
 *
 * "Does not widen" is reflexive and transitive (unit.signed_widen_test), so no chain of documents
 * that one person signs ends above its start.
 */
#ifndef BWL_SIGNED_WIDEN_H
#define BWL_SIGNED_WIDEN_H

#include <bwl/policy.h>

/* A policy and what holds beside it. Times of grants are in pol, read with the same two clocks. */
struct bwl_holding {
	const struct bwl_policy *pol;
	int64_t not_after_s;     /* INT64_MAX: it does not end */
	uint64_t offline_for_ns; /* UINT64_MAX: it needs no signed time */
	uint64_t lease_most_ns;  /* the longest renewal by an online key; UINT64_MAX: any */
	bool stages;             /* an online key may choose which trays take it when */
	/* Of the proposal: volumes start unspent. This is an act, not a state: it always widens. */
	bool fresh_volume;
	const char *const *closed; /* names of closed peers; each of them must stay closed */
	size_t nclosed;
	/* The clocks with which pol was read, for words; 0, 0: this machine's. */
	uint64_t boot_ns;
	int64_t wall_s;
};
/* Only a policy: without an end, as local files have always been. */
struct bwl_holding bwl_holding_of(const struct bwl_policy *pol);

struct bwl_widening {
	char where[64]; /* "peer log-collector, grant" */
	char what[24];  /* "rate" */
	char from[80], to[80];
};
#define BWL_WIDENINGS_KEPT 256
struct bwl_widened {
	struct bwl_widening *item; /* the first of them */
	size_t n;                  /* total; at most BWL_WIDENINGS_KEPT are kept */
};
bool bwl_widens(const struct bwl_holding *from, const struct bwl_holding *to,
		struct bwl_widened *ret);
void bwl_widened_free(struct bwl_widened *w);
/* "peer log-collector, grant: rate: 10mbit -> 20mbit" */
#define BWL_WIDENING_TEXT 280
char *bwl_widening_text(const struct bwl_widening *w, char buf[static BWL_WIDENING_TEXT]);

#endif
