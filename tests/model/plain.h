/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Maps in plain memory, for the programs and for the libraries: it replaces the functions of libbpf
 * that lib/ calls, and close(), mmap() and munmap() for the descriptors that it gives out.
 */
#ifndef BWL_TEST_PLAIN_H
#define BWL_TEST_PLAIN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The programs' maps: first the pins, in their order, then private ones, with their shapes. */
struct plain_bound {
	void *at;
	uint32_t type, key_bytes, value_bytes, entries;
};
extern const struct plain_bound plain_bound[];
struct plain_rodata {
	const volatile unsigned long long *late_most_ns;
	const volatile unsigned int *cpu_bits;
};
extern const struct plain_rodata plain_rodata;
extern uint64_t *const plain_clock;

struct __sk_buff;
struct xdp_md;
int bwl_tc_host(struct __sk_buff *skb);
int bwl_xdp_host(struct xdp_md *xdp);

/* Where the last packet that was passed to a next hop went. */
struct plain_sent {
	uint32_t ifindex;
	uint8_t family; /* AF_* */
	uint8_t via[16];
};
extern struct plain_sent plain_sent;

struct bwl_schema;
/* All maps new and empty. */
void plain_new(const struct bwl_schema *s);
/* Those that are private to the programs. */
void plain_new_own(void);
/*
 * A process within this one. If it is killed, its descriptors, mappings and memory are given back,
 * as the kernel does it.
 */
void plain_process_begins(void);
void plain_process_returns(void);
void plain_process_ends(void);
extern void (*plain_on_grace)(void);
/* The value of an entry of a pinned map; of a per-CPU one, of the only CPU. */
void *plain_value(int pin, uint32_t index);

#endif
