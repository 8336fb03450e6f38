/* SPDX-License-Identifier: GPL-2.0-or-later */
/* bench-cost: its rows, their setup and results, for its parts. */
#ifndef BENCH_COST_H
#define BENCH_COST_H

#include "bench/rig.h"
#include "bench/stats.h"

#define PROG "bench-cost"
#define COST_PREFIXES 10000 /* destinations that are prefixes; fewer with fewer peers */

/* Destinations that the floors know; rows that take turns go through them. */
enum cost_dests { BY_ADDRESS, BY_PREFIX4, BY_PREFIX6, _DESTS_MAX };

/* Policies, each with its own maps; all exist at the same time. */
enum cost_stage {
	NO_STAGE, /* a program of floor.bpf.c */
	PLAIN,    /* one address each, a class limit, zone, port, node */
	VOLUME,   /* the same, with a windowed volume */
	NODE,     /* the node's limit is tight */
	RECORD,   /* like PLAIN, with flows recorded */
	LATENCY,  /* like PLAIN, with latency measured */
	PREFIX,
	OFFLOAD,
	_STAGE_MAX
};

/* All rows of the table in their order; a row comes after those that it is compared with. */
enum cost_row {
	EMPTY,
	TURN,
	TURN6,
	XDP_EMPTY,
	XDP_TURN,
	FLOOR_ONE,
	FLOOR_TURN,
	PIPELINE_ONE,
	PIPELINE_TURN,
	RECORD_ONE,
	RECORD_TURN,
	LATENCY_ONE,
	LATENCY_TURN,
	GATE_ONE,
	LATENCY_GATE,
	VOLUME_ONE,
	VOLUME_TURN,
	REFUSED_PEER,
	REFUSED_ZONE,
	REFUSED_PORT,
	REFUSED_NODE,
	REFUSED_NODE_TURN,
	SATURATED,
	NO_PEER,
	XDP_NO_PEER,
	FLOOR_PREFIX4_TURN,
	PREFIX4_ONE,
	PREFIX4_TURN,
	FLOOR_PREFIX6_ONE,
	FLOOR_PREFIX6_TURN,
	PREFIX6_ONE,
	PREFIX6_TURN,
	XDP_FLOOR_ONE,
	XDP_FLOOR_TURN,
	OFFLOAD_ONE,
	OFFLOAD_TURN,
	OFFLOAD_REFUSED,
	_ROW_MAX
};

struct cost_row_info {
	const char *name, *text, *program;
	enum cost_stage stage;
	enum cost_dests dests;
	bool xdp, turn;
	bool gate; /* at the uplink, with packets tagged as by a host port's program */
	__u32 verdict;
	unsigned reason; /* the reason of every packet; not for the floor's rows */
	bool partly;     /* some packets pass: how many depends on the speed */
	/* what taking turns costs: minus the first, plus the second; EMPTY, EMPTY: nothing */
	enum cost_row without[2];
	enum cost_row over; /* the row of which its ratio is taken; EMPTY: none */
	struct bench_goal goal;
};
extern const struct cost_row_info cost_rows[_ROW_MAX];
const char *cost_row_name(unsigned row);

struct floor;
struct cost {
	struct rig rig[_STAGE_MAX];
	struct floor *floor[_DESTS_MAX];
	unsigned peers, prefixes, rounds, packets, cpu;
	bool json, anyway, cpu_chosen, wanted[_ROW_MAX];
	const char *object;
	double ns[_ROW_MAX][BENCH_MAX_ROUNDS];
};

/* The number of destinations, and their kind (enum rig_peer_kind). */
unsigned cost_dests_n(const struct cost *b, enum cost_dests d);
unsigned cost_dests_kind(enum cost_dests d);
/* Number of a row's destination if it takes no turns; otherwise the first one. */
unsigned cost_dest(const struct cost *b, enum cost_row row);

/* stage.c: sets up what the selected rows need. 0, or negative errno and *e. */
int cost_up(struct cost *b, struct bwl_err *e);
void cost_down(struct cost *b);

/* measure.c: 0, or negative errno with why on stderr. */
int cost_measure(struct cost *b);

/* report.c */
void cost_report(const struct cost *b, enum bench_steady steady);

#endif
