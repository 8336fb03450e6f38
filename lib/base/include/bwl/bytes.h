/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Whole files: read, and replaced by one rename. */
#ifndef BWL_BYTES_H
#define BWL_BYTES_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>
#include <bwl/err.h>

/*
 * Reads a file to its end (fd may be standard input). The caller frees *ret, which has a NUL after
 * its *ret_len bytes. -EFBIG: more than `most` bytes.
 */
int bwl_bytes_read(int fd, size_t most, char **ret, size_t *ret_len, struct bwl_err *e);

/* Writes all bytes, with as many calls as that takes; 0 or -errno. */
int bwl_bytes_write(int fd, const void *buf, size_t n);
/* The same from this offset on. */
int bwl_bytes_pwrite(int fd, const void *buf, size_t n, off_t at);

struct bwl_bytes {
	const void *at;
	size_t len;
};
/* NULL: 0600, synced. */
struct bwl_replace {
	mode_t mode;      /* whatever the umask is; 0: 0600 */
	bool for_readers; /* 0640 of bwlimit-read, if that may be (bwl_group_give()) */
	bool unsynced;    /* of no worth after a power cut */
	off_t reserve;    /* bytes behind its end, where the file system can */
};
/*
 * Replaces a file in a folder by these parts, concatenated: written to .NAME.new, given its mode,
 * synced, renamed, and the folder synced. After a kill at any point the file is the old one or the
 * new one; no reader finds one that is half written, or that it may not open. One writer at a time.
 * 0 or -errno.
 */
int bwl_bytes_replace_at(int folder, const char *name, const struct bwl_replace *how,
			 const struct bwl_bytes *part, size_t n);
/* The same, with an error that names the file. */
int bwl_bytes_replace(const char *dir, const char *name, const struct bwl_bytes *part, size_t n,
		      struct bwl_err *e);
/* The same of a path, whose folder is there. */
int bwl_bytes_replace_path(const char *path, const struct bwl_replace *how, const void *buf,
			   size_t n, struct bwl_err *e);

#endif
