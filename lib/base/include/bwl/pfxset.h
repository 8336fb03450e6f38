/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A set of prefixes, each with a number. */
#ifndef BWL_PFXSET_H
#define BWL_PFXSET_H

#include <stddef.h>
#include <bwl/prefix.h>

struct bwl_pfxset_item {
	struct bwl_pfx pfx;
	uint64_t value;
};

struct bwl_pfxset {
	struct bwl_pfxset_item *item;
	size_t n, room;
	bool lens[2][129]; /* lengths that occur, by family */
	bool sorted;
	bool twins; /* equal prefixes are kept, by rising number */
};

/* Aborts without memory. */
void bwl_pfxset_add(struct bwl_pfxset *s, const struct bwl_pfx *pfx, uint64_t value);
/* Call this before any look-up. Of equal prefixes only the highest number is kept, unless twins. */
void bwl_pfxset_sort(struct bwl_pfxset *s);
void bwl_pfxset_free(struct bwl_pfxset *s);

/* A non-zero result ends the walk, and is returned. */
typedef int (*bwl_pfxset_fn)(const struct bwl_pfxset_item *i, void *arg);
/* The prefixes that contain q, or equal it, the shortest first. */
int bwl_pfxset_holders(const struct bwl_pfxset *s, const struct bwl_pfx *q, bwl_pfxset_fn fn,
		       void *arg);
/* Those, and the prefixes within q. */
int bwl_pfxset_overlaps(const struct bwl_pfxset *s, const struct bwl_pfx *q, bwl_pfxset_fn fn,
			void *arg);
const struct bwl_pfxset_item *bwl_pfxset_exact(const struct bwl_pfxset *s, const struct bwl_pfx *q);

#endif
