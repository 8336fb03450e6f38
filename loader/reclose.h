/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Revocations, a stop and a clamp wait for no lock. Where an upgrade replaces the map that they are
 * written to (bwl_ctl_v1, bwl_gate_v1 of another shape), who has the old one open may write there
 * after it was copied: a `bwlimit-ctl revoke` on its way, bwlimitd of the version before until it
 * sees the new pins. Nothing of that may be lost, so it is closed again in the new maps. With maps
 * that keep their shape there is nothing to do: all write to the same ones.
 */
#ifndef BWL_LOADER_RECLOSE_H
#define BWL_LOADER_RECLOSE_H

#include "relayout.h"

struct bwl_reclose {
	const struct bwl_relayout *x; /* NULL: nothing to do */
	struct bwl_pins *p;
	uint32_t all, *peer;   /* marks of the old maps that the new ones know of */
	bool stopped, clamped; /* likewise */
};

/* Before anything passes: what came since the copy. */
int bwl_reclose_begin(const struct bwl_relayout *x, struct bwl_pins *p, struct bwl_reclose *ret,
		      struct bwl_err *e);
/* After: until the daemon of before has let go of the old maps. */
void bwl_reclose_end(struct bwl_reclose *c);
/* One look. A step of both. */
void bwl_reclose_look(struct bwl_reclose *c);
void bwl_reclose_free(struct bwl_reclose *c);

#endif
