/* SPDX-License-Identifier: GPL-2.0-or-later */
/* One query about a card, by devlink's netlink (devlink.c). */
#ifndef BWL_NET_DEVLINK_ASK_H
#define BWL_NET_DEVLINK_ASK_H

#include <libmnl/libmnl.h>
#include <stdint.h>

/* Passes the answer to fn. 0, even if the device reports nothing; -ENOENT: no such device. */
int bwl_devlink_ask(const char *card, uint8_t cmd, const char *param, mnl_cb_t fn, void *arg);

#endif
