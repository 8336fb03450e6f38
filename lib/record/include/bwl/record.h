/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Flow records from the maps (maps/record.h): ends an interval, begins the next, sums the ended one
 * over CPUs and compares it with the peers' counters.
 */
#ifndef BWL_RECORD_READ_H
#define BWL_RECORD_READ_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <bwl/cleanup.h>
#include <bwl/err.h>
#include "maps/record.h"

#define BWL_REC_DIR "record" /* folder of their pins; absent: nothing is recorded */

enum bwl_rec_map { BWL_REC_WORD, BWL_REC_CPU, BWL_REC_PEER, BWL_REC_ROW, _BWL_REC_MAPS };
const char *bwl_rec_map_name(enum bwl_rec_map m);

struct bpf_object;
/* Sizes the maps before the object is loaded: room for every possible CPU. */
int bwl_rec_size(struct bpf_object *obj);

/* From the kernel's list of possible CPUs: the highest number plus one; 0: the list is invalid. */
unsigned bwl_rec_cpus_of(const char *possible);

struct bwl_rec {
	struct bwl_rec_word *word;
	const struct bwl_rec_cpu *cpu;
	const struct bwl_rec_peer *peer;
	const struct bwl_rec_row *row;
	unsigned ncpus;
	int fd[_BWL_REC_MAPS];
};
/* Maps the tables of these descriptors, which stay the caller's. */
int bwl_rec_map(const int fd[_BWL_REC_MAPS], struct bwl_rec *ret, struct bwl_err *e);
/* Opens the pinned ones. -ENOENT: nothing is recorded. */
int bwl_rec_open(const char *pin_dir, struct bwl_rec *ret, struct bwl_err *e);
void bwl_rec_close(struct bwl_rec *r);

/*
 * Begins the next interval. When this returns, no packet is being recorded in the previous one,
 * whose number is *ret; its tables hold until this is called again.
 */
int bwl_rec_turn(struct bwl_rec *r, uint32_t *ret, struct bwl_err *e);
/* Waits for packets in flight: a killed writer may have swapped the tables without waiting. */
int bwl_rec_grace(struct bwl_err *e);
/* The sum of packets of no peer by name in an ended interval; false: not known. */
bool bwl_rec_other(const struct bwl_rec *r, uint32_t interval, struct bwl_rec_sum *ret);

/* The key of a flow. */
struct bwl_rec_key {
	__be32 saddr[4], daddr[4]; /* IPv4 as ::ffff:a.b.c.d; 0 in a remainder */
	uint64_t ports;            /* bwl_rec_ports(); 0 in a remainder */
	uint64_t who;              /* peer id, with bwl_ctl.generation above it */
	uint64_t what;             /* bwl_rec_what(), with the protocol above it */
};
BWL_ASSERT_SIZE(struct bwl_rec_key, 56); /* no hole: compared as bytes */

/* A flow, or a remainder, summed over CPUs. Times are CLOCK_BOOTTIME, to a millisecond. */
struct bwl_flow {
	struct bwl_rec_key key;
	uint64_t frames, bytes, charged, first_ns, last_ns;
	uint32_t tcp_flags;
};
static inline unsigned bwl_flow_kind(const struct bwl_flow *f)
{
	return f->key.what & 0xff;
}
static inline unsigned bwl_flow_port(const struct bwl_flow *f)
{
	return f->key.what >> 8 & 0xff;
}
static inline unsigned bwl_flow_class(const struct bwl_flow *f)
{
	return f->key.what >> 16 & 0xff;
}
static inline unsigned bwl_flow_reason(const struct bwl_flow *f)
{
	return f->key.what >> 24 & 0xff;
}
static inline unsigned bwl_flow_proto(const struct bwl_flow *f)
{
	return f->key.what >> 32 & 0xff;
}
static inline uint32_t bwl_flow_peer(const struct bwl_flow *f)
{
	return (uint32_t)f->key.who;
}

/* A peer on a CPU. */
struct bwl_book_cpu {
	uint32_t peer, cpu;
	struct bwl_rec_sum before, after; /* its counter */
	struct bwl_rec_sum flows, rests;  /* in rows */
	struct bwl_rec_sum rest;          /* in no row: without a class */
};

/*
 * An interval. Flows are sorted by key: those of a peer and generation together, remainders after
 * flows if all else is equal; counters are sorted by peer, then by CPU.
 */
struct bwl_book {
	uint32_t interval;
	struct bwl_flow *flow;
	size_t nflows;
	struct bwl_book_cpu *count;
	size_t ncounts;
	struct bwl_rec_sum other; /* of no peer by name */
	bool other_known;
};
/* Reads the interval that bwl_rec_turn() ended. */
int bwl_book_read(const struct bwl_rec *r, uint32_t interval, struct bwl_book *ret,
		  struct bwl_err *e);
/* Merges rows with the same key, from several CPUs or after the key was changed. */
void bwl_book_merge(struct bwl_book *b);
void bwl_book_free(struct bwl_book *b);

void bwl_rec_sum_add(struct bwl_rec_sum *to, const struct bwl_rec_sum *n);
bool bwl_rec_sum_same(const struct bwl_rec_sum *a, const struct bwl_rec_sum *b);
/* Do flows and remainders add up to the counter's growth, to the byte? */
bool bwl_book_balances(const struct bwl_book_cpu *c);

#endif
