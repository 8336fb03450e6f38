/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Trays with their own bwlimitd, observed by their pinned maps. */
#ifndef BWL_BENCH_FLEET_TRAYS_H
#define BWL_BENCH_FLEET_TRAYS_H

#include <stdbool.h>
#include <stdint.h>

struct trays;
/* dirs: their pin directories, separated by commas; split in place. */
struct trays *trays_open(char *dirs);
unsigned trays_count(const struct trays *t);
/* Forgets what was seen so far. */
void trays_begin(struct trays *t);
/* The number of trays whose policy in force has this peer. */
unsigned trays_have(struct trays *t, const char *peer);
/*
 * The number of trays where this peer is revoked, by a lookup in bwl_gate_v1, since trays_begin().
 */
unsigned trays_revoked(struct trays *t, const char *peer);
/* When the last one of them was seen. */
uint64_t trays_last_ns(const struct trays *t);

#endif
