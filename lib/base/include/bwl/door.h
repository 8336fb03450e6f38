/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The doors of bwlimitd's sockets. Beside a socket at PATH, which everybody may reach who may reach
 * any, each right has a door of its own at PATH and an ending: its file lets in nobody else. So
 * nobody with less right takes places in its queue.
 */
#ifndef BWL_DOOR_H
#define BWL_DOOR_H

#define BWL_DOOR_ROOT ".root"
#define BWL_DOOR_OPERATE ".operate" /* group bwlimit */
#define BWL_DOOR_READ ".read"       /* group bwlimit-read */
#define BWL_DOOR_SYNC ".sync"       /* group bwlimit-sync */

/*
 * Connects to the best door of the socket at path that is open to this process, at last to path
 * itself. flags: SOCK_NONBLOCK or 0; wait_s: for a place in its queue, and then for each that is
 * sent; 0: as long as it takes. The descriptor, or -errno of the last try; -EAGAIN: the queue of
 * the best door is full, try again.
 */
int bwl_door_connect(const char *path, int flags, unsigned wait_s);

#endif
