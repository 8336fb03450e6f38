/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Rates, sizes and times as people write them; the only place that knows units. As in tc(8): rates
 * in bits (10gbit, 500kbit: decimal; kibit: binary; 10mbps: bytes), sizes in bytes (64kb, 1gb, 1tb:
 * powers of 1024; also 1kbit as in tc). Times: ns us ms s m h d w. Parsers take the whole string,
 * allow a decimal fraction, refuse signs, overflow and trailing text, and name the accepted domain
 * in the error.
 */
#ifndef BWL_UNITS_H
#define BWL_UNITS_H

#include <stddef.h>
#include <stdint.h>
#include <bwl/err.h>

#define BWL_RATE_MIN_BPS 1000ULL            /* 1 kbit/s */
#define BWL_RATE_MAX_BPS 100000000000000ULL /* 100 Tbit/s */

/* bits per second, BWL_RATE_MIN_BPS .. BWL_RATE_MAX_BPS */
int bwl_parse_rate(const char *s, uint64_t *ret_bps, struct bwl_err *e);
/* bytes, 0 .. 2^62 */
int bwl_parse_size(const char *s, uint64_t *ret_bytes, struct bwl_err *e);
/* nanoseconds, 0 .. 100 years; a bare number is refused (a unit is required) */
int bwl_parse_time(const char *s, uint64_t *ret_ns, struct bwl_err *e);
/* "1gb per 1d" or "1gb" (total: window 0) */
int bwl_parse_volume(const char *s, uint64_t *ret_bytes, uint64_t *ret_window_ns,
		     struct bwl_err *e);

#define BWL_UNIT_BUF 40
/* The shortest text that bwl_parse_* reads back as the same value; returns buf. */
char *bwl_format_rate(uint64_t bps, char buf[static BWL_UNIT_BUF]);
char *bwl_format_size(uint64_t bytes, char buf[static BWL_UNIT_BUF]);
char *bwl_format_time(uint64_t ns, char buf[static BWL_UNIT_BUF]);
/* For people: three significant digits, "1.23 Gbit/s", "4.7 GiB", "3 d 4 h". */
char *bwl_human_rate(double bps, char buf[static BWL_UNIT_BUF]);
char *bwl_human_size(double bytes, char buf[static BWL_UNIT_BUF]);
char *bwl_human_time(double seconds, char buf[static BWL_UNIT_BUF]);

#endif
