/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Files of a tiled log: their names, and how they are written. Only inside audit/. */
#ifndef BWL_AUDIT_TILE_FILES_H
#define BWL_AUDIT_TILE_FILES_H

#include <stdbool.h>
#include <stdint.h>
#include <stddef.h>
#include "bwl/err.h"

#define BWL_TILE_WIDTH 256
#define BWL_TILE_ENTRIES 64 /* used as a level: the records, not hashes */
#define BWL_TILE_PATH 64
/* "tile/0/x001/234.p/5"; width 0 or 256: the full tile. */
void bwl_tile_path(char buf[static BWL_TILE_PATH], unsigned level, uint64_t n, unsigned width);

/*
 * Writes a file that is whole under its name, and on disk; creates folders. once: an existing file
 * with other bytes is left alone, -EEXIST. 1: it existed.
 */
int bwl_tile_put(int root, const char *path, const void *data, size_t len, bool once,
		 struct bwl_err *e);
/* Reads a whole file of at most `most` bytes; the caller frees. -ENOENT: it does not exist. */
int bwl_tile_get(int root, const char *path, size_t most, char **ret, size_t *ret_len,
		 struct bwl_err *e);
bool bwl_tile_is_there(int root, const char *path);
/* Removes the partial files of a tile that is now full. */
int bwl_tile_drop_parts(int root, unsigned level, uint64_t n, struct bwl_err *e);

#endif
