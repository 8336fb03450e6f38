// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * What limiting adds to a packet on its whole way through a veth, over a bare drop at TC
 * ingress: bwlimit's host port against nftables doing the same work (source check, one limit
 * for each destination, a zone's and the node's limit, counters), and against nftables'
 * per-destination limit alone. Every packet is dropped at the end of each: bwlimit sends to an
 * interface that is not there, nftables' last rule drops. So only the limiter is measured, and
 * bwlimit pays for looking for the interface. bwlimit is measured at TC alone, where a packet is
 * charged, and with the early drop at XDP before it, which judges every packet once more.
 *
 * One veth pair for each, in a network namespace of its own; interleaved; medians.
 */
#include <bpf/bpf.h>
#include <errno.h>
#include <getopt.h>
#include <net/if.h>
#include <sched.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include "bench/rig.h"
#include "bwlimit.skel.h"
#include "e2e_source.skel.h"

#define BPF_TCX_INGRESS 46	/* kernel 6.6; older headers lack it */
#define NOWHERE 65000		/* an interface index that is not in use */
#define MAX_ROUNDS 101
#define BATCH 64
#define TRIES 8
#define SLACK 100	/* frames that are the interfaces' own */
#define GOAL 0.6

enum who { BARE, BWLIMIT, BWLIMIT_XDP, NFT, NFT_LIMIT, _WHO_MAX };
static const char *const names[_WHO_MAX] = { "bare", "bwl", "xdp", "nft", "lim" };

struct bench {
	struct rig rig;
	struct e2e_source *src;
	int ifindex[_WHO_MAX];		/* where the source sends */
	unsigned rounds, packets, most;
	bool json;
	__u8 frame[RIG_FRAME_BYTES];
	unsigned long long arrived[_WHO_MAX];
};

struct result {
	unsigned dests;
	double ns[_WHO_MAX];		/* medians; others than BARE: added to it */
};

static const char usage[] =
	"usage: bench-e2e [--destinations N] [--rounds N] [--packets N] [--json]\n"
	"  --destinations N  beside one: so many in turn (default 1000000)\n"
	"  --rounds N        medians of so many (default 7, at most 101)\n"
	"  --packets N       of each kind and round (default 1000000)\n"
	"Needs root, nft and a kernel with tcx. Example: bench-e2e --destinations 100000\n";

static int shell(const char *fmt, ...)
{
	char cmd[512];
	va_list args;

	va_start(args, fmt);
	vsnprintf(cmd, sizeof(cmd), fmt, args);
	va_end(args);
	return system(cmd) ? -EINVAL : 0;
}

static int make_devices(struct bench *b)
{
	int i, r = unshare(CLONE_NEWNET) ? -errno : 0;
	char name[32];

	if (!r)	/* no frames but ours */
		r = shell("sysctl -q -w net.ipv6.conf.default.disable_ipv6=1");
	for (i = 0; !r && i < _WHO_MAX; i++) {
		/* GRO on: a redirected frame is received only where NAPI runs. */
		r = shell("ip link add s-%s type veth peer name r-%s && ethtool -K r-%s gro on && "
			  "ip link set s-%s up && ip link set r-%s up",
			  names[i], names[i], names[i], names[i], names[i]);
		snprintf(name, sizeof(name), "s-%s", names[i]);
		b->ifindex[i] = (int)if_nametoindex(name);
	}
	return r;
}

static int receiver(enum who who)
{
	char name[32];

	snprintf(name, sizeof(name), "r-%s", names[who]);
	return (int)if_nametoindex(name);
}

/* Rates that nothing reaches: what is measured is the way of a packet that passes. */
static int make_nft(unsigned dests)
{
	FILE *f = popen("nft -f -", "w");
	const char *limit = "limit rate over 4000 mbytes/second burst 1000 mbytes";

	if (!f)
		return -errno;
	fprintf(f,
		"table netdev bench {\n"
		" counter full { }\n counter alone { }\n"
		" set full { type ipv4_addr; size %u; flags dynamic; }\n"
		" set alone { type ipv4_addr; size %u; flags dynamic; }\n"
		" chain full { type filter hook ingress device r-nft priority 0; policy drop;\n"
		"  ip saddr != 10.7.0.0/24 counter drop\n"
		"  add @full { ip daddr %s counter } counter drop\n"
		"  %s counter drop\n"
		"  %s counter drop\n"
		"  counter name full drop\n }\n"
		" chain alone { type filter hook ingress device r-lim priority 0; policy drop;\n"
		"  add @alone { ip daddr %s } counter drop\n"
		"  counter name alone drop\n }\n}\n",
		dests + 1, dests + 1, limit, limit, limit, limit);
	return pclose(f) ? -EINVAL : 0;
}

/* Packets that came to the last rule of a chain: all of them, or a limit was reached. */
static unsigned long long nft_passed(const char *counter)
{
	unsigned long long n = 0;
	char cmd[128], line[256];
	FILE *f;

	snprintf(cmd, sizeof(cmd), "nft list counter netdev bench %s", counter);
	f = popen(cmd, "r");
	while (f && fgets(line, sizeof(line), f))
		sscanf(line, " packets %llu", &n);
	if (f)
		pclose(f);
	return n;
}

static int attach(enum who who, int prog, enum bpf_attach_type type)
{
	int fd = bpf_link_create(prog, receiver(who), type, NULL);

	return fd < 0 ? -errno : 0;	/* the link ends with the process */
}

/* Packets that a receiver's NAPI took out of the ring. */
static unsigned long long received(enum who who)
{
	unsigned long long n = 0;
	char line[512], want[32];
	FILE *f = fopen("/proc/net/dev", "re");
	const char *at;

	snprintf(want, sizeof(want), "r-%s:", names[who]);
	while (f && fgets(line, sizeof(line), f)) {
		at = strstr(line, want);
		if (at)
			sscanf(at + strlen(want), "%*u %llu", &n);
	}
	if (f)
		fclose(f);
	return n;
}

static int run_once(struct bench *b, enum who who, unsigned dests, unsigned packets, double *ret_ns)
{
	LIBBPF_OPTS(bpf_test_run_opts, o, .data_in = b->frame, .data_size_in = RIG_FRAME_BYTES,
		    .repeat = (int)packets, .flags = BPF_F_TEST_XDP_LIVE_FRAMES, .batch_size = BATCH);
	struct timespec t0, t1;

	b->src->bss->out_ifindex = (__u32)b->ifindex[who];
	b->src->bss->next = 0;
	b->src->data->count = dests;
	clock_gettime(CLOCK_MONOTONIC, &t0);
	if (bpf_prog_test_run_opts(bpf_program__fd(b->src->progs.source), &o))
		return -errno;
	clock_gettime(CLOCK_MONOTONIC, &t1);
	*ret_ns = ((double)(t1.tv_sec - t0.tv_sec) * 1e9 + (double)(t1.tv_nsec - t0.tv_nsec)) / packets;
	return 0;
}

/*
 * A frame that is lost in the ring costs nothing, which would flatter its receiver. It happens
 * when the kernel leaves receiving to ksoftirqd because others want this CPU: try again.
 */
static int run(struct bench *b, enum who who, unsigned dests, unsigned packets, double *ret_ns)
{
	unsigned long long before, got;
	int i, r;

	for (i = 0; i < TRIES; i++) {
		before = received(who);
		r = run_once(b, who, dests, packets, ret_ns);
		if (r)
			return r;
		got = received(who) - before;
		b->arrived[who] += got;
		if (got >= packets - packets / 1000)
			return 0;
	}
	fprintf(stderr, "bench-e2e: %s: %llu of %u packets arrived, %d times; the machine is busy\n",
		names[who], got, packets, TRIES);
	return -EBUSY;
}

static int expect(const struct bench *b, enum who who, unsigned long long passed)
{
	unsigned long long got = b->arrived[who];

	if (passed <= got + SLACK && passed + SLACK >= got)
		return 0;
	fprintf(stderr, "bench-e2e: %s: %llu of %llu packets passed\n", names[who], passed, got);
	return -EBADMSG;
}

/* Did every packet go all the way? A refusal would be cheaper. */
static int check(const struct bench *b, unsigned dests)
{
	static struct bwl_reason_count n[BWL_REASON_ROWS * BWL_REASON_SLOTS];
	struct bwl_err e = {};
	int bad;

	if (bwl_reason_read(b->rig.pins, n, &e))
		rig_die(&e);
	/* Both are one port's: what arrived at the other is taken off. */
	bad = expect(b, BWLIMIT, n[BWL_R_PASS].frames - b->arrived[BWLIMIT_XDP]);
	if (dests == 1) {	/* nft reads whole sets before it shows a counter */
		bad |= expect(b, NFT, nft_passed("full"));
		bad |= expect(b, NFT_LIMIT, nft_passed("alone"));
	}
	return bad;
}

static int measure(struct bench *b, struct result *res)
{
	static double ns[_WHO_MAX][MAX_ROUNDS];
	unsigned packets = b->packets > res->dests ? b->packets : res->dests, round;
	double v = 0;
	int i, r;

	for (round = 0; round <= b->rounds; round++) {
		for (i = 0; i < _WHO_MAX; i++) {
			r = run(b, i, res->dests, packets, &v);
			if (r)
				return r;
			if (round)	/* the first warms up and fills nftables' sets */
				ns[i][round - 1] = v;
		}
	}
	for (round = 0; round < b->rounds; round++)
		for (i = BARE + 1; i < _WHO_MAX; i++)
			ns[i][round] -= ns[BARE][round];
	for (i = 0; i < _WHO_MAX; i++)
		res->ns[i] = rig_median(ns[i], b->rounds);
	return 0;
}

static void report(const struct bench *b, const struct result *res, unsigned n)
{
	unsigned i;

	if (b->json)
		printf("{\"rounds\": %u, \"packets\": %u, \"goal\": %.1f, \"rows\": [", b->rounds,
		       b->packets, GOAL);
	else
		printf("ns a packet, medians of %u x %u packets, one CPU; added to a bare drop\n\n"
		       "%-13s %6s %9s %7s %7s %10s %8s %6s %9s %8s\n", b->rounds, b->packets,
		       "destinations", "bare", "bwlimit", "+ XDP", "nft", "nft limit", "ratio",
		       "goal", "to limit", "+ XDP");
	for (i = 0; i < n; i++) {
		double ratio = res[i].ns[BWLIMIT] / res[i].ns[NFT];
		double alone = res[i].ns[BWLIMIT] / res[i].ns[NFT_LIMIT];
		double xdp = res[i].ns[BWLIMIT_XDP] / res[i].ns[NFT];

		if (b->json)
			printf("%s\n {\"destinations\": %u, \"bare_ns\": %.0f, \"bwlimit_ns\": %.0f, "
			       "\"bwlimit_xdp_ns\": %.0f, \"nft_ns\": %.0f, \"nft_limit_ns\": %.0f, "
			       "\"ratio\": %.2f, \"ratio_to_limit\": %.2f, \"ratio_xdp\": %.2f}",
			       i ? "," : "", res[i].dests, res[i].ns[BARE], res[i].ns[BWLIMIT],
			       res[i].ns[BWLIMIT_XDP], res[i].ns[NFT], res[i].ns[NFT_LIMIT], ratio,
			       alone, xdp);
		else
			printf("%-13u %6.0f %+9.0f %+7.0f %+7.0f %+10.0f %7.2fx %5.1fx %8.2fx %7.2fx\n",
			       res[i].dests, res[i].ns[BARE], res[i].ns[BWLIMIT],
			       res[i].ns[BWLIMIT_XDP], res[i].ns[NFT], res[i].ns[NFT_LIMIT], ratio,
			       GOAL, alone, xdp);
	}
	if (b->json)
		printf("\n]}\n");
}

static int parse_args(struct bench *b, int argc, char **argv)
{
	static const struct option options[] = {
		{ "destinations", required_argument, NULL, 'd' },
		{ "rounds", required_argument, NULL, 'r' },
		{ "packets", required_argument, NULL, 'n' },
		{ "json", no_argument, NULL, 'j' }, { "help", no_argument, NULL, 'h' }, {},
	};
	int c;

	b->most = 1000000;
	b->rounds = 7;
	b->packets = 1000000;
	while ((c = getopt_long(argc, argv, "", options, NULL)) != -1) {
		switch (c) {
		case 'd': b->most = (unsigned)strtoul(optarg, NULL, 10); break;
		case 'r': b->rounds = (unsigned)strtoul(optarg, NULL, 10); break;
		case 'n': b->packets = (unsigned)strtoul(optarg, NULL, 10); break;
		case 'j': b->json = true; break;
		case 'h': fputs(usage, stdout); exit(0);
		default: return -1;
		}
	}
	return optind == argc && b->most && b->most <= 4000000 && b->rounds &&
	       b->rounds <= MAX_ROUNDS && b->packets && b->packets <= 100000000 ? 0 : -1;
}

static int set_up(struct bench *b, struct bwl_err *e)
{
	struct rig_size size = { .peers = b->most + 1, .extras = 1024, .windows = 16 };
	struct bwl_policy *pol;
	size_t elf_size;
	const void *elf = bwlimit__elf_bytes(&elf_size);
	int r;

	r = make_devices(b);
	if (!r)
		r = make_nft(b->most);
	if (r)
		return bwl_fail(e, -r, "cannot make veth pairs and an nftables table: %s", strerror(-r));
	r = rig_up(&b->rig, elf, elf_size, &size, e);
	if (r)
		return r;
	b->rig.pins->dev[RIG_HOST_PORT].ifindex = (__u32)receiver(BWLIMIT);
	b->rig.pins->dev[RIG_UPLINK_PORT].ifindex = NOWHERE;
	b->rig.pins->ifport[receiver(BWLIMIT)].v = RIG_HOST_PORT + 1;
	b->rig.pins->ifport[receiver(BWLIMIT_XDP)].v = RIG_HOST_PORT + 1;
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
	r = attach(BARE, bpf_program__fd(b->src->progs.bare_drop), BPF_TCX_INGRESS);
	if (!r)
		r = attach(BWLIMIT, rig_prog(&b->rig, "bwl_tc_host"), BPF_TCX_INGRESS);
	if (!r)
		r = attach(BWLIMIT_XDP, rig_prog(&b->rig, "bwl_tc_host"), BPF_TCX_INGRESS);
	if (!r)
		r = attach(BWLIMIT_XDP, rig_prog(&b->rig, "bwl_xdp_host"), BPF_XDP);
	return r ? bwl_fail(e, -r, "cannot attach by tcx or native XDP: %s", strerror(-r)) : 0;
}

int main(int argc, char **argv)
{
	static struct bench b;
	struct result res[2] = { { .dests = 1 } };
	struct bwl_err e = {};
	unsigned i, n;
	int r;

	if (parse_args(&b, argc, argv)) {
		fputs(usage, stderr);
		return 2;
	}
	res[1].dests = b.most;
	n = b.most > 1 ? 2 : 1;
	rig_frame(b.frame, 0);
	r = set_up(&b, &e);
	if (!r) {
		for (i = 0; !r && i < n; i++) {
			r = measure(&b, &res[i]);
			if (!r)
				r = check(&b, res[i].dests);
		}
		if (r)
			bwl_fail(&e, -r, "cannot measure: %s", strerror(-r));
	}
	e2e_source__destroy(b.src);
	rig_down(&b.rig);
	if (r)
		rig_die(&e);
	report(&b, res, n);
	return 0;
}
