/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What N CPUs cost each other at lines that all of them write. A packet takes `alone` ns of its
 * own and has `lines` shared lines to fetch, one after another. A line that another CPU wrote last
 * (of N CPUs in (N - 1)/N of all cases) takes `transfer` ns to come, and while it is on its way
 * nobody else gets it: each line is a queue with one server, the CPUs go round (a closed network
 * of queues, solved by mean value analysis). Many CPUs at one line: N times a transfer each.
 */
#ifndef BWL_BENCH_MODEL_H
#define BWL_BENCH_MODEL_H

/* ns a packet on each of so many CPUs. lines may be a fraction: not every packet writes it. */
double model_ns(double alone, double transfer, double lines, unsigned cpus);
/* The lines by which two CPUs take `two` ns a packet instead of `alone`; 0 where they do not. */
double model_lines(double alone, double two, double transfer);

#endif
