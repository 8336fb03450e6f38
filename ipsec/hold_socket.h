/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef BWL_IPSEC_HOLD_SOCKET_H
#define BWL_IPSEC_HOLD_SOCKET_H

/*
 * A separate process holds only the socket, and reads from it until the other side closes it, has
 * been silent for a minute after sending something, or an hour has passed. Returns at once: 0 or
 * -errno.
 */
int bwl_linger(int fd);

#endif
