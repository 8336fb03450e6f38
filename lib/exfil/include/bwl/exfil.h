/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The least time in which `size` bytes could leave under a policy: every peer that is not
 * `contained` counts as an exit (its grant, class limits do not lower it: a class is the
 * host's claim, so the peer's own limit is what counts), each zone, port and node limit caps
 * the sum, bursts and volumes leave first. Volumes refill per window. Pure arithmetic.
 */
#ifndef BWL_EXFIL_H
#define BWL_EXFIL_H

#include <bwl/policy.h>

/*
 * How much could have left by these moments: eight of them each time that the time doubles, from a
 * second to 1 000 years. What trays with different policies let through is added up by them; the
 * time that comes out is less than the true one, by a tenth at most.
 */
#define BWL_EXFIL_POINTS 281
double bwl_exfil_moment_s(unsigned i);
/* The least time in which sums of such curves reach so many bytes; INFINITY: in no such time. */
double bwl_exfil_least_s(const double *curve, double bytes);

struct bwl_exfil_args {
	uint64_t size;      /* bytes of the model on disk */
	double compression; /* the thief shrinks it so many times first; >= 1, default 1 */
	uint64_t trays;     /* as many trays with the same policy; default 1 */
	double *curve;      /* NULL, or BWL_EXFIL_POINTS of one tray, which are filled */
	/* Flow records that leave (docs/export.md): a host chooses what is in them. */
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
