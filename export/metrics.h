/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What bwlimit tells Prometheus of one DPU: metrics.c has the lists. */
#ifndef BWL_EXPORT_METRICS_H
#define BWL_EXPORT_METRICS_H

#include <stdio.h>
#include <bwl/model.h>

/*
 * Peers with metrics of their own: each is a dozen time series, and a policy may have a million.
 * What more there are is told by bwlimit_peers_not_shown.
 */
#define BWL_METRICS_PEERS 10000

/* All of it, as text, to f. Rates are bytes a second. -ENOMEM, or what reading a map failed with.
 */
int bwl_metrics(FILE *f, const struct bwl_view *v, uint32_t most_peers, struct bwl_err *e);

#endif
