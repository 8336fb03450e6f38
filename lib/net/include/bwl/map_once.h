/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * An array that several parts of a process have open is mapped once: else the kernel fills the page
 * table for each of them, and counts each page as resident as often.
 */
#ifndef BWL_MAP_ONCE_H
#define BWL_MAP_ONCE_H

#include <stdbool.h>
#include <stddef.h>

/* Of this descriptor of a map, shared; or MAP_FAILED. Any thread. */
void *bwl_map_once(int fd, size_t bytes, bool writable);
/* What was mapped otherwise, too. */
void bwl_unmap_once(void *m, size_t bytes);

#endif
