/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The list of maps: everything about each map, in one place. Made from it: the definitions for BPF
 * (maps.bpf.h), the pins and their sizes (lib, loader, both rigs), the layout's digest (layout.h).
 * Checked against it: the tables of README.md and the maps of the built object
 * (tests/unit/maps_test.c).
 *
 * Before changing or adding a row: CONTRIBUTING.md, "a map".
 */
#ifndef BWL_MAPS_LIST_H
#define BWL_MAPS_LIST_H

/*
 * X(name, kind, key, value, entries, since, written, read, what)
 *
 * name     the map is bwl_<name>_v1, the pin <pin dir>/maps/bwl_<name>_v1
 * kind     ARRAY   array, mapped into user space
 *          WORDS   the same, with 32-bit values
 *          SCHEMA  an array that is read before the others, by lookup
 *          PERCPU  per-CPU array
 *          HASH    hash, not preallocated
 *          RING    ring buffer; value: a record
 *          GEN_…   one inner map for each generation, behind an array of maps
 * entries  may use n, the bwl_schema. BWL_AT_LOAD(): one entry until bwlimit-load sets it.
 *          The ring: bytes. Inner maps: each generation has its own number
 * since    the first layout (below) that has it: pins of an earlier one may lack it. 7: each has it
 * written  by whom: BPF or user space, not both, except where README.md says so
 */
/* clang-format off */
#define BWL_MAPS(X)                                                                              \
	X(schema, SCHEMA, __u32, struct bwl_schema, 1, 7, "load: last, and upgrade",             \
	  "every tool, first", "0 → `bwl_schema`")                                               \
	X(ctl, ARRAY, __u32, struct bwl_ctl, 1, 7, "load, ctl, agent, ipsec",                \
	  "BPF, first; tools", "0 → `bwl_ctl`: stop switch, generation, heartbeat, revoke-all") \
	X(lease, ARRAY, __u32, struct bwl_lease, 1, 7, "agent; load, ctl: sooner", "tools",      \
	  "0 → `bwl_lease`: until when the DPU may hold grants")                                 \
	X(gate, ARRAY, __u32, struct bwl_peer_ref, BWL_AT_LOAD(n->max_peers), 7, "load, ctl, agent", \
	  "BPF, tools", "peer id → `bwl_peer_ref`: body index per generation, revocation number")      \
	X(name, ARRAY, __u32, struct bwl_name, BWL_AT_LOAD(n->max_peers), 7, "load, ctl, agent", \
	  "tools", "peer id → name")                                                             \
	X(nameid, ARRAY, __u32, struct bwl_nameid, BWL_AT_LOAD(n->max_peers), 7,                 \
	  "load, ctl, agent", "tools", "hash of a name → ids that may have it")                  \
	X(state, ARRAY, __u32, struct bwl_state,                                                 \
	  BWL_AT_LOAD(2 * (n->max_peers + n->max_extras)), 7,                                    \
	  "**BPF**; load, ctl, agent: an account that is carried over", "BPF, tools",            \
	  "limit → `bwl_state`")                                                                 \
	X(mark, ARRAY, __u32, struct bwl_release, BWL_AT_LOAD(2 * (n->max_peers + n->max_extras)), \
	  7, "agent; load, ctl: a new volume's", "BPF, tools",                                   \
	  "limit → `bwl_release`: how much of a volume the ledger has released")                    \
	X(held, ARRAY, __u32, struct bwl_held, BWL_MAX_HELD, 7, "load, ctl, agent", "the same",  \
	  "0: how many follow → `bwl_held`: accounts that a writer holds full")                  \
	X(extra, ARRAY, __u32, struct bwl_extra, BWL_AT_LOAD(n->max_extras), 7,                  \
	  "load, ctl, agent", "tools", "extra limit → its owner")                                \
	X(window, ARRAY, __u32, struct bwl_window, BWL_AT_LOAD(n->max_windows), 7,               \
	  "**BPF**; load, ctl, agent: the same, `slice_ns`, `left_ns`", "BPF, tools",            \
	  "window → `bwl_window`")                                                               \
	X(winown, WORDS, __u32, __u32, BWL_AT_LOAD(n->max_windows), 7, "load, ctl, agent",       \
	  "tools", "window → state it belongs to")                                               \
	X(tunnel, ARRAY, __u32, struct bwl_tunnel, BWL_AT_LOAD(n->max_peers), 7, "agent, ipsec", \
	  "BPF, tools", "peer id → `bwl_tunnel`: is there an SA, does a device carry it")        \
	X(dev, ARRAY, __u32, struct bwl_dev, BWL_MAX_PORTS, 7,                                   \
	  "load; agent, ipsec: `flags`", "BPF, tools",                                           \
	  "port id → device; management devices, too")                                           \
	X(ifport, WORDS, __u32, __u32, BWL_MAX_IFINDEX, 7, "load", "BPF, tools",                 \
	  "ifindex → port id + 1")                                                               \
	X(retired, HASH, struct bwl_key_retired, __u32, BWL_AT_LOAD(n->max_peers), 7,            \
	  "load, ctl, agent", "the same",                                                        \
	  "prefix → id of a peer that left revoked or with volume spent; closed prefixes") \
	X(given, HASH, struct bwl_key_retired, struct bwl_given,                                 \
	  BWL_AT_LOAD(n->max_peers + 2), 8, "load, ctl, agent", "the same",                      \
	  "prefix → `bwl_given`: what is owed where a peer that stays gave a prefix up")         \
	X(peercnt, PERCPU, __u32, struct bwl_peer_count, BWL_AT_LOAD(n->max_peers), 7,           \
	  "**BPF**", "tools", "peer id → `bwl_peer_count`")                                      \
	X(over, PERCPU, __u32, struct bwl_over_count, BWL_AT_LOAD(n->max_peers), 8,              \
	  "**BPF**", "tools", "peer id → `bwl_over_count`: passed because of mode monitor")      \
	X(cpu, PERCPU, __u32, struct bwl_cpu, 1, 7, "**BPF**", "BPF",                            \
	  "0 → `bwl_cpu`: a CPU's shares of node, ports and zones")                              \
	X(share, PERCPU, __u32, struct bwl_share_entry, BWL_SHARES, 7, "**BPF**", "BPF",         \
	  "`bwl_share_index()` → `bwl_share_entry`: a CPU's shares of peers")                    \
	X(reason, PERCPU, __u32, struct bwl_reason_count, BWL_REASON_ROWS * BWL_REASON_COLUMNS, 7, \
	  "**BPF**", "tools", "row × 64 + reason → `bwl_reason_count`")                          \
	X(evcnt, PERCPU, __u32, struct bwl_event_count, BWL_EVENT_COUNTS, 7, "**BPF**", "tools", \
	  "kind × 64 + port id → events sent, lost")                                             \
	X(event, RING, __u32, struct bwl_event, BWL_EVENT_RING_BYTES, 7, "**BPF**",              \
	  "agent; ctl `watch`", "`bwl_event`")                                                   \
	X(latof, HASH, __u32, __u32, BWL_LAT_ROWS, 7, "load, ctl", "BPF, tools",                 \
	  "peer id → row of the next; 0 → 1: latency is measured")                               \
	X(latency, PERCPU, __u32, struct bwl_latency, BWL_LAT_ROWS, 7,                           \
	  "**BPF**; ctl: a row before its first use", "tools",                                   \
	  "row → `bwl_latency`: histograms of a peer, or of all peers without a row")            \
	X(dst4, GEN_HASH, __be32, __u32, 0, 7, "load, ctl, agent", "BPF, tools",                 \
	  "address → peer id")                                                                   \
	X(dst6, GEN_HASH, struct bwl_key6, __u32, 0, 7, "load, ctl, agent", "BPF, tools",        \
	  "address → peer id")                                                                   \
	X(lpm4, GEN_LPM, struct bwl_key_lpm4, __u32, 0, 7, "load, ctl, agent", "BPF, tools",     \
	  "prefix → peer id")                                                                    \
	X(lpm6, GEN_LPM, struct bwl_key_lpm6, __u32, 0, 7, "load, ctl, agent", "BPF, tools",     \
	  "prefix → peer id")                                                                    \
	X(own, GEN_LPM, struct bwl_key_lpm6, __u32, 0, 7, "load, ctl, agent", "BPF, tools",      \
	  "host source prefix → port id; a peer's DPU → peer id")                                \
	X(base, GEN_BASE, __u32, struct bwl_base, 0, 7, "load, ctl, agent", "BPF, tools",        \
	  "0 → `bwl_base`: node, zones, ports, next hops, class table")                          \
	X(peer, GEN_ARRAY, __u32, struct bwl_peer, 0, 7, "load, ctl, agent", "BPF, tools",       \
	  "body index → `bwl_peer`")                                                             \
	X(sub, GEN_ARRAY, __u32, struct bwl_limit, 0, 7, "load, ctl, agent", "BPF, tools",       \
	  "index → `bwl_limit`: classes, tenants, volumes of accept, portions, floors")
/* clang-format on */

/*
 * Not pinned, private to the programs: another attach or upgrade starts them anew. X(name, entries,
 * bytes a value, what); the map is bwl_<name>.
 */
#define BWL_OWN_MAPS(X)                                                                            \
	X(ike_peer, 65536, 32, "peer id → key exchange (bpf/lib/ike.h)")                           \
	X(nb_row, 128, 4096, "port id × 2 + family → neighbours (bpf/lib/neighbour.h)")            \
	X(last_dest, 4096, 32, "per CPU: address → peer id (bpf/lib/dest.h)")                      \
	X(around, 1, 32, "per CPU: the last refusal by a limit around a peer (bpf/lib/again.h)")   \
	X(lat_way, 1, 8,                                                                           \
	  "per CPU: arrival time of the packet on its way to the tunnel (bpf/lib/latency.h)")      \
	X(looked, 1, 4, "per CPU: consecutive frames that XDP checked in vain (bpf/lib/rest.h)")   \
	X(rec_word, 1, 160, "0 → the interval being recorded (record.h)")                          \
	X(rec_cpu, 1, 128, "CPU → packets recorded under no peer's name")                          \
	X(rec_peer, 1, 128, "per CPU, twice: peer → its counter before and after the records")     \
	X(rec_row, 1, 128, "per CPU, twice: flow → its packets, passed or refused")

/*
 * The layouts that `bwlimit-load upgrade` knows: number, its bwl_layout(), and the versions that
 * have it. The last one is this tree's (asserted by a test). A number is never reused, and a
 * released row never changes. 1 to 6 were layouts before 0.3.0, from which no upgrade leads here.
 */
#define BWL_LAYOUTS(X)                                                                             \
	X(7, 0x6dde7458f1a871e6ULL, "0.3.0")                                                       \
	X(8, 0x1e005909bdc21b4dULL, "0.4.0")

/* Those before 0.3.0, to say what to do. */
#define BWL_LAYOUTS_GONE                                                                           \
	0xba4c6acfe9838463ULL, 0x135fe249ca7d5a39ULL, 0xa575fdc6e3fc8b4eULL,                       \
		0x1ec3d9712dadea8eULL, 0x173bfe5706a164faULL, 0x1c269fe044163cf4ULL

/*
 * Earlier shapes of maps: name, the last layout with that shape, bytes per value, entries (as
 * above; 0: as the list says now, and for inner maps). An entry is copied to the entry of the same
 * key, as much as fits, and the rest is zero. So append fields, and keep the meaning of indices. If
 * a map changed several times, the earliest shape comes first.
 */
#define BWL_MAPS_BEFORE(X) X(window, 7, 128, 0)

/* Map types for the list's kinds. */
#define BWL_TYPE_SCHEMA BPF_MAP_TYPE_ARRAY
#define BWL_TYPE_ARRAY BPF_MAP_TYPE_ARRAY
#define BWL_TYPE_WORDS BPF_MAP_TYPE_ARRAY
#define BWL_TYPE_PERCPU BPF_MAP_TYPE_PERCPU_ARRAY
#define BWL_TYPE_HASH BPF_MAP_TYPE_HASH
#define BWL_TYPE_RING BPF_MAP_TYPE_RINGBUF
/* For inner maps; a BPF_MAP_TYPE_ARRAY_OF_MAPS leads to those of a generation. */
#define BWL_TYPE_GEN_HASH BPF_MAP_TYPE_HASH
#define BWL_TYPE_GEN_LPM BPF_MAP_TYPE_LPM_TRIE
#define BWL_TYPE_GEN_BASE BPF_MAP_TYPE_ARRAY
#define BWL_TYPE_GEN_ARRAY BPF_MAP_TYPE_ARRAY

#define BWL_FLAGS_SCHEMA BPF_F_MMAPABLE
#define BWL_FLAGS_ARRAY BPF_F_MMAPABLE
#define BWL_FLAGS_WORDS BPF_F_MMAPABLE
#define BWL_FLAGS_PERCPU 0
#define BWL_FLAGS_HASH BPF_F_NO_PREALLOC
#define BWL_FLAGS_RING 0
#define BWL_FLAGS_GEN_HASH 0
#define BWL_FLAGS_GEN_LPM BPF_F_NO_PREALLOC
#define BWL_FLAGS_GEN_BASE BWL_BASE_FLAGS
/*
 * Inner arrays whose size differs between generations: BPF_F_INNER_MAP, kernel 5.10. A look-up in
 * one is a call; for an array of fixed size (bwl_base_v1) the kernel inlines it.
 */
#define BWL_FLAGS_GEN_ARRAY (BPF_F_MMAPABLE | BPF_F_INNER_MAP)

#endif
