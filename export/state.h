/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Metrics of a DPU by what they are about; metrics.c has those of the node and its ports. */
#ifndef BWL_EXPORT_STATE_H
#define BWL_EXPORT_STATE_H

#include <stdio.h>
#include <bwl/model.h>

/* Wall-clock seconds since 1970 at that CLOCK_BOOTTIME. */
double metrics_wall(uint64_t boot_ns);

/* With or without a policy in force. */
void metrics_machine(FILE *f, const struct bwl_view *v);
/* If it is measured: how long packets are delayed. */
int metrics_latency(FILE *f, const struct bwl_view *v, struct bwl_err *e);
/* With a policy: heartbeat, lease, clamp, volumes that peers share. */
void metrics_policy(FILE *f, const struct bwl_view *v);
/* With a policy: each of its first `most` peers, and the host ports with a limit to one of them. */
int metrics_peers(FILE *f, const struct bwl_view *v, uint32_t most, struct bwl_err *e);

#endif
