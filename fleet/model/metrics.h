/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Metrics of a fleet for Prometheus. Labels are bounded: METRICS_* of each kind. */
#ifndef BWL_FLEET_MODEL_METRICS_H
#define BWL_FLEET_MODEL_METRICS_H

#include <stdio.h>
#include "answer.h"

#define METRICS_TRAYS                                                                              \
	10000 /* with metrics of their own; bwlimit_fleet_trays_not_shown has the rest */
#define METRICS_GROUPS 100 /* labels, and zones */

void model_metrics(FILE *f, const struct model_asked *a);

#endif
