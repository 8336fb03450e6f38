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
#include <linux/pkt_cls.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "bench/machine.h"
#include "bench/opt.h"
#include "bench/rig.h"
#include "bench/scale/crew.h"
#include "bench/scale/model.h"
#include "bench/scale/pingpong.h"
#include "bench/stats.h"
#include "bench/veth/veth.h"
#include "bwlimit.skel.h"
#include "e2e_source.skel.h"
#include "floor.skel.h"

#define PROG "bench-scale"
#define MAX_STEPS 24		/* numbers of CPUs that are measured */
#define EVERY 16		/* each number up to this, then doubled */
#define APART 3			/* different peers: not neighbours in any array */
#define PEERS (BENCH_MAX_CPUS * APART)	/* and as many that are refused */
#define TRIES 5
#define PINGPONG_ROUNDS 101
#define PINGPONG_PAIRS 15

enum kind {
	EMPTY, FLOOR_SAME, FLOOR_DIFF, PIPE_SAME, PIPE_DIFF, REFUSED_SAME, REFUSED_DIFF,
	VETH_BARE, VETH_SAME, VETH_DIFF, _KIND_MAX
};
static const struct kind_info {
	const char *key, *text, *way;
	bool same, refused;
	enum kind yardstick;	/* what N CPUs gain at most */
	bool limiter;		/* its packets are counted by reason */
} kinds[_KIND_MAX] = {
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

/* One packet stream of one worker. */
struct stream {
	int prog;
	__u8 frame[RIG_FRAME_BYTES];
	unsigned packets;
	bool live;
	double ns;		/* live frames: CPU time of the thread, all together */
};

struct cell {			/* of one kind with one number of CPUs, by round */
	double ns[BENCH_MAX_ROUNDS], times_one[BENCH_MAX_ROUNDS];
	double cycles, transfers;	/* sums */
	unsigned long long packets, passed, refused, contended;
	unsigned disturbed;
};

struct bench {
	struct rig rig;
	struct floor *floor;
	struct e2e_source *src[BENCH_MAX_CPUS];
	struct bench_softirqd softirqd[BENCH_MAX_CPUS];
	struct crew *crew;
	int cpu[BENCH_MAX_CPUS];
	unsigned ncpu, step[MAX_STEPS], nsteps;
	unsigned rounds, packets, predict;
	bool json, anyway, veth;
	char veth_why[160];		/* why there are no rows of veth */
	struct bench_spread transfer[PINGPONG_PAIRS];	/* from the first CPU to others */
	unsigned npairs;
	struct cell cell[_KIND_MAX][MAX_STEPS];
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

static bool is_veth(enum kind k)
{
	return k >= VETH_BARE;
}

/* Whose destination worker w sends to. */
static unsigned dest(enum kind k, unsigned w)
{
	return (kinds[k].refused ? PEERS : 0) + (kinds[k].same ? 0 : w * APART);
}

static int program(const struct bench *b, enum kind k, unsigned w)
{
	if (is_veth(k))
		return bpf_program__fd(b->src[w]->progs.source);
	if (k == EMPTY)
		return bpf_program__fd(b->floor->progs.nothing);
	if (k == FLOOR_SAME || k == FLOOR_DIFF)
		return bpf_program__fd(b->floor->progs.least);
	return rig_prog(&b->rig, "bwl_tc_host");
}

static int send_stream(void *arg)
{
	struct stream *s = arg;
	LIBBPF_OPTS(bpf_test_run_opts, o, .data_in = s->frame, .data_size_in = RIG_FRAME_BYTES,
		    .repeat = (int)s->packets);

	if (s->live)
		return bench_live_frames(s->prog, s->frame, RIG_FRAME_BYTES, s->packets, &s->ns);
	return bench_test_run(s->prog, &o, &s->ns);
}

struct tally {
	unsigned long long passed, refused, contended;
};

static unsigned long long frames_of(const struct bench *b, unsigned reason)
{
	int n = libbpf_num_possible_cpus(), i;
	__u32 key = RIG_HOST_PORT * BWL_REASON_SLOTS + reason;
	struct bwl_reason_count each[n];
	unsigned long long sum = 0;

	if (bpf_map_lookup_elem(b->rig.pins->fd[BWL_PIN_reason], &key, each))
		return 0;
	for (i = 0; i < n; i++)
		sum += each[i].frames;
	return sum;
}

static struct tally tally_of(const struct bench *b)
{
	return (struct tally){ frames_of(b, BWL_R_PASS), frames_of(b, BWL_R_PEER_RATE),
			       frames_of(b, BWL_R_CONTENDED) };
}

/* Once, on the first n workers. ret_ns: a packet, of each worker. */
static int run_once(struct bench *b, enum kind k, unsigned n, struct crew_task *task, double *ret_ns)
{
	static struct stream stream[BENCH_MAX_CPUS];
	double softirqd[BENCH_MAX_CPUS];
	unsigned who[BENCH_MAX_CPUS], i;
	unsigned long long swallowed = is_veth(k) ? bench_swallowed() : 0, want;
	int r;

	for (i = 0; i < n; i++) {
		who[i] = i;
		stream[i] = (struct stream){ .prog = program(b, k, i), .packets = b->packets,
					     .live = is_veth(k) };
		rig_frame(stream[i].frame, dest(k, i));
		task[i] = (struct crew_task){ .work = send_stream, .arg = &stream[i],
					      .urgent = true };
		if (!is_veth(k))
			continue;
		b->src[i]->bss->first = RIG_FIRST_DEST + dest(k, i);
		b->src[i]->bss->out_ifindex = bench_ifindex('s', k == VETH_BARE ? "bare" : "bwl");
		softirqd[i] = bench_softirqd_ns(&b->softirqd[i]);
	}
	r = crew_run(b->crew, who, task, n);
	want = (unsigned long long)n * b->packets;
	if (!r && is_veth(k) && bench_wait_swallowed(swallowed + want) - swallowed < want - want / 1000)
		r = -EAGAIN;
	for (i = 0; !r && i < n; i++)
		ret_ns[i] = is_veth(k) ? (stream[i].ns + bench_softirqd_ns(&b->softirqd[i]) - softirqd[i]) /
						 b->packets
				       : stream[i].ns;
	return r;
}

/* A run during which others had one of the CPUs is no run of so many CPUs: again. */
static int run(struct bench *b, enum kind k, unsigned step, double *ret_ns, double *ret_rate)
{
	struct crew_task task[BENCH_MAX_CPUS];
	struct cell *c = &b->cell[k][step];
	struct tally was, is;
	unsigned n = b->step[step], i, try;
	bool disturbed = true;
	double ns[BENCH_MAX_CPUS];
	int r = 0;

	for (try = 0; disturbed && try < TRIES; try++) {
		was = tally_of(b);
		r = run_once(b, k, n, task, ns);
		if (r && r != -EAGAIN)
			return r;
		/* Live frames wait for the kernel when they are done: their wall says nothing. */
		disturbed = r || (!is_veth(k) && crew_disturbed(task, n));
	}
	if (r)
		return r;
	is = tally_of(b);
	c->disturbed += disturbed;
	c->packets += (unsigned long long)n * b->packets;
	c->passed += is.passed - was.passed;
	c->refused += is.refused - was.refused;
	c->contended += is.contended - was.contended;
	*ret_ns = *ret_rate = 0;
	for (i = 0; i < n; i++) {
		*ret_ns += ns[i] / n;
		*ret_rate += 1 / ns[i];
		c->cycles += (double)task[i].cycles;
		c->transfers += (double)task[i].transfers;
	}
	return 0;
}

static int measure(struct bench *b)
{
	static struct cell blank;
	double ns, rate, one = 1;
	unsigned round, s;
	int k, r;

	for (round = 0; round <= b->rounds; round++) {
		for (k = 0; k < (b->veth ? _KIND_MAX : VETH_BARE); k++) {
			for (s = 0; s < b->nsteps; s++) {
				r = run(b, k, s, &ns, &rate);
				if (r) {
					fprintf(stderr, PROG ": %s on %u CPUs: %s\n", kinds[k].text,
						b->step[s], r == -EAGAIN
						? "frames were lost on the way, several times; the machine is "
						  "busy: stop what else runs here (/proc/loadavg), or --no-veth"
						: strerror(-r));
					return r;
				}
				if (!s)
					one = rate;
				if (!round) {	/* warms up */
					b->cell[k][s] = blank;
					continue;
				}
				b->cell[k][s].ns[round - 1] = ns;
				b->cell[k][s].times_one[round - 1] = rate / one;
			}
		}
	}
	return 0;
}

static int transfers(struct bench *b)
{
	unsigned rounds = b->rounds < PINGPONG_ROUNDS / 3 ? 3 * b->rounds : PINGPONG_ROUNDS;
	int r = 0;

	for (b->npairs = 0; !r && b->npairs + 1 < b->ncpu && b->npairs < PINGPONG_PAIRS; b->npairs += !r)
		r = pingpong(b->crew, 0, b->npairs + 1, rounds, &b->transfer[b->npairs]);
	return r;
}

/* The median over the pairs. */
static double transfer_ns(const struct bench *b)
{
	double v[PINGPONG_PAIRS];
	unsigned i;

	for (i = 0; i < b->npairs; i++)
		v[i] = b->transfer[i].median;
	return bench_spread_of(v, b->npairs).median;
}

static double median_ns(const struct bench *b, enum kind k, unsigned s)
{
	return bench_spread_of(b->cell[k][s].ns, b->rounds).median;
}

/*
 * What a packet takes by itself on n CPUs: as on one, times what the yardstick, which shares
 * nothing, got slower by (shared clock, siblings of a core, steal).
 */
static double alone_ns(const struct bench *b, enum kind k, unsigned n)
{
	enum kind y = kinds[k].yardstick;
	unsigned s = 0;

	while (s + 1 < b->nsteps && b->step[s] < n)
		s++;
	return median_ns(b, k, 0) * median_ns(b, y, s) / median_ns(b, y, 0);
}

static bool has_model(const struct bench *b, enum kind k)
{
	return b->nsteps > 1 && k != kinds[k].yardstick;
}

static double lines(const struct bench *b, enum kind k)
{
	return model_lines(alone_ns(b, k, 2), median_ns(b, k, 1), transfer_ns(b));
}

static double predicted_ns(const struct bench *b, enum kind k, unsigned n)
{
	return model_ns(alone_ns(b, k, n), transfer_ns(b), lines(b, k), n);
}

/* All CPUs together over one alone, in times of the yardstick's. */
static double of_yardstick(const struct bench *b, enum kind k, unsigned s)
{
	static double v[BENCH_MAX_ROUNDS];
	unsigned i;

	for (i = 0; i < b->rounds; i++)
		v[i] = b->cell[k][s].times_one[i] / b->cell[kinds[k].yardstick][s].times_one[i];
	return bench_spread_of(v, b->rounds).median;
}

static const char *peers_word(enum kind k)
{
	return k == EMPTY || k == VETH_BARE ? "none" : kinds[k].same ? "same" : "different";
}

static void row_json(const struct bench *b, enum kind k, unsigned s, bool first)
{
	const struct cell *c = &b->cell[k][s];
	struct bench_spread ns = bench_spread_of(c->ns, b->rounds);
	struct bench_spread times = bench_spread_of(c->times_one, b->rounds);

	printf("%s\n {\"what\": \"%s\", \"way\": \"%s\", \"peers\": \"%s\", \"refused\": %s, \"cpus\": %u, "
	       "\"ns_per_packet\": %.2f, \"times_one\": %.3f, \"of_yardstick\": %.3f, "
	       "\"disturbed\": %u,\n  ", first ? "" : ",", kinds[k].key, kinds[k].way, peers_word(k),
	       kinds[k].refused ? "true" : "false", b->step[s], ns.median, times.median,
	       of_yardstick(b, k, s), c->disturbed);
	if (kinds[k].limiter)
		printf("\"passed\": %llu, \"over_limit\": %llu, \"contended\": %llu, ", c->passed,
		       c->refused, c->contended);
	if (has_model(b, k) && s)
		printf("\"predicted_ns\": %.2f, \"predicted_from\": \"%s\", ",
		       predicted_ns(b, k, b->step[s]), s == 1 ? "itself" : "two");
	if (crew_counts_cycles(b->crew) && !is_veth(k))
		printf("\"cycles\": %.1f, ", c->cycles / (double)c->packets);
	if (crew_counts_transfers(b->crew) && !is_veth(k))
		printf("\"line_transfers\": %.3f, ", c->transfers / (double)c->packets);
	bench_spread_json(stdout, "spread", &ns);
	fputs(", ", stdout);
	bench_spread_json(stdout, "times_one_spread", &times);
	fputs("}", stdout);
}

static void report_json(const struct bench *b)
{
	unsigned s, n = 0, i;
	int k;

	fputs("{", stdout);
	bench_machine_json(stdout);
	printf(",\n \"rounds\": %u, \"packets\": %u, \"transfers\": [", b->rounds, b->packets);
	for (i = 0; i < b->npairs; i++) {
		printf("%s\n {\"from_cpu\": %d, \"to_cpu\": %d, ", i ? "," : "", b->cpu[0], b->cpu[i + 1]);
		bench_spread_json(stdout, "ns", &b->transfer[i]);
		fputs("}", stdout);
	}
	fputs("],\n \"rows\": [", stdout);
	for (k = 0; k < (b->veth ? _KIND_MAX : VETH_BARE); k++)
		for (s = 0; s < b->nsteps; s++)
			row_json(b, k, s, !n++);
	fputs("],\n \"predictions\": [", stdout);
	for (k = 0, n = 0; b->predict && k < (b->veth ? _KIND_MAX : VETH_BARE); k++)
		if (has_model(b, k))
			printf("%s\n {\"what\": \"%s\", \"way\": \"%s\", \"peers\": \"%s\", \"refused\": %s, "
			       "\"cpus\": %u, \"lines\": %.2f, \"ns_per_packet\": %.1f, "
			       "\"times_one\": %.2f}", n++ ? "," : "", kinds[k].key, kinds[k].way,
			       peers_word(k), kinds[k].refused ? "true" : "false", b->predict, lines(b, k),
			       predicted_ns(b, k, b->predict),
			       b->predict * median_ns(b, k, 0) / predicted_ns(b, k, b->predict));
	printf("],\n \"veth\": %s, \"counted\": {\"cycles\": %s, \"line_transfers\": ",
	       b->veth ? "true" : "false", crew_counts_cycles(b->crew) ? "true" : "false");
	printf(crew_counts_transfers(b->crew) ? "\"%s\"}}\n" : "false}}\n", crew_counts_transfers(b->crew));
}

static void row_text(const struct bench *b, enum kind k, unsigned s)
{
	const struct cell *c = &b->cell[k][s];
	struct bench_spread ns = bench_spread_of(c->ns, b->rounds);

	printf("%-31s %4u %8.1f %8.1f %8.1f %8.1f %8.1f %9.2f %9.2f", kinds[k].text, b->step[s], ns.median,
	       ns.min, ns.q1, ns.q3, ns.max, bench_spread_of(c->times_one, b->rounds).median,
	       of_yardstick(b, k, s));
	if (has_model(b, k) && s == 1)
		printf(" %9s", "(fitted)");
	else if (has_model(b, k) && s)
		printf(" %9.1f", predicted_ns(b, k, b->step[s]));
	else
		printf(" %9s", "");
	if (crew_counts_cycles(b->crew) && !is_veth(k))
		printf(" %8.0f", c->cycles / (double)c->packets);
	if (crew_counts_transfers(b->crew) && !is_veth(k))
		printf(" %8.2f", c->transfers / (double)c->packets);
	if (c->contended)
		printf("  %.2f %% lost in races", 100.0 * (double)c->contended / (double)c->packets);
	fputs("\n", stdout);
}

static void model_text(const struct bench *b)
{
	unsigned i;
	int k;

	if (!b->npairs) {
		puts("\nno model: it needs two CPUs");
		return;
	}
	puts("\na cache line's transfer, written by one CPU, then by the other, ns");
	for (i = 0; i < b->npairs; i++)
		printf("  CPU %3d and %3d: %.1f (quartiles %.1f and %.1f)\n", b->cpu[0], b->cpu[i + 1],
		       b->transfer[i].median, b->transfer[i].q1, b->transfer[i].q3);
	if (!b->predict)
		return;
	printf("\nmodel: by what two CPUs take, a packet fetches so many lines that others write; so %u CPUs "
	       "take\n\n%-31s %8s %14s %9s\n", b->predict, "", "lines", "ns a packet", "times one");
	for (k = 0; k < (b->veth ? _KIND_MAX : VETH_BARE); k++)
		if (has_model(b, k))
			printf("%-31s %8.2f %14.1f %9.2f\n", kinds[k].text, lines(b, k),
			       predicted_ns(b, k, b->predict),
			       b->predict * median_ns(b, k, 0) / predicted_ns(b, k, b->predict));
}

static void report_text(const struct bench *b)
{
	unsigned s;
	int k;

	bench_machine_text(stdout);
	printf("ns a packet on each of so many CPUs at once, %u rounds of %u packets on each.\n"
	       "times one: what they pass together over what one passes alone; of empty: that over the "
	       "empty\nprogram's (veth: the bare forward's) in the same round; model: from one and two CPUs\n",
	       b->rounds, b->packets);
	if (!crew_counts_cycles(b->crew) || !crew_counts_transfers(b->crew))
		printf("%s%s not counted: this machine has no counters for us (%s)\n",
		       crew_counts_cycles(b->crew) ? "" : "cycles and ", "line transfers",
		       crew_counts_not(b->crew));
	if (crew_counts_transfers(b->crew))
		printf("lines: %s\n", crew_counts_transfers(b->crew));
	printf("\n%-31s %4s %s %9s %9s %9s%s%s\n", "", "CPUs", bench_spread_heading, "times one",
	       "of empty", "model", crew_counts_cycles(b->crew) ? "   cycles" : "",
	       crew_counts_transfers(b->crew) ? "    lines" : "");
	for (k = 0; k < (b->veth ? _KIND_MAX : VETH_BARE); k++)
		for (s = 0; s < b->nsteps; s++)
			row_text(b, k, s);
	if (!b->veth)
		printf("no rows of veth: %s\n", b->veth_why);
	model_text(b);
}

/* A flood at a limit is one only if nearly all is refused, and a pass only if nothing is. */
static int check(const struct bench *b)
{
	const struct cell *c;
	unsigned s;
	int k, bad = 0;

	for (k = 0; k < (b->veth ? _KIND_MAX : VETH_BARE); k++) {
		for (s = 0; kinds[k].limiter && s < b->nsteps; s++) {
			c = &b->cell[k][s];
			if ((kinds[k].refused ? c->refused : c->passed) + c->contended >=
			    c->packets - c->packets / 50)
				continue;
			fprintf(stderr, PROG ": %s on %u CPUs: of %llu packets %llu passed, %llu were over a limit, "
					"%llu lost in races\n", kinds[k].text, b->step[s], c->packets,
				c->passed, c->refused, c->contended);
			bad = -EBADMSG;
		}
	}
	return bad;
}

static bool steady(const struct bench *b)
{
	unsigned disturbed = 0, all = 0, s;
	bool good = true;
	int k;

	for (k = 0; k < VETH_BARE; k++)
		for (s = 0; s < b->nsteps; s++, all += b->rounds)
			disturbed += b->cell[k][s].disturbed;
	for (s = 0; s < b->nsteps; s++)
		good = bench_is_steady(PROG, kinds[EMPTY].text, b->cell[EMPTY][s].ns, b->rounds,
				       bench_resolution_ns(b->packets), b->anyway) && good;
	if (disturbed * 4 <= all)
		return good;
	fprintf(stderr, PROG ": other work had the CPUs in %u of %u rounds, also when tried again: so many CPUs did "
			"not run at once\n", disturbed, all);
	if (b->anyway)
		return good;
	fputs("  Nothing is reported. Stop what else runs here (/proc/loadavg), or take fewer CPUs (--cpus); "
	      "--anyway reports all the same.\n", stderr);
	return false;
}

static int parse_args(struct bench *b, int argc, char **argv)
{
	static const struct option options[] = {
		{ "cpus", required_argument, NULL, 'c' }, { "rounds", required_argument, NULL, 'r' },
		{ "packets", required_argument, NULL, 'n' }, { "predict", required_argument, NULL, 'p' },
		{ "no-veth", no_argument, NULL, 'V' }, { "anyway", no_argument, NULL, 'a' },
		{ "json", no_argument, NULL, 'j' }, { "help", no_argument, NULL, 'h' }, {},
	};
	bool good = true;
	int c;

	b->rounds = 151;
	b->packets = 10000;
	b->predict = 16;
	b->veth = true;
	while (good && (c = getopt_long(argc, argv, "", options, NULL)) != -1) {
		switch (c) {
		case 'c': good = bench_number(PROG, "--cpus", optarg, 1, b->ncpu, &b->ncpu); break;
		case 'r': good = bench_number(PROG, "--rounds", optarg, 1, BENCH_MAX_ROUNDS, &b->rounds); break;
		case 'n': good = bench_number(PROG, "--packets", optarg, 1, 100000000, &b->packets); break;
		case 'p': good = bench_number(PROG, "--predict", optarg, 2, 4096, &b->predict); break;
		case 'V':
			b->veth = false;
			snprintf(b->veth_why, sizeof(b->veth_why), "--no-veth");
			break;
		case 'a': b->anyway = true; break;
		case 'j': b->json = true; break;
		case 'h': fputs(usage, stdout); exit(0);
		default: return -1;
		}
	}
	return good && optind == argc ? 0 : -1;
}

static void make_steps(struct bench *b)
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

static int load_floor(struct bench *b)
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
static int make_veth(struct bench *b)
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
	r = bench_attach("bare", bpf_program__fd(b->src[0]->progs.bare_forward), BENCH_TCX_INGRESS, 0);
	if (!r)
		r = bench_attach("bwl", host, BENCH_TCX_INGRESS, 0);
	return r ? r : bench_attach("bwl", rig_prog(&b->rig, "bwl_xdp_host"), BPF_XDP, XDP_FLAGS_DRV_MODE);
}

static int set_up(struct bench *b, struct bwl_err *e)
{
	struct rig_size size = { .peers = 2 * PEERS + 1, .extras = 1024, .windows = 16,
				 .programs = RIG_TC_HOST | RIG_XDP_HOST };
	struct bwl_policy *pol;
	size_t elf_size;
	const void *elf = bwlimit__elf_bytes(&elf_size);
	int net = b->veth ? bench_net_up() : 0, r;	/* before the threads, which live in it */

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
		snprintf(b->veth_why, sizeof(b->veth_why), "cannot make multi-queue veth pairs, or attach by tcx and "
			 "native XDP: %s", strerror(-net));
	}
	b->crew = crew_up(b->cpu, b->ncpu);
	return b->crew ? 0 : bwl_fail(e, errno, "cannot pin a thread to each CPU: %s", strerror(errno));
}

int main(int argc, char **argv)
{
	static struct bench b;
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
		r = transfers(&b);
		if (!r)
			r = measure(&b);
		if (!r)
			r = check(&b);
		if (r)
			bwl_fail(&e, -r, "cannot measure: %s", strerror(-r));
	}
	if (!r)
		good = steady(&b);
	if (!r && good)
		(b.json ? report_json : report_text)(&b);
	crew_down(b.crew);
	for (i = 0; i < b.ncpu; i++)
		e2e_source__destroy(b.src[i]);
	floor__destroy(b.floor);
	rig_down(&b.rig);
	if (r)
		rig_die(&e);
	return good ? 0 : BENCH_EXIT_UNSTEADY;
}
