/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Medians with their spread, and whether a run was steady enough to be reliable. */
#ifndef BWL_BENCH_STATS_H
#define BWL_BENCH_STATS_H

#include <stdbool.h>
#include <stdio.h>

#define BENCH_MAX_ROUNDS 1001
#define BENCH_EXIT_UNSTEADY 3 /* exit status: measured, but not reliable */

struct bench_spread {
	double min, q1, median, q3, max;
};

struct bench_spread bench_spread_of(const double *v, unsigned n);
/* "name": {"median": …, "min": …, "q1": …, "q3": …, "max": …}; no comma. */
void bench_spread_json(FILE *f, const char *name, const struct bench_spread *s);
/* One line of a table: median, min, quartiles, max; the heading matches. */
extern const char bench_spread_heading[];
void bench_spread_text(FILE *f, const char *name, const struct bench_spread *s, int decimals);

/*
 * A run is cut into up to four parts of at least BENCH_PART rounds each, and the parts' medians are
 * compared: single disturbed rounds do not show, but a machine that became slower does. With fewer
 * than two parts it cannot be judged: low and high are equal.
 */
#define BENCH_PART 5
struct bench_drift {
	unsigned parts;
	double low, high; /* the lowest and the highest median of a part */
};

struct bench_drift bench_drift_of(const double *v, unsigned n);
/* The median moved by more than a tenth, and by more than the resolution of the clock. */
bool bench_drifted(const struct bench_drift *d, double resolution);
/*
 * Judges the plain figure of a run, and prints what is wrong with it. UNSURE: too few rounds to
 * tell, or it moved and is reported nevertheless (anyway); then no goal is called met or missed.
 * REFUSED: nothing may be reported.
 */
enum bench_steady { BENCH_STEADY, BENCH_UNSURE, BENCH_REFUSED };
enum bench_steady bench_steadiness(const char *prog, const char *what, const double *v, unsigned n,
				   double resolution, bool anyway);

/* Bound for a median: at most, or with `least` at least. 0: no goal. */
struct bench_goal {
	double value;
	bool least;
};

/* "goal": …, "met": …; null if there is no goal or the run was not steady. No comma. */
void bench_goal_json(FILE *f, struct bench_goal g, double median, enum bench_steady s);
/* "<= 1.20 met", "missed" or "?"; nothing if there is no goal. */
void bench_goal_text(FILE *f, struct bench_goal g, double median, enum bench_steady s);

#endif
