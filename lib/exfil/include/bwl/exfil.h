/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The least time in which `size` bytes could leave under a policy. Every peer that is not
 * `contained` counts as an exit, with its grant: class limits do not lower it, because a class is
 * only the host's claim. Each zone, port and node limit caps the sum; bursts and volumes leave
 * first. Volumes refill per window. Pure arithmetic.
 */
#ifndef BWL_EXFIL_H
#define BWL_EXFIL_H

#include <bwl/policy.h>

/*
 * How much could have left by these moments: eight per doubling of the time, from a second to 1 000
 * years. Trays with different policies are added up by them; the resulting time is less than the
 * true one, by a tenth at most.
 */
#define BWL_EXFIL_POINTS 281
double bwl_exfil_moment_s(unsigned i);
/* The least time in which sums of such curves reach that many bytes; INFINITY: never. */
double bwl_exfil_least_s(const double *curve, double bytes);

struct bwl_exfil_args {
	uint64_t size;      /* bytes of the model on disk */
	double compression; /* the factor by which the thief compresses it first; >= 1, default 1 */
	uint64_t trays;     /* number of trays with the same policy; default 1 */
	double *curve;      /* NULL, or room for BWL_EXFIL_POINTS of one tray, which are filled */
	/* Flow records that leave (docs/export.md): a host can choose their content. */
	struct bwl_lim records;
};

struct bwl_exfil_result {
	double seconds;   /* INFINITY: never, under this policy */
	double rate_bps;  /* long-run rate of all exits of one tray together, bit/s */
	double at_once;   /* bytes of one tray that can leave in the first instant: bursts */
	char binding[96]; /* which limit binds: "zone external: volume 20gb per 1d" */
	size_t exits;     /* peers counted */
	size_t contained; /* peers not counted */
	size_t unlimited; /* exits with no limit of their own (monitor, no rate) */
};

int bwl_exfil(const struct bwl_policy *p, const struct bwl_exfil_args *a,
	      struct bwl_exfil_result *ret, struct bwl_err *e);

#endif
