/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Whole files: read, and replaced by one rename. */
#ifndef BWL_BYTES_H
#define BWL_BYTES_H

#include <stddef.h>
#include <bwl/err.h>

/*
 * Reads a file to its end (fd may be standard input). The caller frees *ret, which has a NUL after
 * its *ret_len bytes. -EFBIG: more than `most` bytes.
 */
int bwl_bytes_read(int fd, size_t most, char **ret, size_t *ret_len, struct bwl_err *e);

/* Writes all bytes, with as many calls as that takes; 0 or -errno. */
int bwl_bytes_write(int fd, const void *buf, size_t n);

struct bwl_bytes {
	const void *at;
	size_t len;
};
/*
 * Replaces dir/name by these parts, concatenated: written to name.new, synced, renamed. After a
 * kill at any point the file is the old one or the new one. One writer at a time.
 */
int bwl_bytes_replace(const char *dir, const char *name, const struct bwl_bytes *part, size_t n,
		      struct bwl_err *e);

#endif
