/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Flow records: what BPF keeps of every packet of a peer while it records (bpf/lib/record.h,
 * docs/recorder.md). Each CPU has its own tables, twice: one is written while the other is read.
 * BPF writes everything except bwl_rec_word, the only thing that user space writes.
 *
 * An entry of a table counts only with the stamp of its interval. So nothing is ever cleared, and
 * nothing is removed from a table in use: a probe that ends at a free place in it has passed every
 * entry.
 */
#ifndef BWL_MAPS_RECORD_H
#define BWL_MAPS_RECORD_H

#include "abi.h"

#define BWL_REC_BANKS 2
#define BWL_REC_ROWS_BITS 13
#define BWL_REC_ROWS (1U << BWL_REC_ROWS_BITS) /* flows, of a CPU and an interval */
#define BWL_REC_RESTS_BITS 11
#define BWL_REC_RESTS (1U << BWL_REC_RESTS_BITS) /* remainders */
#define BWL_REC_PEERS_BITS 11
#define BWL_REC_PEERS (1U << BWL_REC_PEERS_BITS)
#define BWL_REC_PEER_ROWS (BWL_REC_ROWS / 8) /* flows of one peer: of a CPU and an interval */
#define BWL_REC_STEPS 8                      /* places to probe before a table counts as full */
#define BWL_REC_PEER_STEPS 4                 /* the same for peers, whose ids spread evenly */

/* The table of an interval. */
static inline __attribute__((always_inline)) __u32 bwl_rec_bank(__u32 interval)
{
	return interval & (BWL_REC_BANKS - 1);
}

/* As in bwl_peer_count: passed bytes as charged, refused bytes as the hook saw them, or on
 * arrival as charged to their sender. */
struct bwl_rec_sum {
	__u64 frames, bytes, drop_frames, drop_bytes;
};
BWL_ASSERT_SIZE(struct bwl_rec_sum, 32);

/* The sum of bwl_rec_cpu.other over all CPUs when an interval began. */
struct bwl_rec_begun {
	__u32 interval; /* 0: not known */
	__u32 _pad;
	struct bwl_rec_sum other;
	__u64 _pad2;
};
BWL_ASSERT_SIZE(struct bwl_rec_begun, 48);

/*
 * bwl_rec_word[0]: user space writes. It also holds what bwlimitd needs after a restart, because it
 * lasts as long as the tables.
 */
struct bwl_rec_word {
	__u32 interval;  /* the one being recorded; 0: none */
	__u32 whole;     /* do all programs write to these tables? Set by the loader */
	__u64 made_ns;   /* when these tables were made: CLOCK_BOOTTIME, by the loader */
	__u64 before_ns; /* when the previous tables were made; 0: none since the boot */
	__u64 _pad[5];
	struct bwl_rec_begun begun[BWL_REC_BANKS];
};
BWL_ASSERT_SIZE(struct bwl_rec_word, 160);

/* bwl_rec_cpu[cpu] */
struct bwl_rec_cpu {
	__u32 busy;
	__u32 _pad[7];
	/*
	 * Of no peer by name, cumulative: the table of peers was full, or a packet came while
	 * another one of this CPU was being recorded.
	 */
	struct bwl_rec_sum other[BWL_REC_BANKS];
	__u64 _pad2[4];
};
BWL_ASSERT_SIZE(struct bwl_rec_cpu, 128);

/* bwl_rec_peer[(cpu * banks + bank) * BWL_REC_PEERS + …]: a peer's packets on a CPU. */
struct bwl_rec_peer {
	__u32 stamp; /* interval; any other value: free */
	__u32 peer;
	__u32 rows; /* its flows in the table */
	__u32 _pad;
	struct bwl_rec_sum after; /* this CPU's bwl_peercnt_v1 */
	__u64 _pad2[2];
	/* From here on a second cache line, which packets that find the entry do not touch. */
	struct bwl_rec_sum before; /* the same before the first of these packets */
	struct bwl_rec_sum rest;   /* neither in a flow nor in a remainder by class */
};
BWL_ASSERT_SIZE(struct bwl_rec_peer, 128);
BWL_ASSERT_OFFSET(struct bwl_rec_peer, before, 64);

/*
 * Source port, destination port; above them the queue pair for RoCE, whose source port means
 * nothing.
 */
static inline __attribute__((always_inline)) __u64 bwl_rec_ports(__u32 sport, __u32 dport,
								 __u32 qpn)
{
	return sport | dport << 16 | (__u64)qpn << 32;
}

/* kind: of the row; port: id of the port where the frame arrived. */
enum bwl_rec_kind { BWL_REC_FLOW = 1, BWL_REC_REST = 2, BWL_REC_FLOW6 = 3 /* in rows alone */ };
static inline __attribute__((always_inline)) __u32 bwl_rec_what(__u32 kind, __u32 port,
								__u32 class_, __u32 reason)
{
	return kind | port << 8 | class_ << 16 | reason << 24;
}

/* The key of rows, except the rest of IPv6 addresses; numbers in host byte order. */
struct bwl_rec_id {
	__be32 saddr, daddr; /* the last 32 bits of the addresses; 0 in a remainder */
	/* bwl_rec_ports(), protocol << BWL_REC_PROTO_SHIFT; 0 in a remainder */
	__u64 ports;
	__u32 peer, generation;
	__u32 what;  /* bwl_rec_what() */
	__u32 stamp; /* interval; any other value: the row is free */
};
BWL_ASSERT_SIZE(struct bwl_rec_id, 32);
#define BWL_REC_PROTO_SHIFT 56

#define BWL_REC_TIME_SHIFT 20 /* times are ns >> 20: they wrap after 52 days */
#define BWL_REC_FRAME (1U << 8)

/*
 * bwl_rec_row[(cpu * banks + bank) * (BWL_REC_ROWS + BWL_REC_RESTS) + …]: flows, then remainders.
 * An IPv4 packet that finds its row touches only the first line.
 */
struct bwl_rec_row {
	struct bwl_rec_id id;
	__u64 frames; /* times BWL_REC_FRAME; the low bits are the union of its TCP flags */
	/* as the hook saw the frames; refused on arrival: as charged to their sender */
	__u64 bytes;
	/* passed: every segment with its headers; refused: what stayed charged */
	__u64 charged;
	__u32 first, last; /* CLOCK_BOOTTIME, up to two ticks late (bpf/lib/clock.h), shifted */
	__be32 saddr[4], daddr[4]; /* IPv4 as ::ffff:a.b.c.d */
	__u64 _pad[4];
};
BWL_ASSERT_SIZE(struct bwl_rec_row, 128);
BWL_ASSERT_OFFSET(struct bwl_rec_row, saddr, 64);
#define BWL_REC_TABLE (BWL_REC_ROWS + BWL_REC_RESTS)

#endif
