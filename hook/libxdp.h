/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * XDP through libxdp, so that other XDP programs can share the port, behind ours. Weaker than our
 * own bpf_link: whoever may attach there may also get in front of us, which bwl_programs_look()
 * notices; and nothing is pinned.
 */
#ifndef BWL_HOOK_LIBXDP_H
#define BWL_HOOK_LIBXDP_H

#include "hook.h"

struct bpf_object;

/*
 * obj: opened, not loaded, with its maps reused; libxdp loads it as its dispatcher's component, or
 * alone if the kernel refuses the dispatcher. why tells which.
 */
int bwl_libxdp_attach(const struct bwl_hook_at *at, struct bpf_object *obj, bool native, char *why,
		      size_t size, struct bwl_err *e);
/* Fills ret if ours is a component of the dispatcher. */
int bwl_libxdp_query(const struct bwl_hook_at *at, struct bwl_hook_state *ret, struct bwl_err *e);
int bwl_libxdp_detach(const struct bwl_hook_at *at, struct bwl_err *e);

#endif
