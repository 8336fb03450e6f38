/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Ends of grants: RFC 3339 in files, CLOCK_BOOTTIME in the data plane. */
#ifndef BWL_UNTIL_H
#define BWL_UNTIL_H

#include <stdbool.h>
#include <stdint.h>
#include <bwl/err.h>

#define BWL_UNTIL_BUF 48

/* A moment in the past becomes 1 ns after boot at the earliest: ended, whatever the clock. */
int bwl_until_parse(const char *s, uint64_t now_boot_ns, int64_t now_wall_s, uint64_t *ret_boot_ns,
		    bool *ret_past, struct bwl_err *e);
/* In UTC; reads back to the same nanosecond with the same two clocks. */
char *bwl_until_format(uint64_t boot_ns, uint64_t now_boot_ns, int64_t now_wall_s,
		       char buf[static BWL_UNTIL_BUF]);

#endif
