/* SPDX-License-Identifier: GPL-2.0-or-later */
/* One netlink request and its answers. */
#ifndef BWL_NL_H
#define BWL_NL_H

#include <libmnl/libmnl.h>

/*
 * Sends h to the netlink family `bus` and calls fn for every answer. Returns 0 or a negative
 * errno; -EINTR when a dump was disturbed and must be asked for again.
 */
int bwl_nl_talk(int bus, struct nlmsghdr *h, mnl_cb_t fn, void *arg);

#endif
