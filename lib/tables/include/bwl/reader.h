/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Who may open which pins without being root. A pin has an owner and a mode, and a map may have
 * more than one: those in maps/ and gen/ (0660, group bwlimit) are for who writes, those in read/
 * and read/gen/ (0440, group bwlimit-read) for who reads.
 */
#ifndef BWL_READER_H
#define BWL_READER_H

#include <stdbool.h>
#include <stddef.h>
#include <bwl/group.h>

#define BWL_READ_DIR "read"

/* A descriptor, for a reader BPF_F_RDONLY; or -errno. */
int bwl_pin_get(const char *path, bool reader);
/*
 * An array, as many bytes as it takes with entries at multiples of 8: mapped, or copied where a
 * descriptor is a reader's. MAP_FAILED and errno. munmap() takes either away.
 */
void *bwl_map_array(int fd, size_t bytes, bool writable, bool copied);

#endif
