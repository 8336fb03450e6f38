/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The map definitions, for the BPF programs only. maps/README.md is their table. */
#ifndef BWL_MAPS_MAPS_BPF_H
#define BWL_MAPS_MAPS_BPF_H

#include <linux/bpf.h>
#include <bpf/bpf_helpers.h>
#include "abi.h"
#include "control.h"
#include "event.h"
#include "limit.h"
#include "policy.h"
#include "reason.h"
#include "tunnel.h"

/* Sizes marked "set at load" are raised by bwlimit-load before the maps are made. */
#define BWL_ARRAY(map, value_type, entries)                                                      \
	struct {                                                                                 \
		__uint(type, BPF_MAP_TYPE_ARRAY);                                                \
		__uint(map_flags, BPF_F_MMAPABLE);                                               \
		__uint(max_entries, entries);                                                    \
		__type(key, __u32);                                                              \
		__type(value, value_type);                                                       \
	} map SEC(".maps")

#define BWL_PERCPU(map, value_type, entries)                                                     \
	struct {                                                                                 \
		__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);                                         \
		__uint(max_entries, entries);                                                    \
		__type(key, __u32);                                                              \
		__type(value, value_type);                                                       \
	} map SEC(".maps")

BWL_ARRAY(bwl_schema_v1, struct bwl_schema, 1);
BWL_ARRAY(bwl_ctl_v1, struct bwl_control, 1);
BWL_ARRAY(bwl_lease_v1, struct bwl_lease, 1);
BWL_ARRAY(bwl_gate_v1, struct bwl_gate, 1);	  /* set at load: max_peers */
BWL_ARRAY(bwl_name_v1, struct bwl_name, 1);	  /* set at load: max_peers */
BWL_ARRAY(bwl_state_v1, struct bwl_state, 1);	  /* set at load: 2 * (max_peers + max_extras) */
BWL_ARRAY(bwl_mark_v1, struct bwl_mark, 1);	  /* set at load: as bwl_state_v1 */
BWL_ARRAY(bwl_held_v1, struct bwl_held, BWL_MAX_HELD);
BWL_ARRAY(bwl_extra_v1, struct bwl_extra, 1);	  /* set at load: max_extras */
BWL_ARRAY(bwl_window_v1, struct bwl_window, 1);	  /* set at load: max_windows */
BWL_ARRAY(bwl_winown_v1, __u32, 1);		  /* set at load: max_windows */
BWL_ARRAY(bwl_tunnel_v1, struct bwl_tunnel, 1);  /* set at load: max_peers */
BWL_ARRAY(bwl_dev_v1, struct bwl_dev, BWL_MAX_PORTS);
BWL_ARRAY(bwl_ifport_v1, __u32, BWL_MAX_IFINDEX);
BWL_PERCPU(bwl_peercnt_v1, struct bwl_peer_count, 1); /* set at load: max_peers */
BWL_PERCPU(bwl_reason_v1, struct bwl_reason_count, BWL_REASON_ROWS * BWL_REASON_SLOTS);
BWL_PERCPU(bwl_evcnt_v1, struct bwl_event_count, BWL_EVENT_COUNTS);

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__uint(max_entries, 1);			      /* set at load: max_peers */
	__type(key, struct bwl_key_retired);
	__type(value, __u32);
} bwl_retired_v1 SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, BWL_EVENT_RING_BYTES);
} bwl_event_v1 SEC(".maps");

/*
 * Inner arrays that differ in size from generation to generation: BPF_F_INNER_MAP, kernel 5.10. A look-up
 * in one is a call; in an array of one size (bwl_base_v1) the kernel puts it in line.
 */
#define BWL_PER_GENERATION(map, inner_type, inner_flags, key_type, value_type)                   \
	struct map##_inner {                                                                     \
		__uint(type, inner_type);                                                        \
		__uint(map_flags, inner_flags);                                                  \
		__uint(max_entries, 1);                                                          \
		__uint(key_size, sizeof(key_type));                                              \
		__uint(value_size, sizeof(value_type));                                          \
	};                                                                                       \
	struct {                                                                                 \
		__uint(type, BPF_MAP_TYPE_ARRAY_OF_MAPS);                                        \
		__uint(max_entries, BWL_GENERATIONS);                                            \
		__type(key, __u32);                                                              \
		__array(values, struct map##_inner);                                             \
	} map SEC(".maps")

#define BWL_INNER_ARRAY (BPF_F_MMAPABLE | BPF_F_INNER_MAP)
BWL_PER_GENERATION(bwl_dst4_v1, BPF_MAP_TYPE_HASH, 0, __be32, __u32);
BWL_PER_GENERATION(bwl_dst6_v1, BPF_MAP_TYPE_HASH, 0, struct bwl_key6, __u32);
BWL_PER_GENERATION(bwl_lpm4_v1, BPF_MAP_TYPE_LPM_TRIE, BPF_F_NO_PREALLOC, struct bwl_key_lpm4, __u32);
BWL_PER_GENERATION(bwl_lpm6_v1, BPF_MAP_TYPE_LPM_TRIE, BPF_F_NO_PREALLOC, struct bwl_key_lpm6, __u32);
BWL_PER_GENERATION(bwl_own_v1, BPF_MAP_TYPE_LPM_TRIE, BPF_F_NO_PREALLOC, struct bwl_key_lpm6, __u32);
BWL_PER_GENERATION(bwl_base_v1, BPF_MAP_TYPE_ARRAY, BWL_BASE_FLAGS, __u32, struct bwl_base);
BWL_PER_GENERATION(bwl_peer_v1, BPF_MAP_TYPE_ARRAY, BWL_INNER_ARRAY, __u32, struct bwl_peer);
BWL_PER_GENERATION(bwl_sub_v1, BPF_MAP_TYPE_ARRAY, BWL_INNER_ARRAY, __u32, struct bwl_limit);

#endif
