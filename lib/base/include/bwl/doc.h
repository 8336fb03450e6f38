/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Documents that tools print for programs: docs/json.md. */
#ifndef BWL_DOC_H
#define BWL_DOC_H

#include <jansson.h>
#include <stdint.h>
#include <linux/types.h>
#include "err.h"

/* The version in every document; it changes when a field changes its meaning or is removed. */
#define BWL_JSON_VERSION 1
/*
 * {"version": 1, "kind": kind}: the beginning of every document; docs/schema has a schema per kind.
 */
json_t *bwl_doc(const char *kind);
/* Both take the reference. One prints a standalone document, the other a line of a stream. */
void bwl_doc_print(json_t *o);
void bwl_doc_line(json_t *o);
/* An error as a document of kind error, and its content alone. */
json_t *bwl_doc_err(const struct bwl_err *e, const char *program);
json_t *bwl_json_err(const struct bwl_err *e, const char *program);

/* Values; null: unknown, or there is none. */
json_t *bwl_json_text(const char *s); /* NULL: null */
json_t *bwl_json_u64(uint64_t v);     /* JSON's integers end at 2^63 - 1 */
json_t *bwl_json_real(double v);      /* infinite: null */
json_t *bwl_json_speed(double bps);   /* measured, in whole bit/s; infinite: null */
json_t *bwl_json_span(uint64_t ns);   /* seconds */
/* Seconds until then, negative if past; UINT64_MAX (BWL_NEVER_NS): null. */
json_t *bwl_json_in(uint64_t at_ns, uint64_t now_ns);
/* Seconds since then; 0, or in the future: null. */
json_t *bwl_json_ago(uint64_t at_ns, uint64_t now_ns);
json_t *bwl_json_spi(__be32 spi); /* "0x0000c0de"; 0: null */
json_t *bwl_json_names(const char *const *names, size_t n);
/* RFC 3339 in UTC: "2026-11-22T05:30:00Z", with milliseconds unless ms is negative. */
#define BWL_TIME_BUF 40
char *bwl_utc(int64_t s, int ms, char buf[static BWL_TIME_BUF]);
char *bwl_utc_now(char buf[static BWL_TIME_BUF]);
/* The same for a CLOCK_BOOTTIME time. */
char *bwl_utc_boot(uint64_t boot_ns, char buf[static BWL_TIME_BUF]);

#endif
