/* SPDX-License-Identifier: GPL-2.0-or-later */
/* On a DPU the server listens on loopback, or else only on its management devices. */
#ifndef BWL_WEB_DEVICE_H
#define BWL_WEB_DEVICE_H

#include <sys/socket.h>
#include "asker.h"

/*
 * Does the address belong to a device that bwlimit-load attached as management? Waits for bwlimitd.
 */
int device_judge(struct asker *a, const struct sockaddr *at, struct bwl_err *e);

#endif
