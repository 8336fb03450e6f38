/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Documents that commands make: their terms, one signature, and where they go. */
#ifndef BWL_CTL_FLEET_ORDER_H
#define BWL_CTL_FLEET_ORDER_H

#include "wait.h"

struct fleet_order {
	struct fleet fleet;
	struct fleet_wait wait;
	const char *key, *life, *timeout, *reason;
	bool no_wait;
	bool keep_user; /* of a tray that is expelled: put.h */
	uint64_t life_ns;
	int64_t after_s; /* documents are signed after this moment */
};
#define FLEET_ORDER_OPTS(o)                                                                        \
	{ "--key", NULL, &(o)->key }, { "--for", NULL, &(o)->life },                               \
		{ "--timeout", NULL, &(o)->timeout }, { "--reason", NULL, &(o)->reason },          \
	{                                                                                          \
		"--no-wait", &(o)->no_wait, NULL                                                   \
	}
/* After the options: connects, and knows the fleet. */
int fleet_order_begin(struct ctl *c, struct fleet_order *o);
/* Takes body. One signature; what needs more waits for them. 0 or CTL_SILENT when it is told. */
int fleet_order_give(struct fleet_order *o, enum bwl_signed_type type, const char *name,
		     const char *audience, json_t *body);
void fleet_order_end(struct fleet_order *o);
/* --reason, or who it was. */
const char *fleet_reason(const struct fleet_order *o, char buf[static 128]);

#endif
