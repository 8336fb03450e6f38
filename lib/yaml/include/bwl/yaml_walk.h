/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Walks a YAML document, with the position of each node in the text. */
#ifndef BWL_YAML_WALK_H
#define BWL_YAML_WALK_H

#include <stddef.h>
#include "bwl/err.h"

/* One step from a YAML node to its child: a key, or an index when key is NULL. */
struct bwl_step {
	const char *key;
	size_t index;
};

#define BWL_PLACE_STEPS 8 /* two more than any place in a policy: values of a wrong kind */
struct bwl_place {
	struct bwl_step step[BWL_PLACE_STEPS];
	unsigned n;
};

struct bwl_node {
	const struct bwl_step *path;
	unsigned depth;        /* steps in path; the last is this node's own */
	bool is_key;           /* the key itself, before its value */
	const char *scalar;    /* NULL: a list or a mapping begins */
	bool plain;            /* a scalar without quotes */
	bool is_map;           /* a mapping begins */
	unsigned line, column; /* from 1 */
	size_t offset;         /* in characters */
};

/*
 * Walks the document in order and calls fn for every node until it returns non-zero, which is
 * then returned. Syntax errors fill *e with their position.
 */
int bwl_scan(const char *text, size_t len, int (*fn)(void *arg, const struct bwl_node *n),
	     void *arg, struct bwl_err *e);

enum bwl_locate { BWL_AT_VALUE, BWL_AT_KEY, BWL_AT_SECOND_KEY };
/* Puts line and column of the node, or of its nearest ancestor, into *e. */
void bwl_scan_locate(const char *text, size_t len, const struct bwl_place *w, enum bwl_locate what,
		     struct bwl_err *e);

static inline void bwl_place_key(struct bwl_place *w, const char *key)
{
	if (w->n < BWL_PLACE_STEPS)
		w->step[w->n++] = (struct bwl_step){ .key = key };
}

static inline void bwl_place_index(struct bwl_place *w, size_t index)
{
	if (w->n < BWL_PLACE_STEPS)
		w->step[w->n++] = (struct bwl_step){ .index = index };
}

#endif
