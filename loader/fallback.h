/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Why a weaker form was taken when a program was attached, kept in a small map of the loader's
 * own beside the pins: `status` and `verify` say it for as long as the programs are there.
 */
#ifndef BWL_LOADER_FALLBACK_H
#define BWL_LOADER_FALLBACK_H

#include "hook/hook.h"

#define BWL_NOTES "notes" /* the map's pin */

int bwl_note_put(const struct bwl_hook_at *at, const char *why, struct bwl_err *e);
/* why (BWL_WHY_LEN): empty when nothing was noted. */
void bwl_note_get(const struct bwl_hook_at *at, char *why);
/*
 * A host port that stays closed: put before attach sets it down, gone when it is opened. What is
 * kept down by nothing else (networkd may raise it) guard keeps down.
 */
int bwl_note_close(const char *pin_dir, const struct bwl_netdev *d, bool closed, struct bwl_err *e);
bool bwl_note_is_closed(const char *pin_dir, const struct bwl_netdev *d);
void bwl_note_drop(const char *pin_dir);

#endif
