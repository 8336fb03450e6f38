/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Flow records out of the maps (maps/record.h): one interval ends, the next begins, and what the
 * one that ended holds is added up over CPUs and compared with the peers' counters.
 */
#ifndef BWL_RECORD_READ_H
#define BWL_RECORD_READ_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <bwl/cleanup.h>
#include <bwl/err.h>
#include "maps/record.h"

#define BWL_REC_DIR "record" /* their pins, below the pin directory; none: nothing is recorded */

enum bwl_rec_map { BWL_REC_WORD, BWL_REC_CPU, BWL_REC_PEER, BWL_REC_ROW, _BWL_REC_MAPS };
const char *bwl_rec_map_name(enum bwl_rec_map m);

struct bpf_object;
/* Before it is loaded: room for every CPU that there could be. */
int bwl_rec_size(struct bpf_object *obj);

/* Of the kernel's list of possible CPUs: one more than the highest number; 0: it is none. */
unsigned bwl_rec_cpus_of(const char *possible);

struct bwl_rec {
	struct bwl_rec_word *word;
	const struct bwl_rec_cpu *cpu;
	const struct bwl_rec_peer *peer;
	const struct bwl_rec_row *row;
	unsigned ncpus;
	int fd[_BWL_REC_MAPS];
};
/* The maps of these descriptors, which stay the caller's. */
int bwl_rec_map(const int fd[_BWL_REC_MAPS], struct bwl_rec *ret, struct bwl_err *e);
/* The pinned ones. -ENOENT: nothing is recorded there. */
int bwl_rec_open(const char *pin_dir, struct bwl_rec *ret, struct bwl_err *e);
void bwl_rec_close(struct bwl_rec *r);

/*
 * The next interval begins. When this returns no packet is being recorded in the one before it,
 * whose number is *ret; its tables hold until this is called again.
 */
int bwl_rec_turn(struct bwl_rec *r, uint32_t *ret, struct bwl_err *e);
/* Waits for packets in flight: whoever turned the tables over may not have come to that. */
int bwl_rec_grace(struct bwl_err *e);
/* What was of no peer by name in an interval that ended; false: not known. */
bool bwl_rec_other(const struct bwl_rec *r, uint32_t interval, struct bwl_rec_sum *ret);

/* What tells flows apart. */
struct bwl_rec_key {
	__be32 saddr[4], daddr[4]; /* IPv4 as ::ffff:a.b.c.d; of a remainder 0 */
	uint64_t ports;            /* bwl_rec_ports(); of a remainder 0 */
	uint64_t who;              /* peer id, above it bwl_ctl.generation */
	uint64_t what;             /* bwl_rec_what(), above it the protocol */
};
BWL_ASSERT_SIZE(struct bwl_rec_key, 56); /* no hole: compared as bytes */

/* A flow, or a remainder, of all CPUs together. Times are CLOCK_BOOTTIME, to a millisecond. */
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
	struct bwl_rec_sum rest;          /* in none: of no class */
};

/*
 * An interval. Flows stand by their keys: those of a peer and generation side by side, remainders
 * behind flows where all else is the same; counters by peer, then by CPU.
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
/* Of the interval that bwl_rec_turn() ended. */
int bwl_book_read(const struct bwl_rec *r, uint32_t interval, struct bwl_book *ret,
		  struct bwl_err *e);
/* Rows of one key, of several CPUs or since it was changed, become one. */
void bwl_book_merge(struct bwl_book *b);
void bwl_book_free(struct bwl_book *b);

void bwl_rec_sum_add(struct bwl_rec_sum *to, const struct bwl_rec_sum *n);
bool bwl_rec_sum_same(const struct bwl_rec_sum *a, const struct bwl_rec_sum *b);
/* Do flows and remainders make up what the counter grew by, to the byte? */
bool bwl_book_balances(const struct bwl_book_cpu *c);

#endif
