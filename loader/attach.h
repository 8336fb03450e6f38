/* SPDX-License-Identifier: GPL-2.0-or-later */
/* attach, upgrade, detach: the order of steps is the promise (closed at every step). */
#ifndef BWL_LOADER_ATTACH_H
#define BWL_LOADER_ATTACH_H

#include <bwl/policy.h>
#include "hook/port_programs.h"
#include "hook/hook.h"
#include "latency.h"
#include "load.h"
#include "record.h"

/* The command line. */
struct bwl_attach {
	const char *dir, *policy, *tunnel;
	const char *host[BWL_MAX_PORTS], *uplink[BWL_MAX_PORTS];
	const char *management[BWL_MAX_PORTS];
	unsigned nhost, nuplink, nmanagement;
	bool named_host, named_uplink; /* on the command line: they have to be there */
	/* attach_find.c: ports of the policy that are not there, and all of them in its order. */
	struct bwl_absent {
		const char *name;
		unsigned kind;
	} absent[BWL_MAX_PORTS];
	const char *order[2 * BWL_MAX_PORTS];
	unsigned nabsent, norder;
	struct bwl_make make;
	enum bwl_tc_way tc;
	enum bwl_xdp_way xdp;
	enum bwl_record_want record;
	enum bwl_latency_want latency;
	bool unattended; /* await: it takes nothing for management that was not so before */
	bool republish, trust_clock, keep_down, open, json, pace, try_hardware;
};

/*
 * The policy of --policy, or the desired policy if the command line names no port either; otherwise
 * NULL. Ports that the command line does not name come from it.
 */
int bwl_attach_policy(struct bwl_attach *a, struct bwl_policy **ret, struct bwl_err *e);
/*
 * attach_find.c: the devices of a->host and a->uplink. Those of the policy that are absent are
 * moved to a->absent; one uplink has to be there.
 */
int bwl_attach_find(struct bwl_attach *a, struct bwl_netdev *host, struct bwl_netdev *up,
		    struct bwl_err *e);
/* attach_port.c: attaches or replaces the programs of one port, then makes it known to them. */
int bwl_attach_port(struct bwl_load *l, const struct bwl_attach *a, const struct bwl_netdev *d,
		    unsigned kind, struct bwl_err *e);
void bwl_attach_register(const struct bwl_load *l, const struct bwl_netdev *d, unsigned kind);
/* Checks only what matters before a host port opens: every program is where it belongs. */
int bwl_attach_look(struct bwl_load *l, struct bwl_err *e);
int bwl_attach_pin_progs(struct bwl_load *l, struct bwl_err *e);
/* Management devices, and the rules by input device. */
int bwl_attach_lock(struct bwl_load *l, const struct bwl_attach *a, struct bwl_err *e);
/*
 * Tells bwlimitd that bwlimit sets these ports down, before it does: what nobody says is a sign of
 * tampering. Without maps of this version there is nobody to tell.
 */
void bwl_attach_say_shut(const char *dir, const struct bwl_netdev *d, unsigned n);
/* Opened: after they are up. */
void bwl_attach_say_opened(struct bwl_pins *p, const struct bwl_netdev *d, unsigned n);
/* All host ports of the list up or down. */
int bwl_attach_set(const struct bwl_netdev *d, unsigned n, bool up, struct bwl_err *e);
/* Does the kernel forward? -EPERM and the next step if so. */
int bwl_attach_forwarding(struct bwl_err *e);
/* Verify was clean: opens what was closed since the first attach. A stop by hand stays. */
void bwl_attach_open(struct bwl_pins *p);

int bwl_attach(struct bwl_attach *a, struct bwl_err *e);
int bwl_upgrade(struct bwl_attach *a, struct bwl_err *e);
int bwl_detach(struct bwl_attach *a, struct bwl_err *e);

#endif
