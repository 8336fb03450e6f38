/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Documents that commands make: their terms, one signature, and their destination. */
#ifndef BWL_CTL_FLEET_ORDER_H
#define BWL_CTL_FLEET_ORDER_H

#include "wait.h"

struct fleet_order {
	struct fleet fleet;
	struct fleet_wait wait;
	const char *key, *life, *timeout, *reason;
	bool no_wait;
	bool keep_user;      /* for an expelled tray: put.h */
	bool unknown;        /* --unknown: also about names that the store does not know */
	const json_t *names; /* each has its line once that is published; or NULL */
	json_t *left_out;    /* names that it does not, for the report; or NULL */
	char reason_words[CTL_REASON]; /* ctl_reason() */
	uint64_t life_ns;
	int64_t after_s; /* sign documents after this time */
};
#define FLEET_ORDER_OPTS(o)                                                                        \
	{ "--key", NULL, &(o)->key }, { "--for", NULL, &(o)->life },                               \
		{ "--timeout", NULL, &(o)->timeout }, { "--reason", NULL, &(o)->reason },          \
	{                                                                                          \
		"--no-wait", &(o)->no_wait, NULL                                                   \
	}
/* After the options: connects, and reads the fleet's name. */
int fleet_order_begin(struct ctl *c, struct fleet_order *o);
/*
 * Takes body. Adds one signature; a document that needs more waits for them. 0 or CTL_SILENT once
 * that is reported.
 */
int fleet_order_give(struct fleet_order *o, enum bwl_signed_type type, const char *name,
		     const char *audience, json_t *body);
void fleet_order_end(struct fleet_order *o);
/* The reason, or the user. */
const char *fleet_reason(const struct fleet_order *o, char buf[static 128]);

#endif
