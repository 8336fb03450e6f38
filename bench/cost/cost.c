// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * What one packet costs in the whole pipeline, as a ratio to the floor (floor.bpf.c), with one
 * hot peer and with many in turn. One pinned thread; everything is measured in one run, in many
 * short rounds that take turns; each ratio is of one round, so that what slows a whole round down
 * is in both of its sides; medians.
 */
#include <arpa/inet.h>
#include <bpf/bpf.h>
#include <errno.h>
#include <getopt.h>
#include <linux/pkt_cls.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "bench/cpu.h"
#include "bench/machine.h"
#include "bench/opt.h"
#include "bench/rig.h"
#include "bench/stats.h"
#include "bwlimit.skel.h"
#include "floor.skel.h"

#define PROG "bench-cost"
#define GOAL 2.5
#define OBJECT_MAX (4 << 20)

enum what { EMPTY, FLOOR, FULL, TURN_EMPTY, TURN_FLOOR, TURN_FULL, _WHAT_MAX };
static const char *const names[_WHAT_MAX] = {
	"empty program",        "floor, one peer", "pipeline, one peer",
	"turn + empty program", "turn + floor",    "turn + pipeline",
};
/* In turn means without what taking turns costs. */
enum figure {
	F_EMPTY,
	F_FLOOR_ONE,
	F_FULL_ONE,
	F_TURN,
	F_FLOOR_TURN,
	F_FULL_TURN,
	F_RATIO_ONE,
	F_RATIO_TURN,
	_FIGURE_MAX
};
static const struct {
	const char *key, *text;
	int decimals;
} figures[_FIGURE_MAX] = {
	{ "empty", "empty program", 1 },
	{ "floor_one", "floor, one peer", 1 },
	{ "pipeline_one", "pipeline, one peer", 1 },
	{ "turn", "taking turns", 1 },
	{ "floor_turn", "floor, in turn", 1 },
	{ "pipeline_turn", "pipeline, in turn", 1 },
	{ "ratio_one", "ratio to the floor, one peer", 2 },
	{ "ratio_turn", "ratio to the floor, in turn", 2 },
};

struct bench {
	struct rig rig;
	struct floor *floor;
	int fd[_WHAT_MAX];
	unsigned peers, rounds, packets, cpu;
	bool json, volume, anyway, cpu_chosen;
	const char *object;
	__u8 frame[RIG_FRAME_BYTES];
	double ns[_WHAT_MAX][BENCH_MAX_ROUNDS];
};

static const char usage[] =
	"usage: bench-cost [--peers N] [--rounds N] [--packets N] [--volume]\n"
	"                  [--object FILE] [--cpu N] [--anyway] [--json]\n"
	"  --peers N    destinations that are sent to in turn (default 100000)\n"
	"  --rounds N   medians of so many (default 41, at most 1001)\n"
	"  --packets N  of each kind and round (default 250000)\n"
	"  --volume     every peer also has a volume in a window\n"
	"  --object F   another build of bwlimit.bpf.o than the one this was built with\n"
	"  --cpu N      pinned to this CPU (default: the last)\n"
	"  --anyway     report also when the empty program moved by more than a tenth\n"
	"Needs root. Exit status: 0, 1 failed, 2 wrong options, 3 not steady (nothing is reported).\n"
	"Examples: bench-cost\n"
	"          bench-cost --peers 1000 --rounds 11 --json | jq .ratio_one\n"
	"          bench-cost --volume --object build/other/bpf/bwlimit.bpf.o\n";

static int load_floor(struct bench *b)
{
	__u32 i;
	__u64 tat = 0;
	int fd;

	b->floor = floor__open();
	if (!b->floor)
		return -errno;
	bpf_map__set_max_entries(b->floor->maps.floor_map, b->peers);
	b->floor->bss->next = 0;
	b->floor->data->count = b->peers;
	b->floor->bss->first = RIG_FIRST_DEST;
	if (floor__load(b->floor))
		return -errno;
	fd = bpf_map__fd(b->floor->maps.floor_map);
	for (i = 0; i < b->peers; i++) {
		__be32 key = htonl(RIG_FIRST_DEST + i);

		if (bpf_map_update_elem(fd, &key, &tat, BPF_ANY))
			return -errno;
	}
	return 0;
}

static int run(struct bench *b, enum what what, unsigned packets, double *ret_ns)
{
	static const int want[_WHAT_MAX] = {
		TC_ACT_SHOT, TC_ACT_REDIRECT, TC_ACT_REDIRECT,
		TC_ACT_SHOT, TC_ACT_REDIRECT, TC_ACT_REDIRECT,
	};
	LIBBPF_OPTS(bpf_test_run_opts, o, .data_in = b->frame, .data_size_in = RIG_FRAME_BYTES,
		    .repeat = (int)packets);
	int fd = b->fd[what], r;
	__u32 zero = 0;

	if (what >= TURN_EMPTY) {
		b->floor->bss->next = 0;
		if (bpf_map_update_elem(bpf_map__fd(b->floor->maps.under_test), &zero,
					&b->fd[what - TURN_EMPTY], BPF_ANY))
			return -errno;
		fd = bpf_program__fd(b->floor->progs.take_turn);
	}
	r = bench_test_run(fd, &o, ret_ns);
	if (r)
		return r;
	if ((int)o.retval != want[what]) {
		fprintf(stderr, "bench-cost: %s: verdict %d instead of %d\n", names[what],
			(int)o.retval, want[what]);
		return -EBADMSG;
	}
	return 0;
}

/* Every packet of the pipeline must have been passed: a refusal would be cheaper. */
static int all_passed(struct bench *b, unsigned long long want)
{
	static struct bwl_reason_count n[BWL_REASON_ROWS * BWL_REASON_COLUMNS];
	struct bwl_err e = {};
	unsigned r;

	if (bwl_reason_read(b->rig.pins, n, &e))
		rig_die(&e);
	for (r = 0; r < BWL_REASON_COLUMNS; r++)
		if (n[r].frames && r != BWL_R_PASS)
			fprintf(stderr, "bench-cost: %llu packets ended as %s\n",
				(unsigned long long)n[r].frames, bwl_reason_name(r));
	return n[BWL_R_PASS].frames == want ? 0 : -1;
}

/* Round by round, so that both sides of a ratio are of the same moment. */
static void figure(const struct bench *b, enum figure what, double *v)
{
	unsigned i;

	for (i = 0; i < b->rounds; i++) {
		double empty = b->ns[EMPTY][i], turn = b->ns[TURN_EMPTY][i] - empty;
		double floor_n = b->ns[TURN_FLOOR][i] - turn, full_n = b->ns[TURN_FULL][i] - turn;

		v[i] = what == F_EMPTY        ? empty
		       : what == F_FLOOR_ONE  ? b->ns[FLOOR][i]
		       : what == F_FULL_ONE   ? b->ns[FULL][i]
		       : what == F_TURN       ? turn
		       : what == F_FLOOR_TURN ? floor_n
		       : what == F_FULL_TURN  ? full_n
		       : what == F_RATIO_ONE  ? b->ns[FULL][i] / b->ns[FLOOR][i]
					      : full_n / floor_n;
	}
}

static void report_json(const struct bench *b, const struct bench_spread *s)
{
	int i;

	fputs("{", stdout);
	bench_machine_json(stdout);
	printf(",\n \"peers\": %u, \"rounds\": %u, \"packets\": %u, \"goal\": %.1f, "
	       "\"volume\": %s,\n \"ns\": {",
	       b->peers, b->rounds, b->packets, GOAL, b->volume ? "true" : "false");
	for (i = 0; i < F_RATIO_ONE; i++)
		printf("%s\"%s\": %.0f", i ? ", " : "", figures[i].key, s[i].median);
	printf("},\n \"ratio_one\": %.2f, \"ratio_turn\": %.2f,\n \"spread\": {",
	       s[F_RATIO_ONE].median, s[F_RATIO_TURN].median);
	for (i = 0; i < _FIGURE_MAX; i++) {
		fputs(i ? ",\n  " : "", stdout);
		bench_spread_json(stdout, figures[i].key, &s[i]);
	}
	fputs("}}\n", stdout);
}

static void report(const struct bench *b)
{
	struct bench_spread s[_FIGURE_MAX];
	static double v[BENCH_MAX_ROUNDS];
	int i;

	for (i = 0; i < _FIGURE_MAX; i++) {
		figure(b, i, v);
		s[i] = bench_spread_of(v, b->rounds);
	}
	if (b->json) {
		report_json(b, s);
		return;
	}
	bench_machine_text(stdout);
	printf("ns a packet, %u rounds of %u packets, one CPU; in turn: %u destinations\n\n%-34s %s\n",
	       b->rounds, b->packets, b->peers, "", bench_spread_heading);
	for (i = 0; i < _FIGURE_MAX; i++)
		bench_spread_text(stdout, figures[i].text, &s[i], figures[i].decimals);
	printf("\ngoal: %.1f times the floor\n", GOAL);
}

static int measure(struct bench *b)
{
	unsigned long long packets = 0;
	unsigned round;
	double ns = 0;
	int i, r;

	for (round = 0; round <= b->rounds; round++) {
		for (i = 0; i < _WHAT_MAX; i++) {
			r = run(b, i, b->packets, &ns);
			if (r)
				return r;
			if (i == FULL || i == TURN_FULL)
				packets += b->packets;
			if (round) /* the first warms up */
				b->ns[i][round - 1] = ns;
		}
	}
	return all_passed(b, packets) ? -EBADMSG : 0;
}

static int parse_args(struct bench *b, int argc, char **argv)
{
	static const struct option options[] = {
		{ "peers", required_argument, NULL, 'p' },
		{ "rounds", required_argument, NULL, 'r' },
		{ "packets", required_argument, NULL, 'n' },
		{ "object", required_argument, NULL, 'o' },
		{ "cpu", required_argument, NULL, 'c' },
		{ "anyway", no_argument, NULL, 'a' },
		{ "json", no_argument, NULL, 'j' },
		{ "volume", no_argument, NULL, 'v' },
		{ "help", no_argument, NULL, 'h' },
		{},
	};
	bool good = true;
	int c;

	b->peers = 100000;
	b->rounds = 41;
	b->packets = 250000;
	while (good && (c = getopt_long(argc, argv, "", options, NULL)) != -1) {
		switch (c) {
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
		case 'v':
			b->volume = true;
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

static const void *read_object(const char *path, size_t *size)
{
	FILE *f = path ? fopen(path, "re") : NULL;
	void *buf;

	if (!path)
		return bwlimit__elf_bytes(size);
	buf = malloc(OBJECT_MAX);
	*size = f && buf ? fread(buf, 1, OBJECT_MAX, f) : 0;
	if (f)
		fclose(f);
	return buf;
}

int main(int argc, char **argv)
{
	static struct bench b;
	struct rig_size size;
	struct bwl_policy *pol;
	struct bwl_err e = {};
	size_t elf_size;
	const void *elf;
	int r, cpu;

	if (parse_args(&b, argc, argv)) {
		fputs(usage, stderr);
		return 2;
	}
	if (bench_pin_one(PROG, b.cpu_chosen, b.cpu, &cpu))
		return 2;
	size = (struct rig_size){ .peers = b.peers + 1,
				  .extras = b.peers + 1024,
				  .windows = b.volume ? b.peers + 1 : 16,
				  .programs = RIG_TC_HOST };
	elf = read_object(b.object, &elf_size);
	if (rig_up(&b.rig, elf, elf_size, &size, &e))
		rig_die(&e);
	pol = rig_policy();
	rig_add_peers(pol, b.peers, b.volume ? RIG_CLASS | RIG_VOLUME : RIG_CLASS);
	r = bwl_publish(b.rig.pins, pol, NULL, NULL, &e);
	bwl_policy_free(pol);
	if (r) {
		rig_down(&b.rig);
		rig_die(&e);
	}
	r = load_floor(&b);
	rig_frame(b.frame, b.peers / 2);
	b.fd[EMPTY] = b.floor ? bpf_program__fd(b.floor->progs.nothing) : -1;
	b.fd[FLOOR] = b.floor ? bpf_program__fd(b.floor->progs.least) : -1;
	b.fd[FULL] = rig_prog(&b.rig, "bwl_tc_host");
	if (!r)
		r = measure(&b);
	floor__destroy(b.floor);
	rig_down(&b.rig);
	if (r) {
		fprintf(stderr, "bench-cost: %s\n", strerror(-r));
		return 1;
	}
	if (!bench_is_steady(PROG, names[EMPTY], b.ns[EMPTY], b.rounds,
			     bench_resolution_ns(b.packets), b.anyway))
		return BENCH_EXIT_UNSTEADY;
	report(&b);
	return 0;
}
