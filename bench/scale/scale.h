/* SPDX-License-Identifier: GPL-2.0-or-later */
/* bench-scale: what is measured and what was found, for its parts. */
#ifndef BENCH_SCALE_H
#define BENCH_SCALE_H

#include <stdbool.h>
#include "bench/cpu.h"
#include "bench/rig.h"
#include "bench/scale/workers.h"
#include "bench/stats.h"
#include "bench/veth/veth.h"

#define PROG "bench-scale"
#define KINDS 40     /* rows for each number of CPUs */
#define MAX_STEPS 24 /* numbers of CPUs that are measured */
#define APART 2      /* different peers: not neighbours in any array */
#define PINGPONG_PAIRS 15

/*
 * How packets come. What N CPUs gain there at most, the empty program or the bare forward, is the
 * row of the same number: its yardstick.
 */
enum way { TEST_RUN, XDP_TEST_RUN, VETH, XDP_VETH, YARDSTICKS };

/* Peers of a kind, one for each CPU. */
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
	OFFLOAD, /* from here on in a policy of their own */
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
	unsigned reason; /* under which its packets are counted; BWL_R_NONE: no limiter's */
	double least;    /* the goal: of what the yardstick gains; 0: none */
} scale_kinds[KINDS];
const char *scale_kind_name(unsigned kind);

struct cell { /* of one kind with one number of CPUs, by round */
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
	char veth_why[160];                           /* why there are no rows of veth */
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

/* Destinations that a group has, and that worker's of a kind. */
unsigned scale_group_size(const struct scale *b);
unsigned scale_dest(const struct scale *b, unsigned kind, unsigned worker);

/* setup.c: 0, or negative errno and *e. Rows of veth that cannot be are wanted no more. */
int scale_up(struct scale *b, struct bwl_err *e);
void scale_down(struct scale *b);

/* measure.c: 0, or -errno. */
int scale_transfers(struct scale *b);
int scale_measure(struct scale *b);

/* results.c: what the numbers say, in medians over the rounds. s: which number of CPUs. */
double scale_median_ns(const struct scale *b, unsigned k, unsigned s);
/* All CPUs together over one alone, in times of the yardstick's. */
double scale_of_yardstick(const struct scale *b, unsigned k, unsigned s);
/* By which a row is judged: that, or 0 where packets were lost in races. */
double scale_judged(const struct scale *b, unsigned k, unsigned s);
bool scale_has_model(const struct scale *b, unsigned k);
double scale_lines(const struct scale *b, unsigned k);
double scale_predicted_ns(const struct scale *b, unsigned k, unsigned n);
/* A flood at a limit is one only if nearly all is refused, and a pass only if nothing is. */
int scale_check(const struct scale *b);
enum bench_steady scale_steady(const struct scale *b);

/* report.c */
void scale_report_json(const struct scale *b, enum bench_steady steady);
void scale_report_text(const struct scale *b, enum bench_steady steady);

#endif
