/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * How long a packet is delayed (maps/latency.h): in mode shape, by its departure time, and from its
 * host port to the last gate, by what lies between: limits, routes, ESP.
 *
 * The arrival time is in skb->priority, from the host port to the last gate: a 32-bit number in ns,
 * odd, so never 0. Nothing in between writes it, ESP keeps it, and the segments of a GSO packet
 * have it, too (__copy_skb_header()); qdiscs read it, but only behind the last gate, which clears
 * it. Into the tunnel device the priority carries the peer's id (tunnel.h): for that one call chain
 * the time waits in bwl_lat_way. No verdict depends on any of this.
 */
#ifndef BWL_LATENCY_H
#define BWL_LATENCY_H

#include "ctx.h"

/* User space sets this before loading: otherwise nothing of this is left in the programs. */
const volatile _Bool bwl_measures = 0;

struct bwl_lat_way {
	__u32 id, start;
};
struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct bwl_lat_way);
} bwl_lat_way SEC(".maps");

static __always_inline __u32 bwl_lat_now(void)
{
	return (__u32)bwl_now_mono() | 1;
}

static __always_inline void bwl_lat_add(struct bwl_lat_hist *h, __u32 ns)
{
	h->bin[bwl_mask(bwl_lat_bin(ns), BWL_LAT_BINS - 1)]++;
	h->sum_ns += ns;
}

static __always_inline struct bwl_latency *bwl_lat_of(__u32 id)
{
	__u32 *of = bpf_map_lookup_elem(&bwl_latof_v1, &id);
	__u32 row = of ? bwl_read(*of) & (BWL_LAT_ROWS - 1) : 0;

	return bpf_map_lookup_elem(&bwl_latency_v1, &row);
}

/* A packet that was charged and sent. */
BWL_GLOBAL int bwl_lat_shape(__u32 id, __u32 delay_ns)
{
	struct bwl_latency *l = bwl_measures ? bwl_lat_of(id) : 0;

	if (l)
		bwl_lat_add(&l->shape, delay_ns);
	return 0;
}

/* A packet that the last gate lets out. start: its arrival time; 0: unknown. */
BWL_GLOBAL int bwl_lat_gate(__u32 id, __u32 start)
{
	struct bwl_latency *l = bwl_measures ? bwl_lat_of(id) : 0;

	if (l && start)
		bwl_lat_add(&l->gate, bwl_lat_now() - start);
	else if (l)
		l->unmatched++;
	return 0;
}

/* A packet about to leave the host port's program. */
static __always_inline void bwl_lat_leave(const struct bwl_ctx *c, struct __sk_buff *skb)
{
	__u32 zero = 0;
	struct bwl_lat_way *way;

	if (!bwl_measures)
		return;
	skb->priority = c->came;
	way = bpf_map_lookup_elem(&bwl_lat_way, &zero);
	if (!way)
		return;
	bwl_write(way->id, c->id);
	bwl_write(way->start, c->came);
}

/* In the tunnel device, in the same call chain: returns the time, which replaces the id. */
static __always_inline __u32 bwl_lat_again(__u32 id)
{
	struct bwl_lat_way *way;
	__u32 zero = 0, start;

	if (!bwl_measures)
		return 0;
	way = bpf_map_lookup_elem(&bwl_lat_way, &zero);
	if (!way || bwl_read(way->id) != id)
		return 0;
	start = bwl_read(way->start);
	bwl_write(way->start, 0);
	return start;
}

#endif
