/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The early drop rests while it has nothing to do: TC judges a passing frame in any case, so it
 * would pay for both checks. A CPU's XDP checks this many frames after the last one that was
 * refused, or that XDP carries (path offload); then it passes frames unexamined until TC refuses
 * one.
 */
#ifndef BWL_REST_H
#define BWL_REST_H

#include "compiler.h"

#define BWL_LOOKS 1024 /* frames of a CPU; a few batches of a driver */

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, __u32); /* consecutive frames checked in vain */
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
