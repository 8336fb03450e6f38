// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * What limiting adds to a packet on its whole way through a veth, over a bare forward: bwlimit's
 * host port against nftables doing the same work (source check, one limit and counter for each
 * destination, a zone's, the port's and the node's limit), and against nftables' limit for each
 * destination alone. All of them end in the same dummy device: bwlimit redirects to it, nftables
 * sends by `fwd to` in the netdev ingress hook. bwlimit is measured at TC alone, where a packet is
 * charged (`attach --xdp none`), with the early drop at XDP before it (the default), and with
 * that in generic XDP, which is what a driver without XDP gets.
 *
 * One veth pair for each, in a network namespace of its own, one pinned thread; in many short
 * rounds that take turns; medians. Every frame must have come out at the dummy device.
 */
#include <errno.h>
#include <getopt.h>
#include <linux/if_link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "bench/cpu.h"
#include "bench/machine.h"
#include "bench/opt.h"
#include "bench/rig.h"
#include "bench/stats.h"
#include "bench/veth/veth.h"
#include "bwlimit.skel.h"
#include "e2e_source.skel.h"

#define PROG "bench-e2e"
#define TRIES 8
#define GOAL 0.6

enum who { BARE, BWLIMIT, BWLIMIT_XDP, BWLIMIT_GENERIC, NFT, NFT_LIMIT, _WHO_MAX };
static const struct {
	const char *dev, *key, *text;
} kinds[_WHO_MAX] = {
	{ "bare", "bare", "bare forward" },
	{ "bwl", "bwlimit_tc", "bwlimit, TC only (--xdp none)" },
	{ "xdp", "bwlimit", "bwlimit, XDP and TC (default)" },
	{ "gen", "bwlimit_generic", "bwlimit, generic XDP and TC" },
	{ "nft", "nftables", "nftables, the same work" },
	{ "lim", "nftables_limit", "nftables, its limit alone" },
};

struct bench {
	struct rig rig;
	struct e2e_source *src;
	struct bench_softirqd softirqd;
	unsigned rounds, packets, most, cpu;
	bool json, anyway, cpu_chosen;
	__u8 frame[RIG_FRAME_BYTES];
	unsigned next[_WHO_MAX]; /* destination: each goes on where it was */
};

struct result {
	unsigned dests;
	double ns[_WHO_MAX][BENCH_MAX_ROUNDS];
};

static const char usage[] =
	"usage: bench-e2e [--destinations N] [--rounds N] [--packets N] [--cpu N] [--anyway] [--json]\n"
	"  --destinations N  beside one: so many in turn (default 1000000)\n"
	"  --rounds N        medians of so many (default 41, at most 1001)\n"
	"  --packets N       of each kind and round (default 100000)\n"
	"  --cpu N           pinned to this CPU (default: the last)\n"
	"  --anyway          report also when the bare forward moved by more than a tenth\n"
	"Needs root, nft, ethtool and a kernel with tcx (6.6).\n"
	"Exit status: 0, 1 failed, 2 wrong options, 3 not steady (nothing is reported).\n"
	"Examples: bench-e2e --destinations 100000\n"
	"          bench-e2e --destinations 1 --json | jq '.rows[] | {what, added_ns}'\n";

/* Rates that nothing reaches: what is measured is the way of a packet that passes. */
static int make_nft(unsigned dests)
{
	const char *limit = "limit rate over 4000 mbytes/second burst 1000 mbytes";
	FILE *f = popen("nft -f -", "w");

	if (!f)
		return -errno;
	fprintf(f,
		"table netdev bench {\n"
		" set full { type ipv4_addr; size %u; flags dynamic; }\n"
		" set alone { type ipv4_addr; size %u; flags dynamic; }\n"
		" chain full { type filter hook ingress device r-%s priority 0; policy drop;\n"
		"  ip saddr != 10.7.0.0/24 counter drop\n"
		"  add @full { ip daddr %s counter } counter drop\n"
		"  %s counter drop\n" /* zone */
		"  %s counter drop\n" /* port */
		"  %s counter drop\n" /* node */
		"  fwd to " BENCH_SINK "\n }\n"
		" chain alone { type filter hook ingress device r-%s priority 0; policy drop;\n"
		"  add @alone { ip daddr %s } counter drop\n"
		"  fwd to " BENCH_SINK "\n }\n}\n",
		dests + 1, dests + 1, kinds[NFT].dev, limit, limit, limit, limit,
		kinds[NFT_LIMIT].dev, limit);
	return pclose(f) ? -EINVAL : 0;
}

static int run_once(struct bench *b, enum who who, unsigned dests, unsigned packets, double *ret_ns,
		    unsigned long long *ret_lost)
{
	unsigned long long swallowed = bench_swallowed(), came;
	double softirqd = bench_softirqd_ns(&b->softirqd);
	int r;

	b->src->bss->out_ifindex = bench_ifindex('s', kinds[who].dev);
	b->src->bss->next = b->next[who];
	b->src->data->count = dests;
	r = bench_live_frames(bpf_program__fd(b->src->progs.source), b->frame, RIG_FRAME_BYTES,
			      packets, ret_ns);
	if (r)
		return r;
	b->next[who] = b->src->bss->next;
	came = bench_wait_swallowed(swallowed + packets) - swallowed;
	*ret_lost = came < packets ? packets - came : 0;
	*ret_ns = (*ret_ns + bench_softirqd_ns(&b->softirqd) - softirqd) / packets;
	return 0;
}

/*
 * A frame that is lost in the ring costs nothing, which would flatter its receiver. It happens
 * when the kernel leaves receiving to ksoftirqd because others want this CPU: try again. A frame
 * that was received and did not come out was refused, which is no way to be fast either.
 */
static int run(struct bench *b, enum who who, unsigned dests, unsigned packets, double *ret_ns)
{
	unsigned long long received, swallowed, lost = 0;
	int i, r;

	for (i = 0; i < TRIES; i++) {
		swallowed = bench_swallowed();
		received = bench_received(kinds[who].dev);
		r = run_once(b, who, dests, packets, ret_ns, &lost);
		if (r)
			return r;
		if (lost <= packets / 1000)
			return 0;
		received = bench_received(kinds[who].dev) - received;
		swallowed = bench_swallowed() - swallowed; /* later: none is under way */
		if (received > swallowed + packets / 1000) {
			fprintf(stderr,
				PROG ": %s: %llu of %llu packets that arrived were not forwarded\n",
				kinds[who].text, received - swallowed, received);
			return -EBADMSG;
		}
	}
	fprintf(stderr,
		PROG ": %s: %llu of %u packets were lost before it, %d times; the machine is busy: "
		     "stop what else runs here (/proc/loadavg) and try again\n",
		kinds[who].text, lost, packets, TRIES);
	return -EBUSY;
}

static int measure(struct bench *b, struct result *res)
{
	/* The first time warms up; every destination is in nftables' sets then. */
	unsigned first = b->packets > res->dests ? b->packets : res->dests, round;
	double v = 0;
	int i, r;

	memset(b->next, 0, sizeof(b->next));
	for (round = 0; round <= b->rounds; round++) {
		for (i = 0; i < _WHO_MAX; i++) {
			r = run(b, i, res->dests, round ? b->packets : first, &v);
			if (r)
				return r;
			if (round)
				res->ns[i][round - 1] = v;
		}
	}
	return 0;
}

struct row {
	struct bench_spread ns, ratio, to_limit; /* ns: added, of BARE itself */
};

/* Round by round, so that both sides of a difference or a ratio are of the same moment. */
static struct row row_of(const struct result *res, enum who who, unsigned rounds)
{
	static double added[BENCH_MAX_ROUNDS], ratio[BENCH_MAX_ROUNDS], to_limit[BENCH_MAX_ROUNDS];
	unsigned i;

	for (i = 0; i < rounds; i++) {
		double bare = res->ns[BARE][i];

		added[i] = res->ns[who][i] - (who == BARE ? 0 : bare);
		ratio[i] = added[i] / (res->ns[NFT][i] - bare);
		to_limit[i] = added[i] / (res->ns[NFT_LIMIT][i] - bare);
	}
	return (struct row){ bench_spread_of(added, rounds), bench_spread_of(ratio, rounds),
			     bench_spread_of(to_limit, rounds) };
}

static void report_json(const struct bench *b, const struct result *res, unsigned n)
{
	struct row row;
	unsigned i, who;

	fputs("{", stdout);
	bench_machine_json(stdout);
	printf(",\n \"rounds\": %u, \"packets\": %u, \"sink\": \"%s\", \"goal\": %.1f, \"rows\": [",
	       b->rounds, b->packets, bench_sink_kind(), GOAL);
	for (i = 0; i < n; i++) {
		for (who = 0; who < _WHO_MAX; who++) {
			row = row_of(&res[i], who, b->rounds);
			printf("%s\n {\"destinations\": %u, \"what\": \"%s\", \"%s\": %.1f, ",
			       i || who ? "," : "", res[i].dests, kinds[who].key,
			       who == BARE ? "ns" : "added_ns", row.ns.median);
			if (who != BARE)
				printf("\"ratio\": %.3f, \"ratio_to_limit\": %.3f, ",
				       row.ratio.median, row.to_limit.median);
			bench_spread_json(stdout, "spread", &row.ns);
			if (who != BARE) {
				fputs(", ", stdout);
				bench_spread_json(stdout, "ratio_spread", &row.ratio);
			}
			fputs("}", stdout);
		}
	}
	fputs("\n]}\n", stdout);
}

static void report_text(const struct bench *b, const struct result *res, unsigned n)
{
	struct row row;
	unsigned i, who;

	bench_machine_text(stdout);
	printf("ns a packet, %u rounds of %u packets, one CPU, all forwarded to %s;\n"
	       "others than the bare forward: added to it. ratio: of that to nftables doing the same work\n",
	       b->rounds, b->packets, bench_sink_kind());
	for (i = 0; i < n; i++) {
		printf("\n%8u destination%-14s %s    ratio    q1..q3      to limit\n", res[i].dests,
		       res[i].dests > 1 ? "s in turn" : "", bench_spread_heading);
		for (who = 0; who < _WHO_MAX; who++) {
			row = row_of(&res[i], who, b->rounds);
			printf("%-34s %8.1f %8.1f %8.1f %8.1f %8.1f", kinds[who].text,
			       row.ns.median, row.ns.min, row.ns.q1, row.ns.q3, row.ns.max);
			if (who != BARE)
				printf(" %7.2fx %5.2f..%-5.2f %8.2fx", row.ratio.median,
				       row.ratio.q1, row.ratio.q3, row.to_limit.median);
			fputs("\n", stdout);
		}
	}
	printf("\ngoal: %.1f of what nftables adds for the same work, in the default configuration\n",
	       GOAL);
}

static int parse_args(struct bench *b, int argc, char **argv)
{
	static const struct option options[] = {
		{ "destinations", required_argument, NULL, 'd' },
		{ "rounds", required_argument, NULL, 'r' },
		{ "packets", required_argument, NULL, 'n' },
		{ "cpu", required_argument, NULL, 'c' },
		{ "anyway", no_argument, NULL, 'a' },
		{ "json", no_argument, NULL, 'j' },
		{ "help", no_argument, NULL, 'h' },
		{},
	};
	bool good = true;
	int c;

	b->most = 1000000;
	b->rounds = 41;
	b->packets = 100000;
	while (good && (c = getopt_long(argc, argv, "", options, NULL)) != -1) {
		switch (c) {
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
			fputs(usage, stdout);
			exit(0);
		default:
			return -1;
		}
	}
	return good && optind == argc ? 0 : -1;
}

static int make_devices(struct bench *b)
{
	int i, r = bench_net_up();

	for (i = 0; !r && i < _WHO_MAX; i++)
		r = bench_veth_add(kinds[i].dev, 1);
	return r ? r : make_nft(b->most);
}

static int attach_all(struct bench *b)
{
	int host = rig_prog(&b->rig, "bwl_tc_host"), xdp = rig_prog(&b->rig, "bwl_xdp_host"), r, i;

	r = bench_attach(kinds[BARE].dev, bpf_program__fd(b->src->progs.bare_forward),
			 BENCH_TCX_INGRESS, 0);
	for (i = BWLIMIT; !r && i <= BWLIMIT_GENERIC; i++) {
		b->rig.pins->ifport[bench_ifindex('r', kinds[i].dev)].v = RIG_HOST_PORT + 1;
		r = bench_attach(kinds[i].dev, host, BENCH_TCX_INGRESS, 0);
	}
	if (!r)
		r = bench_attach(kinds[BWLIMIT_XDP].dev, xdp, BPF_XDP, XDP_FLAGS_DRV_MODE);
	if (!r)
		r = bench_attach(kinds[BWLIMIT_GENERIC].dev, xdp, BPF_XDP, XDP_FLAGS_SKB_MODE);
	return r;
}

static int set_up(struct bench *b, struct bwl_err *e)
{
	struct rig_size size = { .peers = b->most + 1,
				 .extras = 1024,
				 .windows = 16,
				 .programs = RIG_TC_HOST | RIG_XDP_HOST };
	struct bwl_policy *pol;
	size_t elf_size;
	const void *elf = bwlimit__elf_bytes(&elf_size);
	int r;

	r = make_devices(b);
	if (r)
		return bwl_fail(e, -r, "cannot make veth pairs and an nftables table: %s",
				strerror(-r));
	r = rig_up(&b->rig, elf, elf_size, &size, e);
	if (r)
		return r;
	b->rig.pins->dev[RIG_HOST_PORT].ifindex = bench_ifindex('r', kinds[BWLIMIT].dev);
	b->rig.pins->dev[RIG_UPLINK_PORT].ifindex = bench_sink_ifindex();
	pol = rig_policy();
	rig_add_peers(pol, b->most, 0);
	r = bwl_publish(b->rig.pins, pol, NULL, NULL, e);
	bwl_policy_free(pol);
	if (r)
		return r;
	b->src = e2e_source__open_and_load();
	if (!b->src)
		return bwl_fail(e, errno, "cannot load the source: %s", strerror(errno));
	b->src->bss->first = RIG_FIRST_DEST;
	b->src->bss->sink_ifindex = bench_sink_ifindex();
	r = attach_all(b);
	return r ? bwl_fail(e, -r, "cannot attach by tcx or XDP: %s", strerror(-r)) : 0;
}

int main(int argc, char **argv)
{
	static struct bench b;
	static struct result res[2] = { { .dests = 1 } };
	struct bwl_err e = {};
	bool steady = true;
	unsigned i, n;
	int r, cpu;

	if (parse_args(&b, argc, argv)) {
		fputs(usage, stderr);
		return 2;
	}
	if (bench_pin_one(PROG, b.cpu_chosen, b.cpu, &cpu))
		return 2;
	bench_softirqd_find(&b.softirqd, cpu);
	res[1].dests = b.most;
	n = b.most > 1 ? 2 : 1;
	rig_frame(b.frame, 0);
	r = set_up(&b, &e);
	for (i = 0; !r && steady && i < n; i++) {
		r = measure(&b, &res[i]);
		if (r)
			bwl_fail(&e, -r, "cannot measure: %s", strerror(-r));
		else
			steady = bench_is_steady(PROG, kinds[BARE].text, res[i].ns[BARE], b.rounds,
						 0, b.anyway);
	}
	e2e_source__destroy(b.src);
	rig_down(&b.rig);
	if (r)
		rig_die(&e);
	if (!steady)
		return BENCH_EXIT_UNSTEADY;
	(b.json ? report_json : report_text)(&b, res, n);
	return 0;
}
