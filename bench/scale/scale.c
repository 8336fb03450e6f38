// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * What 1, 2 … N CPUs pass together, at the same peer and at different peers of one zone, in each
 * mode, with volumes, by path offload, within the limits and in a flood that is refused. By
 * BPF_PROG_TEST_RUN on pinned threads, next to an empty program (what N CPUs gain on this machine
 * at most) and the floor of bench-cost; and by live frames through a veth with a queue per CPU.
 * From one and two CPUs, and from the time of a cache line's transfer on this machine, a model
 * (model.h) predicts more CPUs.
 */
#include <errno.h>
#include <getopt.h>
#include <stdlib.h>
#include <string.h>
#include "bench/opt.h"
#include "bwl/help.h"
#include "bench/scale/scale.h"

static const char usage[] =
	"usage: bench-scale [--only ROW,…] [--cpus N] [--rounds N] [--packets N] [--predict N] [--no-veth] [--record] [--anyway] [--json]\n"
	"\n"
	"  --only ROW   only these rows, and what they are compared with; 'police' is all of\n"
	"               police-same, police-refused-same and so on\n"
	"  --cpus N     1, 2, 3, 4, 6, 8, 12 … up to N (default: all it may use, at most 256)\n"
	"  --rounds N   report medians of N rounds (default 101, at most 1001)\n"
	"  --packets N  of each CPU, row and round (default 10000)\n"
	"  --predict N  also print what the model says of N CPUs (default 16)\n"
	"  --no-veth    only BPF_PROG_TEST_RUN\n"
	"  --record     with flow records on\n"
	"  --anyway     report also when the empty program moved by more than a tenth, or when other\n"
	"               work had the CPUs in more than a quarter of the rounds\n"
	"\n"
	"Needs root; rows at XDP and veth also ip(8). Exit status: 0, 1 failed (also: packets did not end\n"
	"as a row says they do), 2 wrong options, 3 not steady (nothing is reported).\n"
	"\n"
	"examples:\n"
	"  bench-scale\n"
	"  bench-scale --only police,mark --json | jq '.rows[] | {row, cpus, times_one, met}'\n"
	"  taskset -c 0-7 bench-scale --no-veth\n"
	"\n"
	"rows:\n";

static void help(FILE *f)
{
	bwl_help(usage, f);
	bench_list_rows(f, scale_kind_name, KINDS);
}

static int parse_args(struct scale *b, int argc, char **argv)
{
	static const struct option options[] = {
		{ "only", required_argument, NULL, 'O' },
		{ "cpus", required_argument, NULL, 'c' },
		{ "rounds", required_argument, NULL, 'r' },
		{ "packets", required_argument, NULL, 'n' },
		{ "predict", required_argument, NULL, 'p' },
		{ "no-veth", no_argument, NULL, 'V' },
		{ "record", no_argument, NULL, 'R' },
		{ "anyway", no_argument, NULL, 'a' },
		{ "json", no_argument, NULL, 'j' },
		{ "help", no_argument, NULL, 'h' },
		{},
	};
	bool good = true, some = false, veth = true;
	unsigned k;
	int c;

	b->rounds = 101;
	b->packets = 10000;
	b->predict = 16;
	while (good && (c = getopt_long(argc, argv, "", options, NULL)) != -1) {
		switch (c) {
		case 'O':
			good = some = bench_choose(PROG, optarg, scale_kind_name, KINDS, b->wanted);
			break;
		case 'c':
			good = bench_number(PROG, "--cpus", optarg, 1, b->ncpu, &b->ncpu);
			break;
		case 'r':
			good = bench_number(PROG, "--rounds", optarg, 1, BENCH_MAX_ROUNDS,
					    &b->rounds);
			break;
		case 'n':
			good = bench_number(PROG, "--packets", optarg, 1, 100000000, &b->packets);
			break;
		case 'p':
			good = bench_number(PROG, "--predict", optarg, 2, 4096, &b->predict);
			break;
		case 'V':
			veth = false;
			break;
		case 'R':
			b->record = true;
			break;
		case 'a':
			b->anyway = true;
			break;
		case 'j':
			b->json = true;
			break;
		case 'h':
			help(stdout);
			exit(0);
		default:
			return -1;
		}
	}
	for (k = 0; k < KINDS; k++) {
		b->wanted[k] |= !some;
		if (b->wanted[k] && scale_is_veth(k) && !veth) {
			b->wanted[k] = false;
			snprintf(b->veth_why, sizeof(b->veth_why), "--no-veth");
		}
	}
	for (k = 0; k < KINDS; k++)
		b->wanted[scale_kinds[k].way] |= b->wanted[k];
	b->wanted[TEST_RUN] = true;
	return good && optind == argc ? 0 : -1;
}

/* 1, 2, 3, 4, 6, 8, 12, 16, 24 …, and all CPUs. */
static void make_steps(struct scale *b)
{
	unsigned n = 1, next = 2, more;

	while (n < b->ncpu && b->nsteps < MAX_STEPS - 1) {
		b->step[b->nsteps++] = n;
		more = n < 3 ? next + 1 : 2 * n;
		n = next;
		next = more;
	}
	b->step[b->nsteps++] = b->ncpu;
}

int main(int argc, char **argv)
{
	enum bench_steady steady = BENCH_REFUSED;
	static struct scale b;
	struct bwl_err e = {};
	int r;

	b.ncpu = bench_cpus(b.cpu);
	if (!b.ncpu || parse_args(&b, argc, argv)) {
		help(stderr);
		return 2;
	}
	make_steps(&b);
	r = scale_up(&b, &e);
	if (!r) {
		r = scale_transfers(&b);
		if (!r)
			r = scale_measure(&b);
		if (!r)
			r = scale_check(&b);
		if (r)
			bwl_fail(&e, -r, "cannot measure: %s", strerror(-r));
	}
	if (!r)
		steady = scale_steady(&b);
	if (!r && steady != BENCH_REFUSED)
		(b.json ? scale_report_json : scale_report_text)(&b, steady);
	scale_down(&b);
	if (r)
		rig_die(&e);
	return steady == BENCH_REFUSED ? BENCH_EXIT_UNSTEADY : 0;
}
