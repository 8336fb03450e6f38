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
#define MAX_STEPS 24                   /* numbers of CPUs that are measured */
#define APART 3                        /* different peers: not neighbours in any array */
#define PEERS (BENCH_MAX_CPUS * APART) /* and as many that are refused */
#define PINGPONG_PAIRS 15

struct floor;
struct e2e_source;

enum kind {
	EMPTY,
	FLOOR_SAME,
	FLOOR_DIFF,
	PIPE_SAME,
	PIPE_DIFF,
	REFUSED_SAME,
	REFUSED_DIFF,
	VETH_BARE,
	VETH_SAME,
	VETH_DIFF,
	_KIND_MAX
};
extern const struct kind_info {
	const char *key, *text, *way;
	bool same, refused;
	enum kind yardstick; /* what N CPUs gain at most */
	bool limiter;        /* its packets are counted by reason */
} scale_kinds[_KIND_MAX];

struct cell { /* of one kind with one number of CPUs, by round */
	double ns[BENCH_MAX_ROUNDS], times_one[BENCH_MAX_ROUNDS];
	double cycles, transfers; /* sums */
	unsigned long long packets, passed, refused, contended;
	unsigned disturbed;
};

struct scale {
	struct rig rig;
	struct floor *floor;
	struct e2e_source *src[BENCH_MAX_CPUS];
	struct bench_softirqd softirqd[BENCH_MAX_CPUS];
	struct crew *crew;
	int cpu[BENCH_MAX_CPUS];
	unsigned ncpu, step[MAX_STEPS], nsteps;
	unsigned rounds, packets, predict;
	bool json, anyway, veth;
	char veth_why[160];                           /* why there are no rows of veth */
	struct bench_spread transfer[PINGPONG_PAIRS]; /* from the first CPU to others */
	unsigned npairs;
	struct cell cell[_KIND_MAX][MAX_STEPS];
};

static inline bool scale_is_veth(enum kind k)
{
	return k >= VETH_BARE;
}

/* measure.c: 0, or -errno. */
int scale_transfers(struct scale *b);
int scale_measure(struct scale *b);

/* results.c: what the numbers say, in medians over the rounds. s: which number of CPUs. */
double scale_median_ns(const struct scale *b, enum kind k, unsigned s);
/* All CPUs together over one alone, in times of the yardstick's. */
double scale_of_yardstick(const struct scale *b, enum kind k, unsigned s);
bool scale_has_model(const struct scale *b, enum kind k);
double scale_lines(const struct scale *b, enum kind k);
double scale_predicted_ns(const struct scale *b, enum kind k, unsigned n);
/* A flood at a limit is one only if nearly all is refused, and a pass only if nothing is. */
int scale_check(const struct scale *b);
bool scale_steady(const struct scale *b);

/* report.c */
void scale_report_json(const struct scale *b);
void scale_report_text(const struct scale *b);

#endif
