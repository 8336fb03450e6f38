/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What metrics.c tells of a DPU beside its policy and its counters: whether it is looked after. */
#ifndef BWL_EXPORT_STATE_H
#define BWL_EXPORT_STATE_H

#include <stdio.h>
#include <bwl/model.h>

/* Seconds since 1970 when CLOCK_BOOTTIME says so. */
double metrics_wall(uint64_t boot_ns);

/* With a policy in force or without. */
void metrics_machine(FILE *f, const struct bwl_view *v);
/* Where it is measured: how long packets are held up. */
int metrics_latency(FILE *f, const struct bwl_view *v, struct bwl_err *e);
/* With one: heartbeat, lease, clamp, volumes that peers share. */
void metrics_policy(FILE *f, const struct bwl_view *v);

#endif
