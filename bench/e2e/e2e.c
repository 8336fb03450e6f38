// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * What limiting adds to a packet on its whole way through a veth, compared with a bare forward:
 * bwlimit's host port against nftables with the same work (source check, one limit and counter per
 * destination, limits of a zone, the port and the node), and against nftables with only the limit
 * per destination. All of them end in the same dummy device: bwlimit redirects to it, nftables
 * sends by `fwd to` in the netdev ingress hook. bwlimit is measured with TC only, where packets are
 * charged (`attach --xdp none`), with XDP in front of it (the default), and with XDP in generic
 * mode, which is what a driver without XDP gets. Path offload goes by native XDP straight to a veth
 * whose far end drops, and is compared with an XDP program that only redirects there.
 *
 * Each has one veth pair, in a separate network namespace; one pinned thread; many short rounds
 * that alternate; medians. Every frame must arrive.
 */
#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "bench/e2e/e2e.h"
#include "bench/opt.h"
#include "bwl/help.h"

#define GOAL .goal = { .value = 0.6 }

const struct e2e_row_info e2e_rows[_ROW_MAX] = {
	[BARE] = { "bare", "bare", "bare forward", BARE },
	[NFT] = { "nft", "nftables", "nftables, the same work", BARE },
	[NFT_LIMIT] = { "lim", "nftables-limit", "nftables, its limit alone", BARE },
	[BWLIMIT] = { "bwl", "bwlimit-tc", "bwlimit, TC only (--xdp none)", BARE, true, GOAL },
	[BWLIMIT_XDP] = { "xdp", "bwlimit", "bwlimit, XDP and TC (default)", BARE, true, GOAL },
	[BWLIMIT_GENERIC] = { "gen", "bwlimit-generic", "bwlimit, generic XDP and TC", BARE, true,
			      GOAL },
	[XDP_BARE] = { "xbare", "xdp-bare", "bare redirect by XDP", XDP_BARE },
	[OFFLOAD] = { "off", "offload", "bwlimit, path offload: XDP alone", XDP_BARE, true, GOAL },
};

const char *e2e_row_name(unsigned row)
{
	return e2e_rows[row].name;
}

static const char usage[] =
	"usage: bench-e2e [--only ROW,…] [--destinations N] [--rounds N] [--packets N] [--cpu N] [--anyway] [--json]\n"
	"\n"
	"  --only ROW        only these rows, and those that they are compared with\n"
	"  --destinations N  measure one destination, and N in turn (default 1000000)\n"
	"  --rounds N        report medians of N rounds (default 41, at most 1001)\n"
	"  --packets N       of each row and round (default 100000)\n"
	"  --cpu N           pinned to this CPU (default: the last)\n"
	"  --anyway          report also when the bare forward moved by more than a tenth\n"
	"\n"
	"Needs root, nft, ethtool and a kernel with tcx (6.6).\n"
	"Exit status: 0, 1 failed (also: frames did not come out), 2 wrong options, 3 not steady\n"
	"(nothing is reported).\n"
	"\n"
	"examples:\n"
	"  bench-e2e --destinations 100000\n"
	"  bench-e2e --only bwlimit --destinations 1 --json | jq '.rows[] | {what, ratio, met}'\n"
	"\n"
	"rows:\n";

static void help(FILE *f)
{
	bwl_help(usage, f);
	bench_list_rows(f, e2e_row_name, _ROW_MAX);
}

static int parse_args(struct e2e *b, int argc, char **argv)
{
	static const struct option options[] = {
		{ "only", required_argument, NULL, 'O' },
		{ "destinations", required_argument, NULL, 'd' },
		{ "rounds", required_argument, NULL, 'r' },
		{ "packets", required_argument, NULL, 'n' },
		{ "cpu", required_argument, NULL, 'c' },
		{ "anyway", no_argument, NULL, 'a' },
		{ "json", no_argument, NULL, 'j' },
		{ "help", no_argument, NULL, 'h' },
		{},
	};
	bool good = true, some = false;
	int c;

	b->most = 1000000;
	b->rounds = 41;
	b->packets = 100000;
	while (good && (c = getopt_long(argc, argv, "", options, NULL)) != -1) {
		switch (c) {
		case 'O':
			good = some = bench_choose(PROG, optarg, e2e_row_name, _ROW_MAX, b->wanted);
			break;
		case 'd':
			good = bench_number(PROG, "--destinations", optarg, 1, 4000000, &b->most);
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

int main(int argc, char **argv)
{
	static struct e2e b;
	static struct e2e_result res[2] = { { .dests = 1 } };
	struct bwl_err e = {};
	bool refused;
	unsigned i, n;
	int r, cpu, up;

	if (parse_args(&b, argc, argv)) {
		help(stderr);
		return 2;
	}
	if (bench_pin_one(PROG, b.cpu_chosen, b.cpu, &cpu))
		return 2;
	bench_softirqd_find(&b.softirqd, cpu);
	b.wanted[XDP_BARE] |= b.wanted[OFFLOAD];
	b.wanted[BARE] = b.wanted[NFT] = b.wanted[NFT_LIMIT] = true;
	res[1].dests = b.most;
	n = b.most > 1 ? 2 : 1;
	rig_frame(b.frame, 0, 0);
	up = e2e_up(&b, &e);
	r = up;
	for (i = 0; !r && i < n; i++) {
		r = e2e_measure(&b, &res[i]);
		if (!r)
			res[i].steady = bench_steadiness(PROG, e2e_rows[BARE].text, res[i].ns[BARE],
							 b.rounds, 0, b.anyway);
		if (res[i].steady == BENCH_REFUSED)
			break;
	}
	refused = i < n;
	e2e_down(&b);
	if (up)
		rig_die(&e);
	if (r) {
		fprintf(stderr, PROG ": %s\n", strerror(-r));
		return 1;
	}
	if (refused)
		return BENCH_EXIT_UNSTEADY;
	e2e_report(&b, res, n);
	return 0;
}
