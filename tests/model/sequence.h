/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What sequences, their policies and their judge share. */
#ifndef BWL_TEST_SEQUENCE_H
#define BWL_TEST_SEQUENCE_H

#include "model.h"

#define NDESTS MODEL_DESTS
#define NNAMES 6
#define NPLACES 7

/* --- policies.c: drawn policies, and what is in them */
extern const char *const name[NNAMES];
/* Peers cover destinations: one, a pair, or all. */
extern const struct place {
	const char *v4, *v6;
	unsigned first, last;
} places[NPLACES];
extern const struct window {
	const char *text;
	uint64_t ns;
} window[4];

struct policy {
	bool any;
	int name[NDESTS];      /* -1: nobody has it */
	int of_place[NPLACES]; /* -1: not in it */
	unsigned window;
	unsigned volume; /* bytes; 0: MODEL_VOLUME */
	bool zone;
	int zone_name;
};

struct model {
	/* before: what a trial returns to; lost: what it would have, but for a killed way back */
	struct policy now, before, lost;
	int last[NDESTS];    /* who had it, while nobody has */
	unsigned windows[2]; /* that policies of this sequence have */
	bool zones;          /* in this sequence a zone has the limit, not each grant */
	uint64_t seed, state, digest;
	bool six, rebooted, aside;
	char told[12000]; /* what was done, for whoever reads a failure */
};
extern struct model *m; /* of the sequence that runs */

uint64_t rnd(void);
unsigned below(unsigned n);
void make(struct policy *p);
/* Often little changes: the window, the zone's name, or one peer's name. */
void change(const struct policy *from, struct policy *ret);
bool has(const struct policy *p, int k);
bool has_dest(const struct policy *p, int k, unsigned d);
bool has_any(const struct policy *p, unsigned d);
bool goes_on(const struct policy *from, const struct policy *to, int k);
bool merges(const struct policy *from, const struct policy *to);
const char *text_of(const struct policy *p);
struct bwl_policy *parsed(const struct policy *p);

/* --- live.c: what must pass */
void live_begin(void);
/* Something was revoked by this name, or may have been; granted again; or a policy comes. */
void live_revoked(int k);
void live_granted(int k);
void live_policy(const struct policy *p);
/* Aside: what is allowed passes again. In one sequence of 32. */
void live_after(const char *event);
/* The same on the maps of the sequence. In one of 8. */
void live_at_end(void);

/* --- sequence.c */
void tell(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
void broken(const char *fmt, ...) __attribute__((format(printf, 1, 2), noreturn));
int publish(const struct policy *p, const struct bwl_publish_opts *o, struct bwl_err *e);

#endif
