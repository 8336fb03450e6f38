/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Sizes of all map values, and flags that changed once, folded: in bwl_schema.layout, compared by every tool. */
#ifndef BWL_MAPS_LAYOUT_H
#define BWL_MAPS_LAYOUT_H

#include "control.h"
#include "event.h"
#include "policy.h"
#include "reason.h"
#include "tunnel.h"

static inline __u64 bwl_layout(void)
{
	const __u64 sizes[] = {
		sizeof(struct bwl_schema), sizeof(struct bwl_control), sizeof(struct bwl_gate),
		sizeof(struct bwl_name), sizeof(struct bwl_state), sizeof(struct bwl_extra),
		sizeof(struct bwl_window), sizeof(struct bwl_dev), sizeof(struct bwl_peer_count),
		sizeof(struct bwl_reason_count), sizeof(struct bwl_event_count),
		sizeof(struct bwl_event), sizeof(struct bwl_base), sizeof(struct bwl_peer),
		sizeof(struct bwl_limit), sizeof(struct bwl_tunnel), sizeof(struct bwl_mark),
		sizeof(struct bwl_lease), sizeof(struct bwl_held),
		BWL_MAX_PORTS, BWL_REASON_SLOTS, BWL_WINDOW_SLOTS, BWL_BASE_FLAGS,
		BWL_EVENT_COUNTS,
	};
	__u64 h = 0xcbf29ce484222325ULL; /* FNV-1a */
	unsigned i;

	for (i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++)
		h = (h ^ sizes[i]) * 0x100000001b3ULL;
	return h;
}

#endif
