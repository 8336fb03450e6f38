/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The tunnel device of the encrypted peers: made at attach, removed at detach. */
#ifndef BWL_LOADER_TUNNEL_H
#define BWL_LOADER_TUNNEL_H

#include "attach.h"
#include "hook/iif_rules.h"

#define BWL_TUNNEL_DEV "bwl0"
/*
 * Call before the programs are loaded: their kfuncs come with the device's module. If the device
 * cannot be made, and was not requested by name (--tunnel), this only warns, and encrypted peers
 * stay closed.
 */
int bwl_tunnel_make(struct bwl_load *l, const struct bwl_attach *a, const struct bwl_policy *pol,
		    struct bwl_err *e);
/* Attaches programs, sets routes, sets it up; the word that lets packets in is written last. */
int bwl_tunnel_attach(struct bwl_load *l, const struct bwl_attach *a, struct bwl_err *e);
int bwl_tunnel_remove(struct bwl_load *l, const struct bwl_netdev *d, struct bwl_err *e);

#endif
