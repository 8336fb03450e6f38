/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The maps of a generation have pins of their own, <pin dir>/gen/ID with the kernel's id of the
 * map, because an array of maps reports its entry as this id, and opening a map by id takes
 * CAP_SYS_ADMIN (kernel 6.18).
 *
 * They are pinned before they are put into an array, and unpinned after they are removed. So every
 * entry of an array is pinned, wherever a tool is killed. A pin that is in no array is a remainder,
 * and the next sweep removes it. All writing happens under the lock.
 */
#ifndef BWL_INNER_H
#define BWL_INNER_H

#include <bwl/pins.h>

#define BWL_INNER_DIR "gen"

/*
 * Opens the map in a slot of an array of maps: a descriptor, or -ENOENT (empty), -ENOLINK (its map
 * has lost its pin), -errno. reader: through the pins for readers.
 */
int bwl_inner_open(const char *dir, int outer, uint32_t slot, bool reader);
/* 0 or -errno. */
int bwl_inner_pin(const char *dir, int fd);
/* Pins the pinned maps for readers, too, and sets the groups of both folders. */
int bwl_inner_share(const char *dir, int outer);
/* Removes pins that are in no array. */
int bwl_inner_sweep(const struct bwl_pins *p);
/* Removes all pins, and the folder. */
int bwl_inner_forget(const char *dir);

#endif
