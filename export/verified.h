/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The newest result of `bwlimit-load verify`, run by root (loader/verify_keep.c). */
#ifndef BWL_EXPORT_VERIFIED_H
#define BWL_EXPORT_VERIFIED_H

#include <stdbool.h>
#include <stdint.h>
#include "bwl/err.h"

struct bwl_verified {
	int64_t at_s; /* when, by the wall clock */
	unsigned failed, warned;
	char first[200]; /* text of the first check that failed; empty: none did */
};
/* -ENOENT: there is none; -EACCES: not readable by you; -EBADMSG: root did not make it. */
int bwl_verified(const char *pin_dir, struct bwl_verified *ret, struct bwl_err *e);

#endif
