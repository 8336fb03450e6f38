/* SPDX-License-Identifier: GPL-2.0-or-later */
/* bench-scale: its rows and results, for its parts. */
#ifndef BENCH_SCALE_H
#define BENCH_SCALE_H

#include <stdbool.h>
#include "bench/cpu.h"
#include "bench/rig.h"
#include "bench/scale/workers.h"
#include "bench/stats.h"
#include "bench/veth/veth.h"

#define PROG "bench-scale"
#define KINDS 40     /* rows per number of CPUs */
#define MAX_STEPS 24 /* numbers of CPUs that are measured */
#define APART 2      /* different peers are not neighbours in any array */
#define PINGPONG_PAIRS 15

/*
 * How packets arrive. The row with the same number is the yardstick, the most that N CPUs can gain
 * there: the empty program, or the bare forward.
 */
enum way { TEST_RUN, XDP_TEST_RUN, VETH, XDP_VETH, YARDSTICKS };

/* Groups of peers, one peer per CPU. */
enum group {
	POLICE,
	POLICE_TIGHT,
	POLICE_ZONE,
	MARK,
	MARK_TIGHT,
	MONITOR,
	MONITOR_TIGHT,
	SHAPE,
	SHAPE_TIGHT,
	VOLUME,
	VOLUME_TIGHT,
	OFFLOAD, /* from here on in a separate policy */
	OFFLOAD_TIGHT,
	_GROUP_MAX
};
extern const struct group_info {
	__u8 mode;     /* enum bwl_mode */
	unsigned kind; /* enum rig_peer_kind */
} scale_groups[_GROUP_MAX];

extern const struct kind_info {
	const char *name, *what, *text;
	enum way way;
	enum group group;
	bool same;
	/* the expected reason of its packets; BWL_R_NONE: not a row of the limiter */
	unsigned reason;
	double least; /* the goal, relative to the yardstick's gain; 0: none */
} scale_kinds[KINDS];
const char *scale_kind_name(unsigned kind);

struct cell { /* one kind with one number of CPUs, by round */
	double ns[BENCH_MAX_ROUNDS], times_one[BENCH_MAX_ROUNDS];
	double cycles, transfers; /* sums */
	unsigned long long packets, reason[BWL_REASON_COLUMNS];
	unsigned disturbed;
};

struct floor;
struct e2e_source;
struct scale {
	struct rig rig, offload;
	struct floor *floor;
	struct e2e_source *src[BENCH_MAX_CPUS];
	struct bench_softirqd softirqd[BENCH_MAX_CPUS];
	struct crew *crew;
	int cpu[BENCH_MAX_CPUS];
	unsigned ncpu, step[MAX_STEPS], nsteps;
	unsigned rounds, packets, predict;
	bool json, anyway, record, wanted[KINDS];
	char veth_why[160];                           /* why there are no veth rows */
	struct bench_spread transfer[PINGPONG_PAIRS]; /* from the first CPU to others */
	unsigned npairs;
	struct cell cell[KINDS][MAX_STEPS];
};

static inline bool scale_is_veth(unsigned k)
{
	return scale_kinds[k].way == VETH || scale_kinds[k].way == XDP_VETH;
}

static inline bool scale_is_refused(unsigned k)
{
	return scale_kinds[k].reason && !bwl_reason_is_pass(scale_kinds[k].reason);
}

static inline const struct rig *scale_rig(const struct scale *b, unsigned k)
{
	return scale_kinds[k].group >= OFFLOAD ? &b->offload : &b->rig;
}

/* The destinations of a group, and the one of a worker in a kind. */
unsigned scale_group_size(const struct scale *b);
unsigned scale_dest(const struct scale *b, unsigned kind, unsigned worker);

/* setup.c: 0, or negative errno and *e. Deselects veth rows that are not possible. */
int scale_up(struct scale *b, struct bwl_err *e);
void scale_down(struct scale *b);

/* measure.c: 0, or -errno. */
int scale_transfers(struct scale *b);
int scale_measure(struct scale *b);

/* results.c: medians over the rounds. s: index of the number of CPUs. */
double scale_median_ns(const struct scale *b, unsigned k, unsigned s);
/* All CPUs together relative to one alone, divided by the same for the yardstick. */
double scale_of_yardstick(const struct scale *b, unsigned k, unsigned s);
/* The value that is judged: scale_of_yardstick(), or 0 if packets were lost in races. */
double scale_judged(const struct scale *b, unsigned k, unsigned s);
bool scale_has_model(const struct scale *b, unsigned k);
double scale_lines(const struct scale *b, unsigned k);
double scale_predicted_ns(const struct scale *b, unsigned k, unsigned n);
/* In a refused row nearly all packets must be refused, in a passing row none. */
int scale_check(const struct scale *b);
enum bench_steady scale_steady(const struct scale *b);

/* report.c */
void scale_report_json(const struct scale *b, enum bench_steady steady);
void scale_report_text(const struct scale *b, enum bench_steady steady);

#endif
