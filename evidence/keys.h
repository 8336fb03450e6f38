/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The secrets, one per epoch (a day of UTC), in a folder of the state directory that only root can
 * read. Deleting one makes it impossible to open what it protects.
 */
#ifndef EV_KEYS_H
#define EV_KEYS_H

#include <bwl/err.h>
#include <stdint.h>

#define EV_KEYS_DIR "evidence" /* below the state directory */
#define EV_KEYS_KEPT 92        /* days, and at least that many secrets whatever the clock says */

/*
 * The secret of that day. If it is missing, the first of several threads makes it and writes it to
 * disk. Then old ones are deleted. -EBADMSG: its file is incomplete.
 */
int ev_key_make(const char *state_dir, uint64_t epoch, uint8_t ret[static 32], struct bwl_err *e);
/* -ENOENT: it was deleted, or belongs to another DPU. */
int ev_key_read(const char *state_dir, uint64_t epoch, uint8_t ret[static 32], struct bwl_err *e);
/* Deletes those older than EV_KEYS_KEPT days, but never one of the newest EV_KEYS_KEPT. */
void ev_keys_expire(const char *state_dir, uint64_t today);

#endif
