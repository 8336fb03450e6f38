/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Which of many prefixes contain which. */
#ifndef BWL_PFX_WALK_H
#define BWL_PFX_WALK_H

#include "prefix.h"

struct bwl_pfx_entry {
	uint64_t hi, lo;      /* address in host byte order, left-aligned */
	uint32_t owner, item; /* the caller's; the order among equal prefixes with equal what */
	uint8_t family, len;
	/* the caller's; of equal prefixes the one with the smaller what contains the other */
	int what;
};

/* A prefix while the walk is inside it. */
struct bwl_pfx_open {
	const struct bwl_pfx_entry *x;
	const struct bwl_pfx_entry *first; /* the caller's */
	size_t inside;                     /* the caller's; 0 at first */
};

struct bwl_pfx_entry bwl_pfx_entry(const struct bwl_pfx *x, size_t owner, size_t item, int what);
/*
 * Sorts the list. Calls holds() for each prefix within another one, with the smallest that contains
 * it (the first of equal ones), until it returns non-zero, which is then returned. Calls leave()
 * for the first of each group of equal prefixes, once the walk is past it.
 */
int bwl_pfx_walk(struct bwl_pfx_entry *list, size_t n,
		 int (*holds)(void *arg, struct bwl_pfx_open *outer,
			      const struct bwl_pfx_entry *inner),
		 void (*leave)(void *arg, const struct bwl_pfx_open *outer), void *arg);

#endif
