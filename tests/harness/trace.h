/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * With BWL_TRACE=FILE: what the limiter is asked and what it says, for a second one that judges
 * again (tests/second_limiter.py; the format: tests/README.md). Whatever else changed a map since
 * the last packet is found by comparing the maps, so nobody has to report it.
 */
#ifndef BWL_TEST_TRACE_H
#define BWL_TEST_TRACE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <bwl/pins.h>

struct trace_packet {
	const char *prog; /* "tc-host", "xdp-host", … */
	unsigned port, row;
	const void *frame;
	size_t len;
	uint32_t gso_size, gso_segs;
	int tag; /* beside the frame; -1: none */
};

bool trace_wanted(void);
/* New and empty maps. shares: may CPUs hold shares? */
void trace_new(const struct bwl_pins *p, bool shares);
/* Other programs: what they keep for themselves is new. */
void trace_programs(void);
/* What it keeps of the maps is given back, before whose descriptors that are end. */
void trace_forget(void);
/* Packets that are not traced: nothing is known of what CPUs hold until there are new maps. */
void trace_loses(void);
/* Around each packet. delay_ns: until it departs. */
void trace_before(struct bwl_pins *p, const struct trace_packet *k, uint64_t now_ns,
		  uint64_t behind_ns);
void trace_after(struct bwl_pins *p, const struct trace_packet *k, uint64_t delay_ns);

#endif
