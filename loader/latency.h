/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Latency, if --latency requests it (maps/latency.h, docs/latency.md). The maps record whether the
 * programs measure; no verdict depends on it.
 */
#ifndef BWL_LOADER_LATENCY_H
#define BWL_LOADER_LATENCY_H

#include "load.h"

enum bwl_latency_want { BWL_LATENCY_AS_IT_IS, BWL_LATENCY_OFF, BWL_LATENCY_ON };

/* Unchanged: as the attached programs do. */
bool bwl_latency_wanted(const char *dir, enum bwl_latency_want want);
/* All programs are in place: records whether they measure; all do, or none. */
int bwl_latency_settle(const struct bwl_load *l, struct bwl_err *e);

#endif
