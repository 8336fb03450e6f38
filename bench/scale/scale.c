// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * What 1, 2 … N CPUs pass together, at the same peer and at different peers of one zone, within
 * the limits and in a flood that is refused. By BPF_PROG_TEST_RUN on pinned threads, beside an
 * empty program (what N CPUs gain on this machine at all) and the floor of bench-cost; and by live
 * frames through a veth with a queue for each CPU. A model (model.h) says from one and two CPUs,
 * and from what a cache line's transfer takes here, what more CPUs would do.
 */
#include <arpa/inet.h>
#include <bpf/bpf.h>
#include <errno.h>
#include <getopt.h>
#include <linux/if_link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "bench/opt.h"
#include "bench/scale/scale.h"
#include "bwlimit.skel.h"
#include "e2e_source.skel.h"
#include "floor.skel.h"

#define EVERY 16 /* each number up to this, then doubled */

const struct kind_info scale_kinds[_KIND_MAX] = {
	{ "empty", "empty program", "test_run", false, false, EMPTY, false },
	{ "floor", "floor, same peer", "test_run", true, false, EMPTY, false },
	{ "floor", "floor, different peers", "test_run", false, false, EMPTY, false },
	{ "pipeline", "pipeline, same peer", "test_run", true, false, EMPTY, true },
	{ "pipeline", "pipeline, different peers", "test_run", false, false, EMPTY, true },
	{ "pipeline", "refused, same peer", "test_run", true, true, EMPTY, true },
	{ "pipeline", "refused, different peers", "test_run", false, true, EMPTY, true },
	{ "bare", "veth, bare forward", "veth", false, false, VETH_BARE, false },
	{ "bwlimit", "veth, bwlimit, same peer", "veth", true, false, VETH_BARE, true },
	{ "bwlimit", "veth, bwlimit, different peers", "veth", false, false, VETH_BARE, true },
};

static const char usage[] =
	"usage: bench-scale [--cpus N] [--rounds N] [--packets N] [--predict N] [--no-veth]\n"
	"                   [--anyway] [--json]\n"
	"  --cpus N     up to so many (default: all it may use, at most 256)\n"
	"  --rounds N   medians of so many (default 151, at most 1001)\n"
	"  --packets N  of each CPU, kind and round (default 10000)\n"
	"  --predict N  what the model says of so many CPUs, too (default 16)\n"
	"  --no-veth    only BPF_PROG_TEST_RUN\n"
	"  --anyway     report also when the empty program moved by more than a tenth, or when other\n"
	"               work had the CPUs in more than a quarter of the rounds\n"
	"Needs root. Exit status: 0, 1 failed, 2 wrong options, 3 not steady (nothing is reported).\n"
	"Examples: bench-scale\n"
	"          bench-scale --cpus 4 --json | jq '.rows[] | {what, peers, cpus, times_one}'\n"
	"          taskset -c 0-7 bench-scale --no-veth\n";

static int parse_args(struct scale *b, int argc, char **argv)
{
	static const struct option options[] = {
		{ "cpus", required_argument, NULL, 'c' },
		{ "rounds", required_argument, NULL, 'r' },
		{ "packets", required_argument, NULL, 'n' },
		{ "predict", required_argument, NULL, 'p' },
		{ "no-veth", no_argument, NULL, 'V' },
		{ "anyway", no_argument, NULL, 'a' },
		{ "json", no_argument, NULL, 'j' },
		{ "help", no_argument, NULL, 'h' },
		{},
	};
	bool good = true;
	int c;

	b->rounds = 151;
	b->packets = 10000;
	b->predict = 16;
	b->veth = true;
	while (good && (c = getopt_long(argc, argv, "", options, NULL)) != -1) {
		switch (c) {
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
			b->veth = false;
			snprintf(b->veth_why, sizeof(b->veth_why), "--no-veth");
			break;
		case 'a':
			b->anyway = true;
			break;
		case 'j':
			b->json = true;
			break;
		case 'h':
			fputs(usage, stdout);
			exit(0);
		default:
			return -1;
		}
	}
	return good && optind == argc ? 0 : -1;
}

static void make_steps(struct scale *b)
{
	unsigned n;

	for (n = 1; n < b->ncpu && b->nsteps < MAX_STEPS - 1; n += n < EVERY ? 1 : n)
		b->step[b->nsteps++] = n;
	b->step[b->nsteps++] = b->ncpu;
}

static struct bwl_policy *make_policy(void)
{
	struct bwl_policy *pol = rig_policy();
	unsigned i;

	rig_add_peers(pol, 2 * PEERS, 0);
	for (i = PEERS; i < 2 * PEERS; i++)
		pol->peers[i].grant = (struct bwl_lim){ .present = true, .rate_bps = 64000 };
	return pol;
}

static int load_floor(struct scale *b)
{
	__u64 tat = 0;
	unsigned i;
	int fd;

	b->floor = floor__open();
	if (!b->floor)
		return -errno;
	bpf_map__set_max_entries(b->floor->maps.floor_map, PEERS);
	if (floor__load(b->floor))
		return -errno;
	fd = bpf_map__fd(b->floor->maps.floor_map);
	for (i = 0; i < PEERS; i++) {
		__be32 key = htonl(RIG_FIRST_DEST + i);

		if (bpf_map_update_elem(fd, &key, &tat, BPF_ANY))
			return -errno;
	}
	return 0;
}

/* A queue for each CPU there is: veth takes the one with the CPU's number (veth_select_rxq()). */
static int make_veth(struct scale *b)
{
	unsigned queues = (unsigned)libbpf_num_possible_cpus(), i;
	int r = bench_veth_add("bare", queues), host = rig_prog(&b->rig, "bwl_tc_host");

	if (!r)
		r = bench_veth_add("bwl", queues);
	for (i = 0; !r && i < b->ncpu; i++) {
		b->src[i] = e2e_source__open_and_load();
		if (!b->src[i])
			return -errno;
		b->src[i]->bss->sink_ifindex = bench_sink_ifindex();
		bench_softirqd_find(&b->softirqd[i], b->cpu[i]);
	}
	if (r)
		return r;
	b->rig.pins->dev[RIG_UPLINK_PORT].ifindex = bench_sink_ifindex();
	b->rig.pins->ifport[bench_ifindex('r', "bwl")].v = RIG_HOST_PORT + 1;
	r = bench_attach("bare", bpf_program__fd(b->src[0]->progs.bare_forward), BENCH_TCX_INGRESS,
			 0);
	if (!r)
		r = bench_attach("bwl", host, BENCH_TCX_INGRESS, 0);
	return r ? r
		 : bench_attach("bwl", rig_prog(&b->rig, "bwl_xdp_host"), BPF_XDP,
				XDP_FLAGS_DRV_MODE);
}

static int set_up(struct scale *b, struct bwl_err *e)
{
	struct rig_size size = { .peers = 2 * PEERS + 1,
				 .extras = 1024,
				 .windows = 16,
				 .programs = RIG_TC_HOST | RIG_XDP_HOST };
	struct bwl_policy *pol;
	size_t elf_size;
	const void *elf = bwlimit__elf_bytes(&elf_size);
	int net = b->veth ? bench_net_up() : 0, r; /* before the threads, which live in it */

	r = rig_up(&b->rig, elf, elf_size, &size, e);
	if (r)
		return r;
	pol = make_policy();
	r = bwl_publish(b->rig.pins, pol, NULL, NULL, e);
	bwl_policy_free(pol);
	if (r)
		return r;
	r = load_floor(b);
	if (r)
		return bwl_fail(e, -r, "cannot load the floor: %s", strerror(-r));
	if (b->veth && !net)
		net = make_veth(b);
	if (net) {
		b->veth = false;
		snprintf(b->veth_why, sizeof(b->veth_why),
			 "cannot make multi-queue veth pairs, or attach by tcx and "
			 "native XDP: %s",
			 strerror(-net));
	}
	b->crew = crew_up(b->cpu, b->ncpu);
	return b->crew ? 0
		       : bwl_fail(e, errno, "cannot pin a thread to each CPU: %s", strerror(errno));
}

int main(int argc, char **argv)
{
	static struct scale b;
	struct bwl_err e = {};
	bool good = true;
	unsigned i;
	int r;

	b.ncpu = bench_cpus(b.cpu);
	if (!b.ncpu || parse_args(&b, argc, argv)) {
		fputs(usage, stderr);
		return 2;
	}
	make_steps(&b);
	r = set_up(&b, &e);
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
		good = scale_steady(&b);
	if (!r && good)
		(b.json ? scale_report_json : scale_report_text)(&b);
	crew_down(b.crew);
	for (i = 0; i < b.ncpu; i++)
		e2e_source__destroy(b.src[i]);
	floor__destroy(b.floor);
	rig_down(&b.rig);
	if (r)
		rig_die(&e);
	return good ? 0 : BENCH_EXIT_UNSTEADY;
}
