/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Which connections have an SA, or are negotiating one. */
#ifndef BWL_IPSEC_CONN_UP_H
#define BWL_IPSEC_CONN_UP_H

#include "ipsec/conn.h"

struct bwl_idle_look {
	json_t *up;   /* names of connections with a CHILD_SA that is installed */
	json_t *busy; /* names, and addresses of unnamed negotiations */
};
int bwl_idle_look(struct bwl_vici *v, struct bwl_idle_look *ret, struct bwl_err *e);
void bwl_idle_done(struct bwl_idle_look *l);
/* Neither up nor busy. */
bool bwl_idle_is(const struct bwl_idle_look *l, const char *name, json_t *conn);
/* Do we initiate? (start_action) */
bool bwl_idle_asks(json_t *conn);
/* Removes from `wanted` (names) those that are not idle. */
int bwl_idle_only(struct bwl_vici *v, json_t *conns, json_t *wanted, struct bwl_err *e);

#endif
