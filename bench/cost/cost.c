// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * What one packet costs in the whole pipeline, as a ratio to the floor (floor.bpf.c): one hot peer
 * and many in turn, with windowed volumes, by prefixes, by path offload; and what a refused packet
 * costs, as a ratio to one that passes. One pinned thread. Everything is measured in one run, in
 * many short rounds that alternate. Each ratio is of one round, so that anything that slows a whole
 * round affects both of its sides; medians.
 */
#include <errno.h>
#include <getopt.h>
#include <stdlib.h>
#include <string.h>
#include "bench/cost/cost.h"
#include "bench/cpu.h"
#include "bench/opt.h"
#include "bwl/help.h"

static const char usage[] =
	"usage: bench-cost [--only ROW,…] [--peers N] [--rounds N] [--packets N] [--object FILE] [--cpu N] [--anyway] [--json]\n"
	"\n"
	"  --only ROW   only these rows, and those that they are compared with; 'refused' is all of\n"
	"               refused-peer, refused-zone and so on\n"
	"  --peers N    destinations that are sent to in turn (default 100000)\n"
	"  --rounds N   report medians of N rounds (default 41, at most 1001)\n"
	"  --packets N  of each row and round (default 100000)\n"
	"  --object F   another build of bwlimit.bpf.o than the one this was built with\n"
	"  --cpu N      pinned to this CPU (default: the last)\n"
	"  --anyway     report also when the empty program moved by more than a tenth\n"
	"\n"
	"Needs root; rows at XDP and veth also ip(8). Exit status: 0, 1 failed (also: packets did not end\n"
	"as a row says they do), 2 wrong options, 3 not steady (nothing is reported).\n"
	"\n"
	"examples:\n"
	"  bench-cost\n"
	"  bench-cost --only pipeline-one,refused --json | jq '.rows[] | {row, ratio, met}'\n"
	"  bench-cost --only volume --object build/other/bpf/bwlimit.bpf.o\n"
	"\n"
	"rows:\n";

static void help(FILE *f)
{
	bwl_help(usage, f);
	bench_list_rows(f, cost_row_name, _ROW_MAX);
}

static int parse_args(struct cost *b, int argc, char **argv)
{
	static const struct option options[] = {
		{ "only", required_argument, NULL, 'O' },
		{ "peers", required_argument, NULL, 'p' },
		{ "rounds", required_argument, NULL, 'r' },
		{ "packets", required_argument, NULL, 'n' },
		{ "object", required_argument, NULL, 'o' },
		{ "cpu", required_argument, NULL, 'c' },
		{ "anyway", no_argument, NULL, 'a' },
		{ "json", no_argument, NULL, 'j' },
		{ "help", no_argument, NULL, 'h' },
		{},
	};
	bool good = true, some = false;
	int c;

	b->peers = 100000;
	b->rounds = 41;
	b->packets = 100000;
	while (good && (c = getopt_long(argc, argv, "", options, NULL)) != -1) {
		switch (c) {
		case 'O':
			good = some = bench_choose(PROG, optarg, cost_row_name, _ROW_MAX,
						   b->wanted);
			break;
		case 'p':
			good = bench_number(PROG, "--peers", optarg, 1, 10000000, &b->peers);
			break;
		case 'r':
			good = bench_number(PROG, "--rounds", optarg, 1, BENCH_MAX_ROUNDS,
					    &b->rounds);
			break;
		case 'n':
			good = bench_number(PROG, "--packets", optarg, 1, 100000000, &b->packets);
			break;
		case 'c':
			good = b->cpu_chosen = bench_number(PROG, "--cpu", optarg, 0, 4095,
							    &b->cpu);
			break;
		case 'o':
			b->object = optarg;
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
	if (!some)
		memset(b->wanted, true, sizeof(b->wanted));
	return good && optind == argc ? 0 : -1;
}

/*
 * Also selects the rows that selected ones are compared with: earlier rows, or the cost of turns.
 */
static void want_what_they_need(struct cost *b)
{
	const struct cost_row_info *x;
	int i;

	for (i = _ROW_MAX - 1; i > EMPTY; i--) {
		x = &cost_rows[i];
		if (!b->wanted[i])
			continue;
		b->wanted[x->over] = b->wanted[x->without[0]] = b->wanted[x->without[1]] = true;
		if (i == XDP_TURN)
			b->wanted[XDP_EMPTY] = true;
	}
	b->wanted[EMPTY] = true;
}

int main(int argc, char **argv)
{
	static struct cost b;
	enum bench_steady steady = BENCH_REFUSED;
	struct bwl_err e = {};
	int r, cpu, up;

	if (parse_args(&b, argc, argv)) {
		help(stderr);
		return 2;
	}
	if (bench_pin_one(PROG, b.cpu_chosen, b.cpu, &cpu))
		return 2;
	want_what_they_need(&b);
	b.prefixes = b.peers < COST_PREFIXES ? b.peers : COST_PREFIXES;
	up = cost_up(&b, &e);
	r = up ? up : cost_measure(&b);
	cost_down(&b);
	if (up)
		rig_die(&e);
	if (r)
		return 1;
	steady = bench_steadiness(PROG, cost_rows[EMPTY].text, b.ns[EMPTY], b.rounds,
				  bench_resolution_ns(b.packets), b.anyway);
	if (steady == BENCH_REFUSED)
		return BENCH_EXIT_UNSTEADY;
	cost_report(&b, steady);
	return 0;
}
