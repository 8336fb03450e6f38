/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The secrets, one an epoch (a day of UTC), in a folder of the state directory that root alone
 * reads. Who deletes one has made what it opens impossible to open.
 */
#ifndef EV_KEYS_H
#define EV_KEYS_H

#include <bwl/err.h>
#include <stdint.h>

#define EV_KEYS_DIR "evidence" /* below the state directory */
#define EV_KEYS_KEPT 92        /* days, and as many secrets whatever the clock says */

/*
 * Of that day; made, and on disk, where it is not there yet: by whoever comes first, of several
 * threads. Then the old ones go. -EBADMSG: its file is not whole.
 */
int ev_key_make(const char *state_dir, uint64_t epoch, uint8_t ret[static 32], struct bwl_err *e);
/* -ENOENT: it was deleted, or is of another DPU. */
int ev_key_read(const char *state_dir, uint64_t epoch, uint8_t ret[static 32], struct bwl_err *e);
/* Those that are older than EV_KEYS_KEPT days, but never one of the newest EV_KEYS_KEPT. */
void ev_keys_expire(const char *state_dir, uint64_t today);

#endif
