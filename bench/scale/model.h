/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What N CPUs cost each other at cache lines that all of them write. A packet takes `alone` ns of
 * its own and fetches `lines` shared lines, one after another. A line that another CPU wrote last
 * (with N CPUs in (N - 1)/N of all cases) takes `transfer` ns to arrive, and meanwhile no other CPU
 * gets it: each line is a queue with one server, and the CPUs go round (a closed network of queues,
 * solved by mean value analysis). With many CPUs at one line each packet takes N transfers.
 */
#ifndef BWL_BENCH_MODEL_H
#define BWL_BENCH_MODEL_H

/*
 * ns per packet on each of these CPUs. lines may be a fraction: not every packet writes each line.
 */
double model_ns(double alone, double transfer, double lines, unsigned cpus);
/*
 * The lines that explain why two CPUs take `two` ns per packet instead of `alone`; 0 if they do
 * not.
 */
double model_lines(double alone, double two, double transfer);

#endif
