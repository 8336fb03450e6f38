/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Trays with a bwlimitd of their own: what their pinned maps say. */
#ifndef BWL_BENCH_FLEET_TRAYS_H
#define BWL_BENCH_FLEET_TRAYS_H

#include <stdbool.h>
#include <stdint.h>

struct trays;
/* dirs: their pin folders, with commas between; taken apart in place. */
struct trays *trays_open(char *dirs);
unsigned trays_count(const struct trays *t);
/* Forgets what was seen. */
void trays_begin(struct trays *t);
/* On how many the policy that is in force has this peer, by now. */
unsigned trays_have(struct trays *t, const char *peer);
/* On how many this peer is revoked, by a look-up in bwl_gate_v1, since trays_begin(). */
unsigned trays_revoked(struct trays *t, const char *peer);
/* When that was seen of the last one. */
uint64_t trays_last_ns(const struct trays *t);

#endif
