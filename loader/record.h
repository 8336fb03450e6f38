/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Flow records, if --record requests them (maps/record.h, docs/recorder.md). Their tables belong to
 * the programs: another attach or upgrade makes new ones. They are pinned beside the maps before
 * the first program is replaced, and marked as whole when all programs write to them: after an
 * attach that failed, or was killed, in between, they are marked as incomplete.
 */
#ifndef BWL_LOADER_RECORD_H
#define BWL_LOADER_RECORD_H

#include "load.h"

enum bwl_record_want { BWL_RECORD_AS_IT_IS, BWL_RECORD_OFF, BWL_RECORD_ON };

/* Should flows be recorded? AS_IT_IS: if the attached programs do. */
bool bwl_record_wanted(const char *dir, enum bwl_record_want want);
/* Call before the programs are loaded. */
int bwl_record_open(struct bwlimit *skel, bool records);
/* For another object that runs beside skel and is not loaded yet: it uses the same tables. */
int bwl_record_share(struct bwlimit *copy, const struct bwlimit *skel);
/* The programs are loaded: the first interval begins. */
int bwl_record_begin(const struct bwl_load *l, struct bwl_err *e);
/* The first program is about to be replaced. */
int bwl_record_pin(const struct bwl_load *l, struct bwl_err *e);
/* The programs are attached: all of them write there, or there is nothing to read any more. */
int bwl_record_whole(const struct bwl_load *l, struct bwl_err *e);

struct bwl_netdev;
struct bwl_pins;
struct bwl_report;
/* verify's checks. built: this binary's programs; NULL: they could not be loaded. */
void bwl_record_check(struct bwl_report *r, const struct bwl_pins *p, const struct bwl_netdev *d,
		      size_t n, const struct bwlimit *built);

#endif
