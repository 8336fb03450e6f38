/* SPDX-License-Identifier: GPL-2.0-or-later */
/* `top`: measurement, sorting, and the terminal's display. */
#ifndef BWL_CTL_TOP_H
#define BWL_CTL_TOP_H

#include "stats.h"

/* Sort orders: the largest first, names alphabetically. */
#define TOP_SORTS(X)                                                                               \
	X(NOW, "now") /* what passes and is dropped */                                             \
	X(NAME, "name")                                                                            \
	X(STATE, "state")                                                                          \
	X(PASSES, "passes")                                                                        \
	X(LIMIT, "limit")                                                                          \
	X(OF, "of") /* the share of its limit that passes */                                       \
	X(DROPS, "drops")                                                                          \
	X(USED, "used") /* the share of its volume */
enum top_sort {
#define X(e, word) TOP_##e,
	TOP_SORTS(X)
#undef X
		TOP_SORT_COUNT
};
extern const char *const top_sort_words[]; /* ends with NULL */

struct top_row {
	uint32_t id;
	struct bwl_speed speed;
	double key; /* the sort key */
};

/*
 * One sample: the generation then, and the peers' traffic since the previous one. Zeroed: none yet.
 */
struct top_look {
	struct bwl_view v;
	uint32_t generation;
	struct top_row *rows; /* NULL: nothing yet */
	size_t n;             /* of them, after the filter */
	size_t all;
	double pass_bps, drop_bps;
	uint64_t passed_bytes, dropped_bytes;
};

#define TOP_FILTER 64
struct top_choice {
	enum top_sort sort;
	char filter[TOP_FILTER]; /* a part of the name; empty: all */
};

/* top_look.c */
/* Takes the next sample. Mapped arrays stay open between samples; a reader's copies are renewed. */
int top_look(struct ctl *c, const struct ctl_sample *before, struct ctl_sample *now,
	     struct top_look *k);
void top_look_free(struct top_look *k);
/* Selects and sorts rows; may be called again with another choice. */
void top_choose(struct top_look *k, const struct top_choice *t);
void top_head(const struct top_look *k, FILE *f); /* one line */
/* false: it was removed since it was counted. */
bool top_peer(const struct top_look *k, const struct top_row *row, struct bwl_peer_row *ret);

/* top_screen.c: runs until the user quits. */
int top_screen(struct ctl *c, uint64_t every_ns, struct top_choice *t);

#endif
