/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The folder of intervals, one file each, named by their number in it. No more than so many bytes
 * of the disk: flows of the oldest go first, and their peers' sums stay; then the oldest, and never
 * the newest.
 */
#ifndef BWL_FLOWS_STORE_H
#define BWL_FLOWS_STORE_H

#include "list.h"
#include "text.h"

struct flows_store;
/* Made where it is not there. -errno, and *e. */
int flows_store_open(const char *state_dir, uint64_t most_bytes, struct flows_store **ret,
		     struct bwl_err *e);
void flows_store_close(struct flows_store *s);
BWL_AUTO_DEFINE(flows_store_close, struct flows_store *)
/* The number of the next file. */
uint64_t flows_store_next(const struct flows_store *s);
/* The newest one that is there; NULL: none. */
const struct flows_id *flows_store_newest(const struct flows_store *s);
/* Whole or not at all. What it could not write it does not have. */
int flows_store_put(struct flows_store *s, const struct flows_id *id, const char *text, size_t len,
		    struct bwl_err *e);
/* What it takes of the disk, by its own account, and in how many files. */
uint64_t flows_store_bytes(const struct flows_store *s, size_t *ret_files);

/* Since it was opened: of how many intervals the flows went, and how many went whole. */
void flows_store_lost(const struct flows_store *s, uint64_t *ret_thinned, uint64_t *ret_dropped);

#endif
