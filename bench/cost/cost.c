// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * What one packet costs in the whole pipeline, as a ratio to the floor (floor.bpf.c), with one
 * hot peer and with many in turn. Everything is measured in one run, interleaved; medians.
 */
#include <arpa/inet.h>
#include <bpf/bpf.h>
#include <errno.h>
#include <getopt.h>
#include <linux/pkt_cls.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "bench/rig.h"
#include "bwlimit.skel.h"
#include "floor.skel.h"

#define MAX_ROUNDS 101
#define GOAL 2.5
#define OBJECT_MAX (4 << 20)

enum what { EMPTY, FLOOR, FULL, TURN_EMPTY, TURN_FLOOR, TURN_FULL, _WHAT_MAX };
static const char *const names[_WHAT_MAX] = {
	"empty program", "floor, one peer", "pipeline, one peer",
	"turn + empty program", "turn + floor", "turn + pipeline",
};

struct bench {
	struct rig rig;
	struct floor *floor;
	int fd[_WHAT_MAX];
	unsigned peers, rounds, packets;
	bool json, volume;
	const char *object;
	__u8 frame[RIG_FRAME_BYTES];
	double ns[_WHAT_MAX][MAX_ROUNDS];
};

static const char usage[] =
	"usage: bench-cost [--peers N] [--rounds N] [--packets N] [--volume]\n"
	"                  [--object FILE] [--json]\n"
	"  --peers N    destinations that are sent to in turn (default 100000)\n"
	"  --rounds N   medians of so many (default 11, at most 101)\n"
	"  --packets N  of each kind and round (default 1000000)\n"
	"  --volume     every peer also has a volume in a window\n"
	"  --object F   another build of bwlimit.bpf.o than the one this was built with\n"
	"Needs root. Example: bench-cost --rounds 5 --json\n";

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
	int fd = b->fd[what];
	__u32 zero = 0;

	if (what >= TURN_EMPTY) {
		b->floor->bss->next = 0;
		if (bpf_map_update_elem(bpf_map__fd(b->floor->maps.under_test), &zero,
					&b->fd[what - TURN_EMPTY], BPF_ANY))
			return -errno;
		fd = bpf_program__fd(b->floor->progs.take_turn);
	}
	if (bpf_prog_test_run_opts(fd, &o))
		return -errno;
	if ((int)o.retval != want[what]) {
		fprintf(stderr, "bench-cost: %s: verdict %d instead of %d\n", names[what],
			(int)o.retval, want[what]);
		return -EBADMSG;
	}
	*ret_ns = o.duration;
	return 0;
}

/* Every packet of the pipeline must have been passed: a refusal would be cheaper. */
static int all_passed(struct bench *b, unsigned long long want)
{
	static struct bwl_reason_count n[BWL_REASON_ROWS * BWL_REASON_SLOTS];
	struct bwl_err e = {};
	unsigned r;

	if (bwl_reason_read(b->rig.pins, n, &e))
		rig_die(&e);
	for (r = 0; r < BWL_REASON_SLOTS; r++)
		if (n[r].frames && r != BWL_R_PASS)
			fprintf(stderr, "bench-cost: %llu packets ended as %s\n",
				(unsigned long long)n[r].frames, bwl_reason_name(r));
	return n[BWL_R_PASS].frames == want ? 0 : -1;
}

static void report(struct bench *b)
{
	double m[_WHAT_MAX], floor_n, full_n, hot, turn;
	int i;

	for (i = 0; i < _WHAT_MAX; i++)
		m[i] = rig_median(b->ns[i], b->rounds);
	floor_n = m[TURN_FLOOR] - m[TURN_EMPTY] + m[EMPTY];
	full_n = m[TURN_FULL] - m[TURN_EMPTY] + m[EMPTY];
	hot = m[FULL] / m[FLOOR];
	turn = full_n / floor_n;
	if (b->json) {
		printf("{\"peers\": %u, \"rounds\": %u, \"packets\": %u, \"goal\": %.1f,\n"
		       " \"ns\": {\"empty\": %.0f, \"floor_one\": %.0f, \"pipeline_one\": %.0f, "
		       "\"floor_turn\": %.0f, \"pipeline_turn\": %.0f, \"turn\": %.0f},\n"
		       " \"ratio_one\": %.2f, \"ratio_turn\": %.2f}\n",
		       b->peers, b->rounds, b->packets, GOAL, m[EMPTY], m[FLOOR], m[FULL], floor_n,
		       full_n, m[TURN_EMPTY] - m[EMPTY], hot, turn);
		return;
	}
	printf("ns a packet, medians of %u x %u packets, one CPU\n\n"
	       "%-22s %8s %8s %10s %7s  goal\n"
	       "%-22s %8.0f %8.0f %10.0f %6.2fx  %.1fx\n"
	       "%-15u %6s %8.0f %8.0f %10.0f %6.2fx  %.1fx\n",
	       b->rounds, b->packets, "destinations", "empty", "floor", "pipeline", "ratio", "one",
	       m[EMPTY], m[FLOOR], m[FULL], hot, GOAL, b->peers, "in turn", m[EMPTY], floor_n, full_n,
	       turn, GOAL);
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
			if (round)	/* the first warms up */
				b->ns[i][round - 1] = ns;
		}
	}
	return all_passed(b, packets) ? -EBADMSG : 0;
}

static int parse_args(struct bench *b, int argc, char **argv)
{
	static const struct option options[] = {
		{ "peers", required_argument, NULL, 'p' }, { "rounds", required_argument, NULL, 'r' },
		{ "packets", required_argument, NULL, 'n' }, { "object", required_argument, NULL, 'o' },
		{ "json", no_argument, NULL, 'j' },
		{ "volume", no_argument, NULL, 'v' }, { "help", no_argument, NULL, 'h' }, {},
	};
	int c;

	b->peers = 100000;
	b->rounds = 11;
	b->packets = 1000000;
	while ((c = getopt_long(argc, argv, "", options, NULL)) != -1) {
		switch (c) {
		case 'p': b->peers = (unsigned)strtoul(optarg, NULL, 10); break;
		case 'r': b->rounds = (unsigned)strtoul(optarg, NULL, 10); break;
		case 'n': b->packets = (unsigned)strtoul(optarg, NULL, 10); break;
		case 'o': b->object = optarg; break;
		case 'v': b->volume = true; break;
		case 'j': b->json = true; break;
		case 'h': fputs(usage, stdout); exit(0);
		default: return -1;
		}
	}
	return optind == argc && b->peers && b->peers <= 10000000 && b->rounds &&
	       b->rounds <= MAX_ROUNDS && b->packets && b->packets <= 100000000 ? 0 : -1;
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
	int r;

	if (parse_args(&b, argc, argv)) {
		fputs(usage, stderr);
		return 2;
	}
	size = (struct rig_size){ .peers = b.peers + 1, .extras = b.peers + 1024, .windows = b.volume ? b.peers + 1 : 16 };
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
	if (r)
		fprintf(stderr, "bench-cost: %s\n", strerror(-r));
	else
		report(&b);
	floor__destroy(b.floor);
	rig_down(&b.rig);
	return r ? 1 : 0;
}
