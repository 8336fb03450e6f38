/* SPDX-License-Identifier: GPL-2.0-or-later */
/* attach, upgrade, detach: the order of work is the promise (closed at every step). */
#ifndef BWL_LOADER_ATTACH_H
#define BWL_LOADER_ATTACH_H

#include "hook.h"
#include "load.h"

struct bwl_attach {
	const char *dir, *policy;
	const char *host[BWL_MAX_PORTS], *uplink[BWL_MAX_PORTS];
	const char *management[BWL_MAX_PORTS];
	unsigned nhost, nuplink, nmanagement;
	struct bwl_dims dims;
	enum bwl_tc_way tc;
	enum bwl_xdp_way xdp;
	bool fresh_volume, drill, keep_down, open, json;
};

/* The programs of one port, in the order in which they are attached. */
struct bwl_slot {
	enum bwl_hook hook;
	const char *prog;
};
/* kind: BWL_PORT_HOST or BWL_PORT_UPLINK. */
unsigned bwl_port_slots(unsigned kind, const struct bwl_slot **ret);

int bwl_attach(struct bwl_attach *a, struct bwl_err *e);
int bwl_upgrade(struct bwl_attach *a, struct bwl_err *e);
int bwl_detach(struct bwl_attach *a, struct bwl_err *e);

#endif
