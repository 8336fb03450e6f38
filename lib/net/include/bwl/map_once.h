/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * An array that several parts of a process have open is mapped only once: otherwise the kernel
 * would fill a page table for each of them, and count each page as resident several times.
 */
#ifndef BWL_MAP_ONCE_H
#define BWL_MAP_ONCE_H

#include <stdbool.h>
#include <stddef.h>

/* Maps the map of this descriptor, shared with others; MAP_FAILED on failure. Any thread. */
void *bwl_map_once(int fd, size_t bytes, bool writable);
/* Also for what was mapped in another way. */
void bwl_unmap_once(void *m, size_t bytes);

#endif
