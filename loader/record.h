/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Flow records, where --record wants them (maps/record.h, docs/recorder.md). Their tables are of
 * the programs alone: those of another attach or upgrade begin new ones. They are pinned beside the
 * maps before the first program is replaced, and called whole when all programs write to them: one
 * that fails, or is killed, in between leaves tables that say so.
 */
#ifndef BWL_LOADER_RECORD_H
#define BWL_LOADER_RECORD_H

#include "load.h"

enum bwl_record_want { BWL_RECORD_AS_IT_IS, BWL_RECORD_OFF, BWL_RECORD_ON };

/* Are flows to be recorded? As it is: as the programs that are there do. */
bool bwl_record_wanted(const char *dir, enum bwl_record_want want);
/* Before the programs are loaded. */
int bwl_record_open(struct bwlimit *skel, bool records);
/* Of another object that runs beside that one, not loaded yet: it writes to the same tables. */
int bwl_record_share(struct bwlimit *copy, const struct bwlimit *skel);
/* They are loaded: the first interval begins. */
int bwl_record_begin(const struct bwl_load *l, struct bwl_err *e);
/* The first program is about to be replaced. */
int bwl_record_pin(const struct bwl_load *l, struct bwl_err *e);
/* They are attached: all of them write there, or there is nothing to read any more. */
int bwl_record_whole(const struct bwl_load *l, struct bwl_err *e);

struct bwl_netdev;
struct bwl_pins;
struct bwl_report;
/* What verify says of it. built: the programs of this binary; NULL: could not be loaded. */
void bwl_record_check(struct bwl_report *r, const struct bwl_pins *p, const struct bwl_netdev *d,
		      size_t n, const struct bwlimit *built);

#endif
