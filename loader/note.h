/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Why a weaker form was taken when a program was attached, kept in a small map of the loader's
 * own beside the pins: `status` and `verify` say it for as long as the programs are there.
 */
#ifndef BWL_LOADER_NOTE_H
#define BWL_LOADER_NOTE_H

#include "hook.h"

int bwl_note_put(const struct bwl_hook_at *at, const char *why, struct bwl_err *e);
/* why (BWL_WHY_LEN): empty when nothing was noted. */
void bwl_note_get(const struct bwl_hook_at *at, char *why);
void bwl_note_drop(const char *pin_dir);

#endif
