/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Beyond loopback a DPU is listened to on its management devices, and nowhere else. */
#ifndef BWL_WEB_DEVICE_H
#define BWL_WEB_DEVICE_H

#include <sys/socket.h>
#include "asker.h"

/* Is the address one of a device that bwlimit-load attached as management? Waits for bwlimitd. */
int device_judge(struct asker *a, const struct sockaddr *at, struct bwl_err *e);

#endif
