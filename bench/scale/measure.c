// SPDX-License-Identifier: GPL-2.0-or-later
/* Packets by all workers at once, round after round; a round that others disturbed, again. */
#include <bpf/bpf.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include "bench/scale/pingpong.h"
#include "bench/scale/scale.h"
#include "e2e_source.skel.h"
#include "floor.skel.h"

#define TRIES 5
#define PINGPONG_ROUNDS 101

/* One packet stream of one worker. */
struct stream {
	int prog;
	__u8 frame[RIG_FRAME_BYTES];
	unsigned packets;
	bool live;
	double ns; /* live frames: CPU time of the thread, all together */
};

/* Whose destination worker w sends to. */
static unsigned dest(enum kind k, unsigned w)
{
	return (scale_kinds[k].refused ? PEERS : 0) + (scale_kinds[k].same ? 0 : w * APART);
}

static int program(const struct scale *b, enum kind k, unsigned w)
{
	if (scale_is_veth(k))
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

static unsigned long long frames_of(const struct scale *b, unsigned reason)
{
	int n = libbpf_num_possible_cpus(), i;
	__u32 key = RIG_HOST_PORT * BWL_REASON_COLUMNS + reason;
	struct bwl_reason_count each[n];
	unsigned long long sum = 0;

	if (bpf_map_lookup_elem(b->rig.pins->fd[BWL_PIN_reason], &key, each))
		return 0;
	for (i = 0; i < n; i++)
		sum += each[i].frames;
	return sum;
}

static struct tally tally_of(const struct scale *b)
{
	return (struct tally){ frames_of(b, BWL_R_PASS), frames_of(b, BWL_R_PEER_RATE),
			       frames_of(b, BWL_R_CONTENDED) };
}

/* Once, on the first n workers. ret_ns: a packet, of each worker. */
static int run_once(struct scale *b, enum kind k, unsigned n, struct crew_task *task,
		    double *ret_ns)
{
	static struct stream stream[BENCH_MAX_CPUS];
	double softirqd[BENCH_MAX_CPUS];
	unsigned who[BENCH_MAX_CPUS], i;
	unsigned long long swallowed = scale_is_veth(k) ? bench_swallowed() : 0, want;
	int r;

	for (i = 0; i < n; i++) {
		who[i] = i;
		stream[i] = (struct stream){ .prog = program(b, k, i),
					     .packets = b->packets,
					     .live = scale_is_veth(k) };
		rig_frame(stream[i].frame, dest(k, i));
		task[i] = (struct crew_task){ .work = send_stream,
					      .arg = &stream[i],
					      .urgent = true };
		if (!scale_is_veth(k))
			continue;
		b->src[i]->bss->first = RIG_FIRST_DEST + dest(k, i);
		b->src[i]->bss->out_ifindex = bench_ifindex('s', k == VETH_BARE ? "bare" : "bwl");
		softirqd[i] = bench_softirqd_ns(&b->softirqd[i]);
	}
	r = crew_run(b->crew, who, task, n);
	want = (unsigned long long)n * b->packets;
	if (!r && scale_is_veth(k) &&
	    bench_wait_swallowed(swallowed + want) - swallowed < want - want / 1000)
		r = -EAGAIN;
	for (i = 0; !r && i < n; i++)
		ret_ns[i] = scale_is_veth(k) ? (stream[i].ns + bench_softirqd_ns(&b->softirqd[i]) -
						softirqd[i]) /
						       b->packets
					     : stream[i].ns;
	return r;
}

/* A run during which others had one of the CPUs is no run of so many CPUs: again. */
static int run(struct scale *b, enum kind k, unsigned step, double *ret_ns, double *ret_rate)
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
		disturbed = r || (!scale_is_veth(k) && crew_disturbed(task, n));
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

int scale_measure(struct scale *b)
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
					fprintf(stderr, PROG ": %s on %u CPUs: %s\n",
						scale_kinds[k].text, b->step[s],
						r == -EAGAIN
							? "frames were lost on the way, several times; the machine is "
							  "busy: stop what else runs here (/proc/loadavg), or --no-veth"
							: strerror(-r));
					return r;
				}
				if (!s)
					one = rate;
				if (!round) { /* warms up */
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

int scale_transfers(struct scale *b)
{
	unsigned rounds = b->rounds < PINGPONG_ROUNDS / 3 ? 3 * b->rounds : PINGPONG_ROUNDS;
	int r = 0;

	for (b->npairs = 0; !r && b->npairs + 1 < b->ncpu && b->npairs < PINGPONG_PAIRS;
	     b->npairs += !r)
		r = pingpong(b->crew, 0, b->npairs + 1, rounds, &b->transfer[b->npairs]);
	return r;
}
