/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The tracking result of a peer, for people and for programs. */
#ifndef BWL_TRACK_ROW_H
#define BWL_TRACK_ROW_H

#include "bwl/model.h"
#include "track.h"

struct bwl_track_row {
	const struct bwl_pins *pins;
	uint32_t id;
	const struct bwl_track_verdict *v;
};
extern const struct bwl_column bwl_track_columns[];
const char *bwl_track_offload_name(unsigned int offload);
/* Warns about v->alarm, by bwl_warn(). */
void bwl_track_warn(const struct bwl_pins *p, uint32_t id, const struct bwl_track_verdict *v);

#endif
