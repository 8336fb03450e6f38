/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What tools print: documents for programs (docs/json.md), tables for people. A field is described
 * once, as a bwl_field; a table and a document both come from it. Without memory they abort.
 */
#ifndef BWL_SHOW_H
#define BWL_SHOW_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <linux/types.h>
#include "units.h"

#define BWL_JSON_VERSION                                                                           \
	1 /* of every document; another one when a field changes its meaning or goes */

/* {"version": 1, "kind": kind}: every document begins so, and docs/schema has one schema for each
 * kind. */
json_t *bwl_doc(const char *kind);
/* Takes the reference. A document of its own; one of a stream, as one line. */
void bwl_doc_print(json_t *o);
void bwl_doc_line(json_t *o);

/* Values; null is what is not known, or is not there. */
json_t *bwl_json_text(const char *s); /* NULL: null */
json_t *bwl_json_u64(uint64_t v);     /* JSON's integers end at 2^63 - 1 */
json_t *bwl_json_real(double v);      /* infinite: null */
json_t *bwl_json_span(uint64_t ns);   /* seconds */
json_t *bwl_json_in(uint64_t at_ns,
		    uint64_t now_ns); /* seconds until then, negative after; UINT64_MAX: null */
json_t *bwl_json_ago(uint64_t at_ns, uint64_t now_ns); /* seconds since then; 0, or to come: null */
json_t *bwl_json_spi(__be32 spi);		       /* "0x0000c0de"; 0: null */
json_t *bwl_json_names(const char *const *names, size_t n);
/* RFC 3339 in UTC: "2026-11-22T05:30:00Z", with milliseconds where ms is not negative. */
#define BWL_TIME_BUF 40
char *bwl_utc(int64_t s, int ms, char buf[static BWL_TIME_BUF]);
char *bwl_utc_now(char buf[static BWL_TIME_BUF]);
/* Of a moment in CLOCK_BOOTTIME. */
char *bwl_utc_boot(uint64_t boot_ns, char buf[static BWL_TIME_BUF]);

/* "in 2 h", "never", "3 s ago" */
#define BWL_WHEN_BUF (BWL_UNIT_BUF + 8)
char *bwl_when(uint64_t deadline_ns, uint64_t now_ns, char buf[static BWL_WHEN_BUF]);

/* One value for both: what it is for programs, and the words for people. */
struct bwl_value {
	json_t *json; /* owned */
	char text[256];
};
struct bwl_value bwl_v_text(const char *s); /* NULL: "-" */
struct bwl_value bwl_v_yes(bool yes);	    /* "yes", "-" */
struct bwl_value bwl_v_count(uint64_t n);
struct bwl_value bwl_v_bytes(uint64_t n);
struct bwl_value bwl_v_rate(uint64_t bps);	 /* a limit; 0: null, "unlimited" */
struct bwl_value bwl_v_speed(const double *bps); /* measured; NULL: null, "-" */
struct bwl_value bwl_v_in(uint64_t at_ns, uint64_t now_ns);
/* Takes the reference; the text by printf. */
struct bwl_value bwl_v_both(json_t *json, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));
/* For programs only. */
struct bwl_value bwl_v_json(json_t *json);

struct bwl_field {
	const char *key;  /* NULL: for people only */
	const char *head; /* of the column; BWL_RIGHT before it: aligned to the right; NULL: for
			     programs only */
	struct bwl_value (*get)(const void *row);
};
#define BWL_RIGHT '>'

/* Where a list shows a field that has both. */
enum bwl_where { BWL_BOTH, BWL_FOR_PROGRAMS, BWL_FOR_PEOPLE };
struct bwl_column {
	const struct bwl_field *field; /* NULL ends the list */
	enum bwl_where where;
};

/* The fields of one row as an object. */
json_t *bwl_row_json(const struct bwl_column *columns, const void *row);

/* Rows for one or the other, whichever is asked for. */
struct bwl_list;
struct bwl_list *bwl_list_new(const struct bwl_column *columns, bool json);
void bwl_list_add(struct bwl_list *l, const void *row);
/* The array, or NULL and the table is on stdout. Frees the list. */
json_t *bwl_list_end(struct bwl_list *l);

/* A table alone. */
struct bwl_table;
struct bwl_table *bwl_table_new(const char *const *heads); /* ends with NULL; at most 16 */
void bwl_cell(struct bwl_table *t, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
void bwl_table_print(struct bwl_table *t, FILE *f);
void bwl_table_free(struct bwl_table *t);

#endif
