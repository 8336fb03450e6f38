// SPDX-License-Identifier: GPL-2.0-or-later
/* See stats.h. */
#include <stdlib.h>
#include <string.h>
#include "bench/stats.h"

#define PARTS 4
#define TENTH 1.1

const char bench_spread_heading[] = "   median      min       q1       q3      max";

static int by_value(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

/* Interpolates between the two nearest values. */
static double quantile(const double *sorted, unsigned n, double q)
{
	double at = q * (n - 1);
	unsigned i = (unsigned)at;

	if (i + 1 >= n)
		return sorted[n - 1];
	return sorted[i] + (at - i) * (sorted[i + 1] - sorted[i]);
}

struct bench_spread bench_spread_of(const double *v, unsigned n)
{
	struct bench_spread s = { 0 };
	double *sorted;

	if (!n)
		return s;
	sorted = malloc(n * sizeof(*v));
	if (!sorted)
		abort();
	memcpy(sorted, v, n * sizeof(*v));
	qsort(sorted, n, sizeof(*v), by_value);
	s = (struct bench_spread){
		.min = sorted[0],
		.q1 = quantile(sorted, n, 0.25),
		.median = quantile(sorted, n, 0.5),
		.q3 = quantile(sorted, n, 0.75),
		.max = sorted[n - 1],
	};
	free(sorted);
	return s;
}

void bench_spread_json(FILE *f, const char *name, const struct bench_spread *s)
{
	fprintf(f,
		"\"%s\": {\"median\": %.3f, \"min\": %.3f, \"q1\": %.3f, \"q3\": %.3f, \"max\": %.3f}",
		name, s->median, s->min, s->q1, s->q3, s->max);
}

void bench_spread_text(FILE *f, const char *name, const struct bench_spread *s, int decimals)
{
	fprintf(f, "%-34s %8.*f %8.*f %8.*f %8.*f %8.*f\n", name, decimals, s->median, decimals,
		s->min, decimals, s->q1, decimals, s->q3, decimals, s->max);
}

struct bench_drift bench_drift_of(const double *v, unsigned n)
{
	struct bench_drift d = { .parts = n / BENCH_PART < PARTS ? n / BENCH_PART : PARTS };
	unsigned i, from, to;
	double m;

	if (d.parts < 2)
		d.parts = 1;
	for (i = 0; n && i < d.parts; i++) {
		from = n * i / d.parts;
		to = n * (i + 1) / d.parts;
		m = bench_spread_of(v + from, to - from).median;
		if (!i || m < d.low)
			d.low = m;
		if (!i || m > d.high)
			d.high = m;
	}
	return d;
}

bool bench_drifted(const struct bench_drift *d, double resolution)
{
	return d->parts > 1 && d->high > d->low * TENTH + resolution;
}

enum bench_steady bench_steadiness(const char *prog, const char *what, const double *v, unsigned n,
				   double resolution, bool anyway)
{
	struct bench_drift d = bench_drift_of(v, n);

	if (d.parts < 2)
		fprintf(stderr,
			"%s: %u rounds are too few to tell whether this machine was steady: take %d or more\n",
			prog, n, 2 * BENCH_PART);
	if (!bench_drifted(&d, resolution))
		return d.parts < 2 ? BENCH_UNSURE : BENCH_STEADY;
	fprintf(stderr,
		"%s: not steady: %s moved from %.1f to %.1f ns within the run (medians of %u parts of it), more than a tenth\n",
		prog, what, d.low, d.high, d.parts);
	if (anyway)
		return BENCH_UNSURE;
	fprintf(stderr,
		"  Nothing is reported. Stop what else runs here (/proc/loadavg), fix the clock of the CPU (cpupower frequency-set -g performance), and run it again; --cpu N takes another CPU, --anyway reports nevertheless.\n");
	return BENCH_REFUSED;
}

static bool met(struct bench_goal g, double median)
{
	return g.least ? median >= g.value : median <= g.value;
}

void bench_goal_json(FILE *f, struct bench_goal g, double median, enum bench_steady s)
{
	if (!g.value)
		fputs("\"goal\": null, \"met\": null", f);
	else
		fprintf(f, "\"goal\": %.2f, \"met\": %s", g.value,
			s != BENCH_STEADY ? "null"
			: met(g, median)  ? "true"
					  : "false");
}

void bench_goal_text(FILE *f, struct bench_goal g, double median, enum bench_steady s)
{
	if (g.value)
		fprintf(f, "  %s %.2f %s", g.least ? ">=" : "<=", g.value,
			s != BENCH_STEADY ? "?"
			: met(g, median)  ? "met"
					  : "missed");
}
