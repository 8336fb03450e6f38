/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Whole files: read, and replaced by one rename. */
#ifndef BWL_BYTES_H
#define BWL_BYTES_H

#include <stddef.h>
#include <bwl/err.h>

/*
 * Reads a file to its end, from standard input where fd is that; the caller frees *ret, behind
 * whose *ret_len bytes there is a NUL. -EFBIG: more than `most`.
 */
int bwl_bytes_read(int fd, size_t most, char **ret, size_t *ret_len, struct bwl_err *e);

/* All of them, however many calls that takes; 0 or -errno. */
int bwl_bytes_write(int fd, const void *buf, size_t n);

struct bwl_bytes {
	const void *at;
	size_t len;
};
/*
 * dir/name is what it was, or these parts one after the other, killed at any point: written to
 * name.new, synced, renamed. One writer at a time.
 */
int bwl_bytes_replace(const char *dir, const char *name, const struct bwl_bytes *part, size_t n,
		      struct bwl_err *e);

#endif
