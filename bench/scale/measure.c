// SPDX-License-Identifier: GPL-2.0-or-later
/* Packets from all workers at once, round after round; a disturbed round is repeated. */
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

/* The packets of one worker. */
struct stream {
	int prog;
	__u8 frame[RIG_FRAME_BYTES];
	unsigned packets;
	bool live;
	double ns; /* live frames: the thread's CPU time in all */
};

static int program(const struct scale *b, unsigned k, unsigned w)
{
	const struct kind_info *x = &scale_kinds[k];

	if (scale_is_veth(k))
		return bpf_program__fd(b->src[w]->progs.source);
	if (k == TEST_RUN)
		return bpf_program__fd(b->floor->progs.nothing);
	if (k == XDP_TEST_RUN)
		return bpf_program__fd(b->floor->progs.xdp_nothing);
	if (!x->reason)
		return bpf_program__fd(b->floor->progs.least);
	return rig_prog(scale_rig(b, k), x->way == TEST_RUN ? "bwl_tc_host" : "bwl_xdp_host");
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
	unsigned long long n[BWL_REASON_COLUMNS];
};

static void tally_of(const struct scale *b, unsigned k, struct tally *t)
{
	unsigned i;

	for (i = 0; scale_kinds[k].reason && i < _BWL_REASON_MAX; i++)
		t->n[i] = rig_frames(scale_rig(b, k), RIG_HOST_PORT, i);
}

static const char *device(unsigned k)
{
	return k == VETH                    ? "bare"
	       : k == XDP_VETH              ? "xbare"
	       : scale_kinds[k].way == VETH ? "bwl"
					    : "off";
}

/* One run on the first n workers. ret_ns: per packet, of each worker. */
static int run_once(struct scale *b, unsigned k, unsigned n, struct crew_task *task, double *ret_ns)
{
	static struct stream stream[BENCH_MAX_CPUS];
	double softirqd[BENCH_MAX_CPUS];
	unsigned who[BENCH_MAX_CPUS], i;
	const char *ends = scale_is_refused(k) ? device(k) : NULL;
	unsigned long long before = scale_is_veth(k) ? bench_arrived(ends) : 0, want;
	int r;

	for (i = 0; i < n; i++) {
		who[i] = i;
		stream[i] = (struct stream){ .prog = program(b, k, i),
					     .packets = b->packets,
					     .live = scale_is_veth(k) };
		rig_frame(stream[i].frame, 0, scale_dest(b, k, i));
		task[i] = (struct crew_task){ .work = send_stream,
					      .arg = &stream[i],
					      .urgent = true };
		if (!scale_is_veth(k))
			continue;
		b->src[i]->bss->first = RIG_DEST(0, scale_dest(b, k, i));
		b->src[i]->bss->out_ifindex = bench_ifindex('s', device(k));
		softirqd[i] = bench_softirqd_ns(&b->softirqd[i]);
	}
	r = crew_run(b->crew, who, task, n);
	want = (unsigned long long)n * b->packets;
	if (!r && scale_is_veth(k) &&
	    bench_wait_arrived(ends, before + want) - before < want - want / 1000)
		r = -EAGAIN;
	for (i = 0; !r && i < n; i++)
		ret_ns[i] = scale_is_veth(k) ? (stream[i].ns + bench_softirqd_ns(&b->softirqd[i]) -
						softirqd[i]) /
						       b->packets
					     : stream[i].ns;
	return r;
}

/* If others used one of the CPUs, the run was not on this number of CPUs: repeat it. */
static int run(struct scale *b, unsigned k, unsigned step, double *ret_ns, double *ret_rate)
{
	struct crew_task task[BENCH_MAX_CPUS];
	struct cell *c = &b->cell[k][step];
	struct tally was = {}, is = {};
	unsigned n = b->step[step], i, try;
	bool disturbed = true;
	double ns[BENCH_MAX_CPUS];
	int r = 0;

	for (try = 0; disturbed && try < TRIES; try++) {
		tally_of(b, k, &was);
		r = run_once(b, k, n, task, ns);
		if (r && r != -EAGAIN)
			return r;
		/*
		 * With live frames the sender waits for the kernel at the end: wall time tells
		 * nothing.
		 */
		disturbed = r || (!scale_is_veth(k) && crew_disturbed(task, n));
	}
	if (r)
		return r;
	tally_of(b, k, &is);
	c->disturbed += disturbed;
	c->packets += (unsigned long long)n * b->packets;
	for (i = 0; i < _BWL_REASON_MAX; i++)
		c->reason[i] += is.n[i] - was.n[i];
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
	unsigned k;
	int r;

	for (round = 0; round <= b->rounds; round++) {
		for (k = 0; k < KINDS; k++) {
			for (s = 0; b->wanted[k] && s < b->nsteps; s++) {
				r = run(b, k, s, &ns, &rate);
				if (r) {
					fprintf(stderr, PROG ": %s on %u CPUs: %s\n",
						scale_kinds[k].text, b->step[s],
						r == -EAGAIN
							? "frames were lost on the way, several times; the machine is busy: stop what else runs here (/proc/loadavg), or --no-veth"
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
