/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * store.c: the documents that hold, as files documents/SHA256 in the state directory, and when the
 * signed time was received. Files are trusted as far as the memory names them, so they are written
 * before it, and removed after it.
 */
#ifndef BWL_AGENT_DOCS_STORE_H
#define BWL_AGENT_DOCS_STORE_H

#include "docs.h"

#define DOCS_DIR "documents"

/*
 * The memory and its documents as of one moment. -ENOENT: nothing is enrolled. On failure ret is
 * empty.
 */
int docs_load(const char *state_dir, const struct docs_clock *c, struct docs *ret,
	      struct bwl_err *e);
int docs_put(const char *state_dir, const uint8_t digest[32], const char *bytes, size_t len,
	     struct bwl_err *e);
bool docs_is_kept(const char *state_dir, const uint8_t digest[32]);
/* Removes documents that are no longer needed. */
void docs_sweep(const char *state_dir, const struct docs *s);
/* Kept over restarts, until reboot. */
int docs_keep_heard(const char *state_dir, const struct docs *s, struct bwl_err *e);
struct docs_clock docs_clock_now(void);

#endif
