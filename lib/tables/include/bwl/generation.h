/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Inside lib: creating, filling and walking the inner maps of a generation. */
#ifndef BWL_LIB_GEN_H
#define BWL_LIB_GEN_H

#include <bwl/pins.h>
#include <bwl/policy.h>

#define BWL_SPARE_PEERS 256U /* entries for edits of single peers between two policies */

struct bwl_gen_size {
	uint32_t dst4, dst6, lpm4, lpm6, own, peers, subs;
};

/* Zeroed inner maps, not yet reachable by BPF. */
int bwl_gen_create(uint32_t slot, const struct bwl_gen_size *n, struct bwl_gen *ret,
		   struct bwl_err *e);
/* Installs them for the programs (base last: without it a slot is closed). */
int bwl_gen_install(struct bwl_pins *p, const struct bwl_gen *g, struct bwl_err *e);
/* Removes a slot's inner maps; base first. The slot must not be in use. */
int bwl_gen_drop(struct bwl_pins *p, uint32_t slot, struct bwl_err *e);
/* Kernel memory of the generation's maps as the kernel accounts it. */
uint64_t bwl_gen_bytes(const struct bwl_gen *g);

/* Every destination prefix of a generation. Stops when fn returns non-zero. */
typedef int (*bwl_dest_fn)(const struct bwl_pfx *pfx, uint32_t id, void *arg);
int bwl_dest_each(const struct bwl_gen *g, bwl_dest_fn fn, void *arg);

#endif
