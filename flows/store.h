/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The folder of intervals, one file each, named by its number. Its size is bounded: flows of the
 * oldest are deleted first, and their peers' sums stay; then the oldest files, never the newest.
 */
#ifndef BWL_FLOWS_STORE_H
#define BWL_FLOWS_STORE_H

#include "list.h"
#include "text.h"

struct flows_store;
/* Created if missing. -errno, and *e. */
int flows_store_open(const char *state_dir, uint64_t most_bytes, struct flows_store **ret,
		     struct bwl_err *e);
void flows_store_close(struct flows_store *s);
BWL_AUTO_DEFINE(flows_store_close, struct flows_store *)
/* The number of the next file. */
uint64_t flows_store_next(const struct flows_store *s);
/* The newest one; NULL: none. */
const struct flows_id *flows_store_newest(const struct flows_store *s);
/* Written as a whole or not at all. */
int flows_store_put(struct flows_store *s, const struct flows_id *id, const char *text, size_t len,
		    struct bwl_err *e);
/* Its size on the disk, by its own account, and the number of files. */
uint64_t flows_store_bytes(const struct flows_store *s, size_t *ret_files);

/* Since it was opened: how many intervals lost their flows, and how many were deleted. */
void flows_store_lost(const struct flows_store *s, uint64_t *ret_thinned, uint64_t *ret_dropped);

#endif
