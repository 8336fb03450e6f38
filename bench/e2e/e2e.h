/* SPDX-License-Identifier: GPL-2.0-or-later */
/* bench-e2e: its rows and results, for its parts. */
#ifndef BENCH_E2E_H
#define BENCH_E2E_H

#include "bench/cpu.h"
#include "bench/rig.h"
#include "bench/stats.h"

#define PROG "bench-e2e"

/* A row comes after those that it is compared with. */
enum e2e_row {
	BARE,
	NFT,
	NFT_LIMIT,
	BWLIMIT,
	BWLIMIT_XDP,
	BWLIMIT_GENERIC,
	XDP_BARE,
	OFFLOAD,
	_ROW_MAX
};

struct e2e_row_info {
	const char *dev, *name, *text;
	enum e2e_row bare; /* the bare forward to which it adds; of a bare one: itself */
	bool limiter;
	struct bench_goal goal; /* relative to what nftables adds */
};
extern const struct e2e_row_info e2e_rows[_ROW_MAX];
const char *e2e_row_name(unsigned row);

struct e2e_source;
struct e2e {
	struct rig rig, offload; /* policies: clear, and path offload */
	struct e2e_source *src;
	struct bench_softirqd softirqd;
	unsigned rounds, packets, most, cpu;
	bool json, anyway, cpu_chosen, wanted[_ROW_MAX];
	__u8 frame[RIG_FRAME_BYTES];
	unsigned next[_ROW_MAX]; /* destination: each row continues where it was */
};

/* Results with this number of destinations. */
struct e2e_result {
	unsigned dests;
	enum bench_steady steady;
	double ns[_ROW_MAX][BENCH_MAX_ROUNDS];
};

/* setup.c: devices, policies, nftables. 0, or negative errno and *e. */
int e2e_up(struct e2e *b, struct bwl_err *e);
void e2e_down(struct e2e *b);
static inline struct rig *e2e_rig(struct e2e *b, enum e2e_row row)
{
	return row == OFFLOAD ? &b->offload : &b->rig;
}

/* measure.c: 0, or negative errno with why on stderr. */
int e2e_measure(struct e2e *b, struct e2e_result *res);

/* report.c */
void e2e_report(const struct e2e *b, const struct e2e_result *res, unsigned n);

#endif
