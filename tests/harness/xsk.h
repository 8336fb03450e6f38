/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Sending by AF_XDP in copy mode: past queues and TC egress. */
#ifndef BWL_TESTS_XSK_H
#define BWL_TESTS_XSK_H

#include <stddef.h>

/* A socket on the device's first queue; -1: see errno. One per process. */
int xsk_open(const char *dev);
/* Waits until the kernel has taken the frame. */
int xsk_send(int fd, const void *frame, size_t len);

#endif
