/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The contract between programs and tools: its version, its dimensions, and assertions against
 * accidental changes of the layout.
 *
 * `struct bwl_schema` lets every tool refuse a set of pins of another layout instead of reading
 * garbage (layout.h); `bwlimit-load upgrade` takes over earlier ones. All integers are in host byte
 * order unless typed __be*.
 */
#ifndef BWL_MAPS_ABI_H
#define BWL_MAPS_ABI_H

#include <linux/types.h>
#ifndef __bpf__
#include <stddef.h>
#endif
#include "words.h"

#define BWL_ABI_VERSION 1U
#define BWL_SCHEMA_MAGIC 0x62776c696d697431ULL /* "bwlimit1" */

/*
 * Neighbours of a family, for all ports together. With half as many unannounced ones this is below
 * the kernel's gc_thresh2 (512), so nothing is evicted.
 */
#define BWL_NEIGHBOURS 256
#define BWL_NEIGHBOURS_MIN 4  /* per port */
#define BWL_MAX_IFINDEX 65536 /* interfaces with a higher index cannot be attached */
#define BWL_GENERATIONS 2

#define BWL_ASSERT_SIZE(type, n) _Static_assert(sizeof(type) == (n), #type " changed size")
#define BWL_ASSERT_OFFSET(type, field, n)                                                          \
	_Static_assert(__builtin_offsetof(type, field) == (n), #type "." #field " moved")

/* bwl_schema_v1[0]: written only by bwlimit-load. */
struct bwl_schema {
	__u64 magic;     /* BWL_SCHEMA_MAGIC */
	__u32 abi;       /* BWL_ABI_VERSION */
	__u32 max_peers; /* entries of bwl_gate_v1; ids 1 .. max_peers - 1 */
	/* limits beside the peers': classes, tenants, floors, zones, ports, node */
	__u32 max_extras;
	__u32 max_windows; /* entries of bwl_window_v1 */
	__u64 layout; /* bwl_layout(): a digest of the list of maps; upgrade writes this last */
};
BWL_ASSERT_SIZE(struct bwl_schema, 32);

#endif
