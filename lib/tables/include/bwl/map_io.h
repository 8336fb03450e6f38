/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The one place where entries of maps are written (a test of lint holds it), and where those are
 * read on which a policy depends. As libbpf's functions of the same names: 0 or -errno, and errno.
 * An error that passes does not fail a whole policy: the call is repeated at most BWL_RETRIES
 * times, each time after other threads and the kernel's own work had the CPU.
 *
 * Which errors pass, in Linux 5.15 to 6.18:
 *
 *	ENOMEM		no memory at that moment: copies of key and value (syscall.c), entries that
 *			are not allocated beforehand (hashtab.c, lpm_trie.c: GFP_NOWAIT, or a cache
 *			that is refilled behind the caller), an LRU hash without a free entry
 *	EAGAIN		asked to come again
 *	EBUSY		a bucket is locked by what was interrupted on this CPU (hashtab.c, to 6.14)
 *	EDEADLK		the same, and a lock held for too long (rqspinlock, since 6.15)
 *	ETIMEDOUT
 *	EINTR		a walk in batches met keys that were being deleted (syscall.c)
 *
 * Not these: E2BIG (a hash is full) and ENOSPC (a trie is full, or a bucket larger than a batch),
 * which another attempt finds again; ENOENT, EEXIST, EINVAL, EPERM, which are answers.
 */
#ifndef BWL_MAP_IO_H
#define BWL_MAP_IO_H

#include <stdbool.h>
#include <stdint.h>
#include <linux/bpf.h>
#include "bwl/err.h"

#define BWL_RETRIES 5

bool bwl_map_passes(int err);

int bwl_map_put(int fd, const void *key, const void *value, uint64_t flags);
/*
 * Several entries: *n is how many were written, also after an error. The retries are for each entry
 * that is refused, not for all of them.
 */
int bwl_map_put_all(int fd, const void *keys, uint32_t key_bytes, const void *values,
		    uint32_t value_bytes, uint32_t *n);
int bwl_map_delete(int fd, const void *key);
int bwl_map_get(int fd, const void *key, void *value);
/* -ENOENT: there is none. Any other error ends a walk before its end. */
int bwl_map_next(int fd, const void *key, void *next);
/* -ENOENT with entries: those were the last. */
int bwl_map_get_all(int fd, void *in, void *out, void *keys, void *values, uint32_t *n);
struct bpf_map_create_opts;
int bwl_map_create(uint32_t type, const char *name, uint32_t key_bytes, uint32_t value_bytes,
		   uint32_t entries, const struct bpf_map_create_opts *o);
int bwl_map_pin(int fd, const char *path);

/* Which entry of a map was refused, for people. */
struct bwl_map_place {
	const char *map;  /* bwl_lpm4_v1 */
	const char *what; /* its entry: "destination 10.0.0.0/8 of peer x"; NULL: nothing to say */
	uint64_t at, of;  /* the at-th of so many, from 1; 0: not known */
};
/* The id of this error, for programs (docs/json.md). */
#define BWL_MAP_REFUSED "map-refused"
/*
 * Fills e: the map, the entry, the error, and how often it was tried. What stays in force is added
 * by who knows it: bwl_publish().
 */
int bwl_map_refused(struct bwl_err *e, int err, const struct bwl_map_place *at);
/* For an e that was filled: how often it was tried, and the id, if it was an error that passes. */
int bwl_map_tried(struct bwl_err *e);

#endif
