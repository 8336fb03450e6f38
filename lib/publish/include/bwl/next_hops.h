/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Next hops whose MAC is given by the policy, in the kernel's neighbour table. */
#ifndef BWL_NEXT_HOPS_H
#define BWL_NEXT_HOPS_H

#include <bwl/generation.h>
#include <bwl/netdev.h>

/* The entries that g needs; free *ret. ifindex 0: a peer's DPU to which no route leads. */
size_t bwl_next_hops(const struct bwl_pins *p, const struct bwl_gen *g, struct bwl_fixed_hop **ret);
/* The same for the policy in force; an empty list if there is none. */
int bwl_next_hops_in_force(struct bwl_pins *p, struct bwl_fixed_hop **ret, size_t *ret_n,
			   struct bwl_err *e);
/* Removes entries that bwlimit made before and that are not in the list. */
void bwl_next_hops_sweep(const struct bwl_pins *p, const struct bwl_fixed_hop *list, size_t n);

#endif
