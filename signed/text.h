/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Words and times as documents spell them. */
#ifndef BWL_SIGNED_TEXT_H
#define BWL_SIGNED_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* 1 to 31 of A-Z a-z 0-9 . _ - that do not begin with -: as names in a policy */
bool bwl_is_name(const char *s, size_t n);
bool bwl_is_label(const char *s, size_t n); /* NAME=NAME */
/* Exactly "2026-11-22T05:30:00Z"; false: invalid. */
bool bwl_moment_parse(const char *s, int64_t *ret_s);
bool bwl_moment_ms_parse(const char *s, int64_t *ret_s, int *ret_ms); /* the same: -1; or ".123Z" */

#endif
