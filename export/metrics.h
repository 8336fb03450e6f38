/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Metrics of one DPU for Prometheus: metrics.c has the lists. */
#ifndef BWL_EXPORT_METRICS_H
#define BWL_EXPORT_METRICS_H

#include <stdio.h>
#include <bwl/model.h>

/*
 * Peers with metrics of their own: each has a dozen time series, and a policy may have a million.
 * bwlimit_peers_not_shown counts the rest.
 */
#define BWL_METRICS_PEERS 10000

/*
 * Writes everything as text to f. Rates are bytes a second. -ENOMEM, or the error of reading a map.
 */
int bwl_metrics(FILE *f, const struct bwl_view *v, uint32_t most_peers, struct bwl_err *e);

#endif
