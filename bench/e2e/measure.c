// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Sends live frames to each row in turn; each must arrive at the sink, and the limiter must refuse
 * none.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include "bench/e2e/e2e.h"
#include "bench/veth/veth.h"
#include "e2e_source.skel.h"

#define TRIES 8

static int run_once(struct e2e *b, enum e2e_row row, unsigned dests, unsigned packets,
		    double *ret_ns, unsigned long long *ret_lost)
{
	unsigned long long swallowed = bench_swallowed(), came;
	double softirqd = bench_softirqd_ns(&b->softirqd);
	int r;

	b->src->bss->out_ifindex = bench_ifindex('s', e2e_rows[row].dev);
	b->src->bss->next = b->next[row];
	b->src->data->count = dests;
	r = bench_live_frames(bpf_program__fd(b->src->progs.source), b->frame, RIG_FRAME_BYTES,
			      packets, ret_ns);
	if (r)
		return r;
	b->next[row] = b->src->bss->next;
	came = bench_wait_arrived(NULL, swallowed + packets) - swallowed;
	*ret_lost = came < packets ? packets - came : 0;
	*ret_ns = (*ret_ns + bench_softirqd_ns(&b->softirqd) - softirqd) / packets;
	return 0;
}

/*
 * A frame that is lost in the ring costs nothing, which would flatter its receiver. It happens if
 * the kernel leaves receiving to ksoftirqd because others want this CPU: try again. A frame that
 * was received but did not arrive was refused, which must not count as fast either.
 */
static int run(struct e2e *b, enum e2e_row row, unsigned dests, unsigned packets, double *ret_ns)
{
	unsigned long long received, swallowed, lost = 0;
	int i, r;

	for (i = 0; i < TRIES; i++) {
		swallowed = bench_swallowed();
		received = bench_received(e2e_rows[row].dev);
		r = run_once(b, row, dests, packets, ret_ns, &lost);
		if (r)
			return r;
		if (lost <= packets / 1000)
			return 0;
		received = bench_received(e2e_rows[row].dev) - received;
		swallowed = bench_swallowed() - swallowed; /* read last: no frame is under way */
		if (received > swallowed + packets / 1000) {
			fprintf(stderr,
				PROG ": %s: %llu of %llu packets that arrived were not forwarded\n",
				e2e_rows[row].name, received - swallowed, received);
			return -EBADMSG;
		}
	}
	fprintf(stderr,
		PROG
		": %s: %llu of %u packets were lost before it, %d times; the machine is busy: stop what else runs here (/proc/loadavg) and try again\n",
		e2e_rows[row].name, lost, packets, TRIES);
	return -EBUSY;
}

/* A refused packet costs less, and there may be too few of them to be missed at the sink. */
static int all_passed(const struct rig *rig)
{
	unsigned long long n;
	unsigned i;
	int r = 0;

	for (i = 0; rig->obj && i < _BWL_REASON_MAX; i++) {
		n = i == BWL_R_PASS ? 0 : rig_frames(rig, RIG_HOST_PORT, i);
		if (!n)
			continue;
		fprintf(stderr, PROG ": bwlimit refused %llu frames: %s\n", n, bwl_reason_name(i));
		r = -EBADMSG;
	}
	return r;
}

int e2e_measure(struct e2e *b, struct e2e_result *res)
{
	/* The first round warms up, and puts every destination into nftables' sets. */
	unsigned first = b->packets > res->dests ? b->packets : res->dests, round;
	double v = 0;
	int i, r;

	memset(b->next, 0, sizeof(b->next));
	for (round = 0; round <= b->rounds; round++) {
		for (i = 0; i < _ROW_MAX; i++) {
			r = b->wanted[i] ? run(b, i, res->dests, round ? b->packets : first, &v)
					 : 0;
			if (r)
				return r;
			if (round)
				res->ns[i][round - 1] = v;
		}
	}
	r = all_passed(&b->rig);
	return r ? r : all_passed(&b->offload);
}
