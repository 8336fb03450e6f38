/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The newest result of `bwlimit-load verify`, which root ran (loader/verify_keep.c). */
#ifndef BWL_EXPORT_VERIFIED_H
#define BWL_EXPORT_VERIFIED_H

#include <stdbool.h>
#include <stdint.h>
#include "bwl/err.h"

struct bwl_verified {
	int64_t at_s; /* when, by the wall clock */
	unsigned failed, warned;
	char first[200]; /* what the first check that failed says; empty: none did */
};
/* -ENOENT: there is none; -EACCES: it is not for you; -EBADMSG: it is none of root's making. */
int bwl_verified(const char *pin_dir, struct bwl_verified *ret, struct bwl_err *e);

#endif
