/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Network devices of this namespace, by rtnetlink. */
#ifndef BWL_NETDEV_H
#define BWL_NETDEV_H

#include <net/if.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "err.h"

struct bwl_netdev {
	uint32_t ifindex, mtu, master;	/* master: ifindex of a bridge or bond, 0 none */
	bool up, loopback;
	uint8_t mac[6];
	char name[IFNAMSIZ];
	char kind[16];			/* "veth", "bridge", …; empty for a physical device */
};

/* All of them; free with free(). */
int bwl_netdev_list(struct bwl_netdev **ret, size_t *ret_n, struct bwl_err *e);
int bwl_netdev_get(const char *name, struct bwl_netdev *ret, struct bwl_err *e);
int bwl_netdev_set_up(uint32_t ifindex, bool up, struct bwl_err *e);

/* Calls fn for every device that appears or changes, until it returns non-zero. */
int bwl_netdev_watch(int (*fn)(const struct bwl_netdev *d, void *arg), void *arg,
		     struct bwl_err *e);

#endif
