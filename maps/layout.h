/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * A digest of the list of maps, stored in bwl_schema.layout and compared by every tool. Host code
 * only. BWL_LAYOUTS in list.h lists the numbers.
 */
#ifndef BWL_MAPS_LAYOUT_H
#define BWL_MAPS_LAYOUT_H

#include "ctl.h"
#include "event.h"
#include "latency.h"
#include "list.h"
#include "policy.h"
#include "reason.h"
#include "share.h"
#include "tunnel.h"

static inline __u64 bwl_fold(__u64 h, __u64 x)
{
	return (h ^ x) * 0x100000001b3ULL; /* FNV-1a */
}

/* Covers everything that a tool or a program would misread in another layout. */
static inline __u64 bwl_layout(void)
{
	const struct bwl_schema some = { .max_peers = 64, .max_extras = 256, .max_windows = 16 };
	const struct bwl_schema *n = &some;
	__u64 h = 0xcbf29ce484222325ULL;

#define BWL_AT_LOAD(entries) (entries)
#define X(name, kind, key, value, entries, ...)                                                    \
	for (const char *c = #name; *c; c++)                                                       \
		h = bwl_fold(h, (__u8)*c);                                                         \
	h = bwl_fold(h, BWL_TYPE_##kind);                                                          \
	h = bwl_fold(h, BWL_FLAGS_##kind);                                                         \
	h = bwl_fold(h, sizeof(key));                                                              \
	h = bwl_fold(h, sizeof(value));                                                            \
	h = bwl_fold(h, entries);
	BWL_MAPS(X)
#undef X
#undef BWL_AT_LOAD
	h = bwl_fold(h, BWL_MAX_PORTS);
	h = bwl_fold(h, BWL_REASON_COLUMNS);
	/*
	 * `drill` was a whole word before: to a tool that reads it so, a suspend looks like a drill
	 */
	h = bwl_fold(h, BWL_CTL_HALVES);
	return bwl_fold(h, BWL_SLICES_KEPT);
}

#endif
