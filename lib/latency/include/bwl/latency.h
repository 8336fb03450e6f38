/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Latency out of the maps (maps/latency.h): whose it is measured by name, and what came out, of all
 * CPUs together.
 */
#ifndef BWL_LATENCY_READ_H
#define BWL_LATENCY_READ_H

#include <jansson.h>
#include <bwl/pins.h>
#include "maps/latency.h"

/* Do the programs measure? bwlimit-load says so, when all of them do. */
bool bwl_lat_is_on(const struct bwl_pins *p);
int bwl_lat_set_on(const struct bwl_pins *p, bool on, struct bwl_err *e);

struct bwl_lat_peer {
	uint32_t id; /* 0: all peers that have no row of their own */
	char name[BWL_NAME_LEN];
	struct bwl_latency sum;
};
struct bwl_lat_peers {
	size_t n;
	struct bwl_lat_peer peer[BWL_LAT_ROWS]; /* by name; the one of all others is the first */
};
/* Rows whose peer is gone, or whose id another peer has now, are added to all others. */
int bwl_lat_read(const struct bwl_pins *p, struct bwl_lat_peers *ret, struct bwl_err *e);

/* Of a peer that is there; the lock is held. Where it is measured already: nothing. */
int bwl_lat_begin(struct bwl_pins *p, uint32_t id, struct bwl_err *e);
/* id 0: nobody by name any more. */
int bwl_lat_end(struct bwl_pins *p, uint32_t id, struct bwl_err *e);

uint64_t bwl_lat_frames(const struct bwl_lat_hist *h);
/*
 * What so many of a hundred took no longer than, as the upper end of a bin, in ns; nothing was
 * measured: 0.
 */
uint64_t bwl_lat_percentile(const struct bwl_lat_hist *h, unsigned percent);
/* Packets since `was`, of which each number is no larger. */
void bwl_lat_since(struct bwl_latency *now, const struct bwl_latency *was);
/* Frames, the sum, and of each bin that is not empty its upper end and its frames. */
json_t *bwl_lat_json(const struct bwl_lat_hist *h);

#endif
