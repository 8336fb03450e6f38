// SPDX-License-Identifier: GPL-2.0-or-later
/* What the numbers say (medians, the model's prediction), and whether they say anything. */
#include <errno.h>
#include <stdio.h>
#include "bench/opt.h"
#include "bench/scale/model.h"
#include "bench/scale/scale.h"

/* The median over the pairs. */
static double transfer_ns(const struct scale *b)
{
	double v[PINGPONG_PAIRS];
	unsigned i;

	for (i = 0; i < b->npairs; i++)
		v[i] = b->transfer[i].median;
	return bench_spread_of(v, b->npairs).median;
}

double scale_median_ns(const struct scale *b, enum kind k, unsigned s)
{
	return bench_spread_of(b->cell[k][s].ns, b->rounds).median;
}

/*
 * What a packet takes by itself on n CPUs: as on one, times what the yardstick, which shares
 * nothing, got slower by (shared clock, siblings of a core, steal).
 */
static double alone_ns(const struct scale *b, enum kind k, unsigned n)
{
	enum kind y = scale_kinds[k].yardstick;
	unsigned s = 0;

	while (s + 1 < b->nsteps && b->step[s] < n)
		s++;
	return scale_median_ns(b, k, 0) * scale_median_ns(b, y, s) / scale_median_ns(b, y, 0);
}

bool scale_has_model(const struct scale *b, enum kind k)
{
	return b->nsteps > 1 && k != scale_kinds[k].yardstick;
}

double scale_lines(const struct scale *b, enum kind k)
{
	return model_lines(alone_ns(b, k, 2), scale_median_ns(b, k, 1), transfer_ns(b));
}

double scale_predicted_ns(const struct scale *b, enum kind k, unsigned n)
{
	return model_ns(alone_ns(b, k, n), transfer_ns(b), scale_lines(b, k), n);
}

double scale_of_yardstick(const struct scale *b, enum kind k, unsigned s)
{
	static double v[BENCH_MAX_ROUNDS];
	unsigned i;

	for (i = 0; i < b->rounds; i++)
		v[i] = b->cell[k][s].times_one[i] /
		       b->cell[scale_kinds[k].yardstick][s].times_one[i];
	return bench_spread_of(v, b->rounds).median;
}

int scale_check(const struct scale *b)
{
	const struct cell *c;
	unsigned s;
	int k, bad = 0;

	for (k = 0; k < (b->veth ? _KIND_MAX : VETH_BARE); k++) {
		for (s = 0; scale_kinds[k].limiter && s < b->nsteps; s++) {
			c = &b->cell[k][s];
			if ((scale_kinds[k].refused ? c->refused : c->passed) + c->contended >=
			    c->packets - c->packets / 50)
				continue;
			fprintf(stderr,
				PROG
				": %s on %u CPUs: of %llu packets %llu passed, %llu were over a limit, "
				"%llu lost in races\n",
				scale_kinds[k].text, b->step[s], c->packets, c->passed, c->refused,
				c->contended);
			bad = -EBADMSG;
		}
	}
	return bad;
}

bool scale_steady(const struct scale *b)
{
	unsigned disturbed = 0, all = 0, s;
	bool good = true;
	int k;

	for (k = 0; k < VETH_BARE; k++)
		for (s = 0; s < b->nsteps; s++, all += b->rounds)
			disturbed += b->cell[k][s].disturbed;
	for (s = 0; s < b->nsteps; s++)
		good = bench_is_steady(PROG, scale_kinds[EMPTY].text, b->cell[EMPTY][s].ns,
				       b->rounds, bench_resolution_ns(b->packets), b->anyway) &&
		       good;
	if (disturbed * 4 <= all)
		return good;
	fprintf(stderr,
		PROG
		": other work had the CPUs in %u of %u rounds, also when tried again: so many CPUs did "
		"not run at once\n",
		disturbed, all);
	if (b->anyway)
		return good;
	fputs("  Nothing is reported. Stop what else runs here (/proc/loadavg), or take fewer CPUs (--cpus); "
	      "--anyway reports all the same.\n",
	      stderr);
	return false;
}
