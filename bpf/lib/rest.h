/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The early drop rests while it has nothing to do: a frame that passes is judged by TC in any case,
 * and would pay for both looks. A CPU's XDP looks at so many frames after the last one that was
 * refused, or that XDP carries (path offload); then it passes them unseen, until TC refuses one.
 */
#ifndef BWL_REST_H
#define BWL_REST_H

#include "compiler.h"

#define BWL_LOOKS 1024 /* frames of a CPU; some batches of a driver's */

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, __u32); /* frames looked at in vain, one after the other */
} bwl_looked SEC(".maps");

static __always_inline _Bool bwl_xdp_rests(void)
{
	__u32 zero = 0, *n = bpf_map_lookup_elem(&bwl_looked, &zero);

	if (!n)
		return 0;
	if (bwl_likely(*n >= BWL_LOOKS))
		return 1;
	++*n;
	return 0;
}

static __always_inline void bwl_xdp_wakes(void)
{
	__u32 zero = 0, *n = bpf_map_lookup_elem(&bwl_looked, &zero);

	if (n)
		*n = 0;
}

#endif
