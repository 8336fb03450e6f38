/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Bursts and waiting times that follow from a rate. Bytes, bit/s, ns. */
#ifndef BWL_BURSTS_H
#define BWL_BURSTS_H

#include <stdint.h>

#define BWL_NO_RATE 0ULL
/*
 * The largest of: one GSO packet of maximum size with its headers; 250 ms at the rate, at most 32
 * MiB; 1 ms at the rate. Why 250 ms: when a policer refuses a TCP flow's whole window, the flow
 * waits for its retransmission timer (at least 200 ms on Linux); with less burst than that time is
 * worth it never reaches its rate (measured: docs/limits.md). The burst is also what each grant may
 * leak once at line rate; `exfil` counts it.
 */
/* 65535 bytes in 1448-byte segments, 66 + 24 bytes of headers each */
#define BWL_GSO_BURST 73728ULL
#define BWL_TCP_BURST_MAX (32ULL << 20)
#define BWL_MIN_BURST 1518ULL /* one full frame with a tag; less is an error */
uint64_t bwl_default_burst(uint64_t rate_bps);
/* Mode shape paces, so a flow needs no more: 1 ms at the rate, at least one GSO packet. */
uint64_t bwl_default_burst_shape(uint64_t rate_bps);
/*
 * Modes shape and mark: how long a packet may wait at that rate, ns, rounded up. said_ns: from the
 * policy; 0: auto.
 */
uint32_t bwl_horizon(uint32_t said_ns, uint64_t rate_bps);

#endif
