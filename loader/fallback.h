/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Why a weaker form was used when a program was attached, kept in a small map of the loader's own
 * beside the pins: `status` and `verify` report it as long as the programs are attached.
 */
#ifndef BWL_LOADER_FALLBACK_H
#define BWL_LOADER_FALLBACK_H

#include "hook/hook.h"

#define BWL_NOTES "notes" /* the map's pin */

int bwl_note_put(const struct bwl_hook_at *at, const char *why, struct bwl_err *e);
/* why (BWL_WHY_LEN): empty if nothing was noted. */
void bwl_note_get(const struct bwl_hook_at *at, char *why);
/*
 * Marks a host port that stays closed: set before attach sets it down, removed when it opens.
 * Nothing else keeps such a port down (networkd may raise it), so guard does.
 */
int bwl_note_close(const char *pin_dir, const struct bwl_netdev *d, bool closed, struct bwl_err *e);
bool bwl_note_is_closed(const char *pin_dir, const struct bwl_netdev *d);
void bwl_note_drop(const char *pin_dir);

#endif
