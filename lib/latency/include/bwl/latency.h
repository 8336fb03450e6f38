/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Reads latency from the maps (maps/latency.h): the peers that are measured by name, and the
 * results, summed over CPUs.
 */
#ifndef BWL_LATENCY_READ_H
#define BWL_LATENCY_READ_H

#include <jansson.h>
#include <bwl/pins.h>
#include "maps/latency.h"

/* Do the programs measure? bwlimit-load sets this when all of them do. */
bool bwl_lat_is_on(const struct bwl_pins *p);
int bwl_lat_set_on(const struct bwl_pins *p, bool on, struct bwl_err *e);

struct bwl_lat_peer {
	uint32_t id; /* 0: all peers without a row of their own */
	char name[BWL_NAME_LEN];
	struct bwl_latency sum;
};
struct bwl_lat_peers {
	size_t n;
	struct bwl_lat_peer peer[BWL_LAT_ROWS]; /* by name; the first is that of all others */
};
/* Rows whose peer is gone, or whose id belongs to another peer now, are added to all others. */
int bwl_lat_read(const struct bwl_pins *p, struct bwl_lat_peers *ret, struct bwl_err *e);

/* Starts measuring an existing peer; the lock must be held. No effect if it is measured already. */
int bwl_lat_begin(struct bwl_pins *p, uint32_t id, struct bwl_err *e);
/* id 0: stop for all peers. */
int bwl_lat_end(struct bwl_pins *p, uint32_t id, struct bwl_err *e);

uint64_t bwl_lat_frames(const struct bwl_lat_hist *h);
/* The upper end, in ns, of the bin that contains this percentile; 0: nothing was measured. */
uint64_t bwl_lat_percentile(const struct bwl_lat_hist *h, unsigned percent);
/* Subtracts `was` from `now`; no number of `was` may be larger. */
void bwl_lat_since(struct bwl_latency *now, const struct bwl_latency *was);
/* Frames, the sum, and for each non-empty bin its upper end and its frames. */
json_t *bwl_lat_json(const struct bwl_lat_hist *h);

#endif
