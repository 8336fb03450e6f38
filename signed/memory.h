/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What a DPU remembers of documents, on disk, so that an old one is refused after a reboot too: the
 * root, and for every type and name the highest version with what it said; the revocation epoch;
 * the newest signed time. One writer (bwlimitd).
 */
#ifndef BWL_SIGNED_MEMORY_H
#define BWL_SIGNED_MEMORY_H

#include "signed/root.h"

struct bwl_memory;

/* -ENOENT: nothing is enrolled; -EUCLEAN: it is damaged, or an old copy. dir: the state directory.
 */
int bwl_memory_open(const char *dir, struct bwl_memory **ret, struct bwl_err *e);
void bwl_memory_free(struct bwl_memory *m);
BWL_AUTO_DEFINE(bwl_memory_free, struct bwl_memory *)

const struct bwl_root *bwl_memory_root(const struct bwl_memory *m);
/* The wall clock, or the newest signed timestamp where that is later. */
int64_t bwl_memory_now(const struct bwl_memory *m, int64_t wall_s);
/* When the newest signed timestamp was issued; 0: there was none. */
int64_t bwl_memory_newest(const struct bwl_memory *m);

/*
 * Is this document, which was verified, no older than what was accepted? 0: it is newer; 1: it is
 * the one that was accepted last; -ESTALE ("signed-old"), -EEXIST ("signed-conflict").
 */
int bwl_memory_judge(const struct bwl_memory *m, const struct bwl_signed *d, struct bwl_err *e);
/* Judged, and remembered: on disk when 0 is returned. */
int bwl_memory_accept(struct bwl_memory *m, const struct bwl_signed *d, struct bwl_err *e);

#endif
