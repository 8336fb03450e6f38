/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Sends intervals one after the other, each completely before the next: charged to the budget and
 * recorded as begun before its first byte leaves, recorded as sent when the other end has all of
 * it.
 */
#ifndef BWL_EXPORT_FLOWS_OUTLET_H
#define BWL_EXPORT_FLOWS_OUTLET_H

#include "state.h"
#include "way.h"

struct outlet_conf {
	struct way_conf way;
	bool json;
	uint32_t domain;
	const char *flows_dir, *state_dir;
	uint64_t budget_bytes, budget_window_ns;
};

struct outlet;
int outlet_open(const struct outlet_conf *c, struct outlet **ret, struct bwl_err *e);
void outlet_close(struct outlet *o);
/* OUTLET_SENT: one more; OUTLET_NONE: nothing new; otherwise -errno: retry later. */
enum { OUTLET_NONE, OUTLET_SENT };
int outlet_step(struct outlet *o, struct bwl_err *e);

#endif
