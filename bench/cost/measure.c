// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Runs round after round, each row in turn. A row's results are checked by the counters: every
 * packet was counted once, with the expected reason.
 */
#include <bpf/bpf.h>
#include <errno.h>
#include <string.h>
#include "bench/cost/cost.h"
#include "bench/cpu.h"
#include "bench/veth/veth.h"
#include "floor.skel.h"

#define LOOPBACK 1 /* ifindex: where the frames of a test run come from */
#define BURST 16   /* frames that a tight limit lets pass when it was idle */
#define NEARLY(n) ((n) - (n) / 50)

/* Frames of one port by reason, and those that XDP sent through the uplink. */
struct tally {
	unsigned long long n[BWL_REASON_COLUMNS], sent;
};

static unsigned port_of(enum cost_row row)
{
	if (cost_rows[row].gate)
		return RIG_UPLINK_PORT;
	return row == REFUSED_PORT ? RIG_TIGHT_PORT : RIG_HOST_PORT;
}

static void tally_of(const struct cost *b, enum cost_row row, struct tally *t)
{
	const struct rig *rig = &b->rig[cost_rows[row].stage];
	unsigned i, counts = port_of(row) + (cost_rows[row].gate ? BWL_MAX_PORTS : 0);

	if (!cost_rows[row].stage)
		return;
	for (i = 0; i < _BWL_REASON_MAX; i++)
		t->n[i] = rig_frames(rig, counts, i);
	t->sent = rig_frames(rig, BWL_MAX_PORTS + RIG_UPLINK_PORT, BWL_REASON_XDP);
}

/*
 * Checks that all packets were counted with the expected reason: every one in a row that passes;
 * nearly all in a flood that is refused, where the rest passed.
 */
static int judged(const struct cost *b, enum cost_row row, const struct tally *was)
{
	const struct cost_row_info *x = &cost_rows[row];
	unsigned long long all = 0, want = b->packets, least = want;
	struct tally is;
	unsigned i;
	bool good;

	if (!x->stage)
		return 0;
	tally_of(b, row, &is);
	for (i = 0; i < _BWL_REASON_MAX; i++)
		all += is.n[i] -= was->n[i];
	if (!bwl_reason_is_pass(x->reason))
		least = !x->partly && NEARLY(want) > BURST ? NEARLY(want) - BURST : 0;
	good = all == want && is.n[x->reason] >= least &&
	       is.n[x->reason] + (least < want ? is.n[BWL_R_PASS] : 0) == want;
	if (x->stage == OFFLOAD)
		good = good && is.sent - was->sent == is.n[BWL_R_PASS];
	if (good)
		return 0;
	fprintf(stderr, PROG ": %s: of %llu packets %llu were counted:", x->name, want, all);
	for (i = 0; i < _BWL_REASON_MAX; i++)
		if (is.n[i])
			fprintf(stderr, " %llu %s", is.n[i], bwl_reason_name(i));
	fprintf(stderr, "; expected %s\n", bwl_reason_name(x->reason));
	return -EBADMSG;
}

static int program(const struct cost *b, const struct cost_row_info *x)
{
	const struct bpf_program *p;

	if (x->stage)
		return rig_prog(&b->rig[x->stage], x->program);
	p = bpf_object__find_program_by_name(b->floor[x->dests]->obj, x->program);
	return p ? bpf_program__fd(p) : -ENOENT;
}

/* The program that takes turns, or tags, and then jumps to prog. */
static int before_it(const struct cost *b, const struct cost_row_info *x, int prog)
{
	struct floor *f = b->floor[x->dests];
	struct bpf_map *under_test = x->xdp ? f->maps.xdp_under_test : f->maps.under_test;
	__u32 zero = 0;

	f->bss->next = 0;
	if (bpf_map_update_elem(bpf_map__fd(under_test), &zero, &prog, BPF_ANY))
		return -errno;
	if (x->gate) {
		f->bss->mark = b->rig[x->stage].pins->ctl->tag;
		return bpf_program__fd(f->progs.tag);
	}
	return bpf_program__fd(x->xdp ? f->progs.xdp_turn : f->progs.turn);
}

/* Holds each program with which a test run at XDP begins, once. */
static int hold_xdp(const struct cost *b)
{
	const struct cost_row_info *x;
	int held[_ROW_MAX], n = 0, i, k, prog, r;

	for (i = 0; i < _ROW_MAX; i++) {
		x = &cost_rows[i];
		if (!b->wanted[i] || !x->xdp)
			continue;
		prog = x->turn ? bpf_program__fd(b->floor[x->dests]->progs.xdp_turn)
			       : program(b, x);
		for (k = 0; k < n && held[k] != prog;)
			k++;
		if (k < n)
			continue;
		r = n ? 0 : bench_own_net();
		if (!r)
			r = bench_hold_xdp(prog);
		if (r)
			return r;
		held[n++] = prog;
	}
	return 0;
}

static int run(struct cost *b, enum cost_row row, bool warm, double *ret_ns)
{
	const struct cost_row_info *x = &cost_rows[row];
	__u8 frame[RIG_FRAME_BYTES];
	/* so that the last gate sees an ingress */
	struct __sk_buff skb = { .ingress_ifindex = LOOPBACK };
	LIBBPF_OPTS(bpf_test_run_opts, o, .data_in = frame, .data_size_in = RIG_FRAME_BYTES,
		    .repeat = (int)b->packets);
	int prog = program(b, x), r;
	struct tally was = {};

	if ((x->turn || x->gate) && prog >= 0)
		prog = before_it(b, x, prog);
	if (prog < 0)
		return prog;
	if (x->gate) {
		o.ctx_in = &skb;
		o.ctx_size_in = sizeof(skb);
	}
	rig_frame(frame, cost_dests_kind(x->dests), cost_dest(b, row));
	tally_of(b, row, &was);
	if (x->stage)
		b->rig[x->stage].pins->ifport[LOOPBACK].v = port_of(row) + 1;
	r = bench_test_run(prog, &o, ret_ns);
	if (r)
		return r;
	/* A limit that has just come into force begins in debt. */
	if (warm && o.retval != x->verdict && (!x->stage || bwl_reason_is_pass(x->reason))) {
		fprintf(stderr, PROG ": %s: verdict %u instead of %u\n", x->name, o.retval,
			x->verdict);
		return -EBADMSG;
	}
	return warm ? judged(b, row, &was) : 0;
}

int cost_measure(struct cost *b)
{
	unsigned round;
	double ns = 0;
	int i, r = hold_xdp(b);

	if (r)
		fprintf(stderr,
			PROG ": cannot attach XDP to a veth, in a namespace of its own: %s\n",
			strerror(-r));
	for (round = 0; !r && round <= b->rounds; round++) { /* the first warms up */
		for (i = 0; i < _ROW_MAX; i++) {
			r = b->wanted[i] ? run(b, i, round, &ns) : 0;
			if (r) {
				fprintf(stderr, PROG ": %s: %s\n", cost_rows[i].name, strerror(-r));
				return r;
			}
			if (round)
				b->ns[i][round - 1] = ns;
		}
	}
	return r;
}
