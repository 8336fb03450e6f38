/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Access to pins without root. A pin has an owner and a mode, and a map can have several pins:
 * those in maps/ and gen/ (0660, group bwlimit) are for writers, those in read/ and read/gen/
 * (0440, group bwlimit-read) for readers.
 */
#ifndef BWL_READER_H
#define BWL_READER_H

#include <stdbool.h>
#include <stddef.h>
#include <bwl/group.h>

#define BWL_READ_DIR "read"

/* A descriptor, with BPF_F_RDONLY for a reader; or -errno. */
int bwl_pin_get(const char *path, bool reader);
/*
 * An array of that many bytes, with entries aligned to 8: mapped, or copied if the descriptor is a
 * reader's. MAP_FAILED and errno on failure. munmap() frees either.
 */
void *bwl_map_array(int fd, size_t bytes, bool writable, bool copied);

#endif
