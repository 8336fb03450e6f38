/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Which connections have an SA, or are on their way to one. */
#ifndef BWL_IPSEC_CONN_UP_H
#define BWL_IPSEC_CONN_UP_H

#include "ipsec/conn.h"

struct bwl_idle_look {
	json_t *up;   /* names of connections with a CHILD_SA that is installed */
	json_t *busy; /* names, and addresses of what is being negotiated and has no name yet */
};
int bwl_idle_look(struct bwl_vici *v, struct bwl_idle_look *ret, struct bwl_err *e);
void bwl_idle_done(struct bwl_idle_look *l);
/* Neither up nor busy. */
bool bwl_idle_is(const struct bwl_idle_look *l, const char *name, json_t *conn);
/* Is it we who ask? (start_action) */
bool bwl_idle_asks(json_t *conn);
/* One of `wanted` (names) after the other, those that are not idle left out of it. */
int bwl_idle_only(struct bwl_vici *v, json_t *conns, json_t *wanted, struct bwl_err *e);

#endif
