/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Next hops whose MAC the policy gives, in the kernel's neighbour table. */
#ifndef BWL_NEXT_HOPS_H
#define BWL_NEXT_HOPS_H

#include <bwl/generation.h>
#include <bwl/netdev.h>

/* The entries that g asks for; free *ret. ifindex 0: of a peer's DPU that no route leads to. */
size_t bwl_next_hops(const struct bwl_pins *p, const struct bwl_gen *g, struct bwl_fixed_hop **ret);
/* All that can be found into the table. 0, or the first that cannot be. */
int bwl_next_hops_fix(const struct bwl_fixed_hop *list, size_t n, struct bwl_err *e);
/* Removes those that were made before and are not in the list. */
void bwl_next_hops_sweep(const struct bwl_pins *p, const struct bwl_fixed_hop *list, size_t n);

#endif
