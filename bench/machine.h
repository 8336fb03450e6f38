/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The machine of a measurement: CPU, mitigations, kernel, compiler of the BPF programs, other load.
 */
#ifndef BWL_BENCH_MACHINE_H
#define BWL_BENCH_MACHINE_H

#include <stdio.h>

void bench_machine_text(FILE *f); /* a few lines and an empty line */
void bench_machine_json(FILE *f); /* "machine": {…}; no comma */
/* Vendor and family of the first CPU, because events differ; 0 if the kernel names none. */
enum bench_vendor { BENCH_CPU_OTHER, BENCH_CPU_INTEL, BENCH_CPU_AMD };
enum bench_vendor bench_cpu_vendor(unsigned *ret_family);

#endif
