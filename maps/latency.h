/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Latency: the delay that the DPU adds to a packet, as histograms in powers of two
 * (bpf/lib/latency.h, docs/latency.md). BPF writes, each CPU its own; user space zeroes a row
 * before its first use.
 */
#ifndef BWL_MAPS_LATENCY_H
#define BWL_MAPS_LATENCY_H

#include "abi.h"

#define BWL_LAT_ROWS 64 /* row 0: all peers without a row of their own */
#define BWL_LAT_BINS 32

/*
 * bwl_latency_v1[row]. bin[0]: up to 1 ns; bin[i]: above 2^(i-1) ns, up to 2^i; the last:
 * everything above.
 */
struct bwl_lat_hist {
	__u64 bin[BWL_LAT_BINS];
	__u64 sum_ns;
};
struct bwl_latency {
	struct bwl_lat_hist shape; /* from the host port to the departure time */
	struct bwl_lat_hist gate;  /* from the host port to the last gate */
	__u64 unmatched;           /* at the last gate, without a start time */
	__u64 _pad[5];
};
BWL_ASSERT_SIZE(struct bwl_latency, 576);

/*
 * bwl_latof_v1[peer id] = row, with a hash of the id's name above it, because an id may be given to
 * another peer. Key 0, which is no peer: 1 if the programs measure.
 */
#define BWL_LAT_NAME_SHIFT 8

/* The bin's index. Without a branch, for the verifier. */
static inline __attribute__((always_inline)) __u32 bwl_lat_bin(__u32 ns)
{
	__u32 x = ns ? ns - 1 : 0, n = 0, step;

	step = (x > 0xffff) << 4;
	x >>= step;
	n |= step;
	step = (x > 0xff) << 3;
	x >>= step;
	n |= step;
	step = (x > 0xf) << 2;
	x >>= step;
	n |= step;
	step = (x > 3) << 1;
	x >>= step;
	n |= step;
	n += (x > 1) + (x > 0);
	return n < BWL_LAT_BINS ? n : BWL_LAT_BINS - 1;
}

#endif
