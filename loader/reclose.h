/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Revocations, a stop and a clamp wait for no lock. If an upgrade replaces the map that they are
 * written to (bwl_ctl_v1 or bwl_gate_v1 with another shape), a process that has the old one open
 * may write there after it was copied: a running `bwlimit-ctl revoke`, or the previous bwlimitd
 * until it sees the new pins. None of that may be lost, so it is closed again in the new maps. If
 * the maps keep their shape there is nothing to do: all write to the same ones.
 */
#ifndef BWL_LOADER_RECLOSE_H
#define BWL_LOADER_RECLOSE_H

#include "relayout.h"

struct bwl_reclose {
	const struct bwl_relayout *x; /* NULL: nothing to do */
	struct bwl_pins *p;
	uint32_t all, *peer;   /* marks in the old maps that the new ones have */
	bool stopped, clamped; /* likewise */
};

/* Before anything passes: repeats what was closed since the copy. */
int bwl_reclose_begin(const struct bwl_relayout *x, struct bwl_pins *p, struct bwl_reclose *ret,
		      struct bwl_err *e);
/* Afterwards: until the previous daemon has closed the old maps. */
void bwl_reclose_end(struct bwl_reclose *c);
/* One look; both of the above call it. */
void bwl_reclose_look(struct bwl_reclose *c);
void bwl_reclose_free(struct bwl_reclose *c);

#endif
