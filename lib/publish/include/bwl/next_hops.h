/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Next hops whose MAC the policy gives, in the kernel's neighbour table. */
#ifndef BWL_NEXT_HOPS_H
#define BWL_NEXT_HOPS_H

#include <bwl/generation.h>
#include <bwl/netdev.h>

/* The entries that g asks for; free *ret. ifindex 0: of a peer's DPU that no route leads to. */
size_t bwl_next_hops(const struct bwl_pins *p, const struct bwl_gen *g, struct bwl_fixed_hop **ret);
/*
 * The same of what is in force at now_ns, and of what takes over from it by itself (policy apply
 * --confirm): both stay.
 */
int bwl_next_hops_held(struct bwl_pins *p, uint64_t now_ns, struct bwl_fixed_hop **ret,
		       size_t *ret_n, struct bwl_err *e);
/* The first of the list that would change where g, in force, sends; NULL: none. */
const struct bwl_fixed_hop *bwl_next_hops_moved(const struct bwl_pins *p, const struct bwl_gen *g,
						const struct bwl_fixed_hop *list, size_t n);
/* All that can be found into the table. 0, or the first that cannot be. */
int bwl_next_hops_fix(const struct bwl_fixed_hop *list, size_t n, struct bwl_err *e);
/* Removes those that were made before and are not in the list. */
void bwl_next_hops_sweep(const struct bwl_pins *p, const struct bwl_fixed_hop *list, size_t n);

#endif
