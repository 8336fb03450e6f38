/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Latency, where --latency wants it measured (maps/latency.h, docs/latency.md). Whether the
 * programs do is in the maps; nobody's verdict hangs on it.
 */
#ifndef BWL_LOADER_LATENCY_H
#define BWL_LOADER_LATENCY_H

#include "load.h"

enum bwl_latency_want { BWL_LATENCY_AS_IT_IS, BWL_LATENCY_OFF, BWL_LATENCY_ON };

/* As it is: as the programs that are there do. */
bool bwl_latency_wanted(const char *dir, enum bwl_latency_want want);
/* All programs are in place: they do, or none does. */
int bwl_latency_settle(const struct bwl_load *l, struct bwl_err *e);

#endif
