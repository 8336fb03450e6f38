/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The maps of a generation have pins of their own, <pin dir>/gen/ID with the kernel's id of the
 * map: what an array of maps says of its entry is this id, and to open a map by id takes
 * CAP_SYS_ADMIN (kernel 6.18).
 *
 * Pinned before they are put into an array, unpinned after they are taken out: what an array has is
 * pinned, whoever is killed. What is pinned and in no array is left of that, and goes with the next
 * sweep. All that writes here is done under the lock.
 */
#ifndef BWL_INNER_H
#define BWL_INNER_H

#include <bwl/pins.h>

#define BWL_INNER_DIR "gen"

/*
 * What the slot of an array of maps has: a descriptor, or -ENOENT (nothing), -ENOLINK (its map was
 * not pinned by the version that made it), -errno. reader: by the pins for readers.
 */
int bwl_inner_open(const char *dir, int outer, uint32_t slot, bool reader);
/* 0 or -errno. */
int bwl_inner_pin(const char *dir, int fd);
/* Pins what a version made that pinned none, by id: -EPERM without CAP_SYS_ADMIN. */
int bwl_inner_adopt(const char *dir, int outer);
/* What is pinned is pinned for readers too, and both have the groups of their folders. */
int bwl_inner_share(const char *dir, int outer);
/* Unpins what is in no array. */
int bwl_inner_sweep(const struct bwl_pins *p);
/* Unpins all, and removes the folder. */
int bwl_inner_forget(const char *dir);

#endif
