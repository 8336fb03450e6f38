// SPDX-License-Identifier: GPL-2.0-or-later
/* Computes results (medians, the model's prediction), and checks whether they are valid. */
#include <errno.h>
#include <stdio.h>
#include "bench/opt.h"
#include "bench/scale/model.h"
#include "bench/scale/scale.h"

#define BURST 16 /* frames that an idle tight limit lets pass */

/* The median over the pairs of CPUs. */
static double transfer_ns(const struct scale *b)
{
	double v[PINGPONG_PAIRS];
	unsigned i;

	for (i = 0; i < b->npairs; i++)
		v[i] = b->transfer[i].median;
	return bench_spread_of(v, b->npairs).median;
}

double scale_median_ns(const struct scale *b, unsigned k, unsigned s)
{
	return bench_spread_of(b->cell[k][s].ns, b->rounds).median;
}

/*
 * A packet's own time on n CPUs: its time on one, times the slowdown of the yardstick, which shares
 * nothing (shared clock, siblings of a core, steal).
 */
static double alone_ns(const struct scale *b, unsigned k, unsigned n)
{
	unsigned y = scale_kinds[k].way, s = 0;

	while (s + 1 < b->nsteps && b->step[s] < n)
		s++;
	return scale_median_ns(b, k, 0) * scale_median_ns(b, y, s) / scale_median_ns(b, y, 0);
}

bool scale_has_model(const struct scale *b, unsigned k)
{
	return b->nsteps > 1 && b->wanted[k] && k >= YARDSTICKS;
}

double scale_lines(const struct scale *b, unsigned k)
{
	return model_lines(alone_ns(b, k, 2), scale_median_ns(b, k, 1), transfer_ns(b));
}

double scale_predicted_ns(const struct scale *b, unsigned k, unsigned n)
{
	return model_ns(alone_ns(b, k, n), transfer_ns(b), scale_lines(b, k), n);
}

double scale_of_yardstick(const struct scale *b, unsigned k, unsigned s)
{
	static double v[BENCH_MAX_ROUNDS];
	unsigned i;

	for (i = 0; i < b->rounds; i++)
		v[i] = b->cell[k][s].times_one[i] / b->cell[scale_kinds[k].way][s].times_one[i];
	return bench_spread_of(v, b->rounds).median;
}

double scale_judged(const struct scale *b, unsigned k, unsigned s)
{
	const struct cell *c = &b->cell[k][s];

	return c->reason[BWL_R_CONTENDED] * 1000 > c->packets ? 0 : scale_of_yardstick(b, k, s);
}

/* Some live frames may be lost on the way: only those received are judged. */
static bool is_as_it_says(const struct scale *b, unsigned k, const struct cell *c)
{
	unsigned long long all = 0, others, runs = c->packets / b->packets;
	unsigned reason = scale_kinds[k].reason, i;

	for (i = 0; i < _BWL_REASON_MAX; i++)
		all += c->reason[i];
	if (all > c->packets || all < c->packets - (scale_is_veth(k) ? c->packets / 1000 : 0))
		return false;
	others = all - c->reason[reason] - c->reason[BWL_R_CONTENDED];
	/* the rest is what a tight limit lets pass once after it was idle */
	if (reason != BWL_R_PASS) {
		return others == c->reason[BWL_R_PASS] + c->reason[BWL_R_PASS_MARKED] &&
		       others <= c->packets / 50 + BURST * runs;
	}
	/*
	 * A CPU that the machine's host stops between its look at the clock and the charge finds
	 * the limit of its peer or zone ahead of its time, and is refused (seen on 16 CPUs: one
	 * packet of 9 760 000).
	 */
	return others == c->reason[BWL_R_PEER_RATE] + c->reason[BWL_R_ZONE_RATE] &&
	       others <= c->packets / 1000000 + (c->packets >= 1000000);
}

int scale_check(const struct scale *b)
{
	const struct cell *c;
	unsigned s, k, i;
	int bad = 0;

	for (k = 0; k < KINDS; k++) {
		for (s = 0; b->wanted[k] && scale_kinds[k].reason && s < b->nsteps; s++) {
			c = &b->cell[k][s];
			if (is_as_it_says(b, k, c))
				continue;
			fprintf(stderr, PROG ": %s on %u CPUs: %llu packets, counted as:",
				scale_kinds[k].name, b->step[s], c->packets);
			for (i = 0; i < _BWL_REASON_MAX; i++)
				if (c->reason[i])
					fprintf(stderr, " %llu %s", c->reason[i],
						bwl_reason_name(i));
			fprintf(stderr, "; expected %s\n", bwl_reason_name(scale_kinds[k].reason));
			bad = -EBADMSG;
		}
	}
	return bad;
}

enum bench_steady scale_steady(const struct scale *b)
{
	enum bench_steady steady = BENCH_STEADY, is;
	unsigned disturbed = 0, all = 0, s, k;

	for (k = 0; k < KINDS; k++)
		for (s = 0; b->wanted[k] && !scale_is_veth(k) && s < b->nsteps;
		     s++, all += b->rounds)
			disturbed += b->cell[k][s].disturbed;
	for (s = 0; s < b->nsteps; s++) {
		is = bench_steadiness(PROG, scale_kinds[TEST_RUN].text, b->cell[TEST_RUN][s].ns,
				      b->rounds, bench_resolution_ns(b->packets), b->anyway);
		steady = is > steady ? is : steady;
	}
	if (disturbed * 4 <= all)
		return steady;
	fprintf(stderr,
		PROG
		": other work had the CPUs in %u of %u rounds, also when tried again: they did not all run at once\n",
		disturbed, all);
	if (b->anyway)
		return BENCH_UNSURE;
	fputs("  Nothing is reported. Stop what else runs here (/proc/loadavg), or take fewer CPUs (--cpus); --anyway reports nevertheless.\n",
	      stderr);
	return BENCH_REFUSED;
}
