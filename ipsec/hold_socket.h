/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef BWL_IPSEC_HOLD_SOCKET_H
#define BWL_IPSEC_HOLD_SOCKET_H

/*
 * A process of its own holds the socket, nothing else of ours, and reads what comes until the other
 * side closes it, has said nothing for a minute after it said something, or an hour is over.
 * Returns at once: 0 or -errno.
 */
int bwl_linger(int fd);

#endif
