/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The time for one cache line to move from a CPU that wrote it to another that writes it. */
#ifndef BWL_BENCH_PINGPONG_H
#define BWL_BENCH_PINGPONG_H

#include "bench/scale/workers.h"
#include "bench/stats.h"

/* Between workers a and b: ns per transfer, one way, from `rounds` (at most BENCH_MAX_ROUNDS). */
int pingpong(struct crew *c, unsigned a, unsigned b, unsigned rounds, struct bench_spread *ret);

#endif
