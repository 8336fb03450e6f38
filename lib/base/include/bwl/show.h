/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Output of tools: documents for programs (bwl/doc.h), tables for people. A field is described
 * once, as a bwl_field, for both. Without memory these functions abort.
 */
#ifndef BWL_SHOW_H
#define BWL_SHOW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include "doc.h"
#include "units.h"

/* "in 2 h", "never", "3 s ago" */
#define BWL_WHEN_BUF (BWL_UNIT_BUF + 8)
char *bwl_when(uint64_t deadline_ns, uint64_t now_ns, char buf[static BWL_WHEN_BUF]);

/* One value for both: JSON for programs, and text for people. */
struct bwl_value {
	json_t *json; /* owned */
	char text[256];
};
struct bwl_value bwl_v_text(const char *s); /* NULL: "-" */
struct bwl_value bwl_v_yes(bool yes);       /* "yes", "-" */
struct bwl_value bwl_v_count(uint64_t n);
struct bwl_value bwl_v_bytes(uint64_t n);
struct bwl_value bwl_v_rate(uint64_t bps);       /* a limit; 0: null, "unlimited" */
struct bwl_value bwl_v_speed(const double *bps); /* measured; NULL: null, "-" */
struct bwl_value bwl_v_in(uint64_t at_ns, uint64_t now_ns);
/*
 * True while texts of values are not needed: a document of a thousand peers is made every second,
 * and half of its time went into text that nobody read.
 */
bool bwl_v_no_text(void);
/* Takes the reference; the text is made by printf. */
struct bwl_value bwl_v_both(json_t *json, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));
/* For programs only. */
struct bwl_value bwl_v_json(json_t *json);

struct bwl_field {
	const char *key; /* NULL: for people only */
	/* column heading, after BWL_RIGHT, BWL_SPARE or BWL_NAMES; NULL: for programs only */
	const char *head;
	struct bwl_value (*get)(const void *row);
};
#define BWL_RIGHT '>' /* aligned to the right: numbers, never cut */
#define BWL_SPARE '?' /* before these: omitted if the terminal is too narrow */
#define BWL_NAMES '~' /* names, shortened in the middle if the terminal is too narrow */

/* Where a list shows a field that has both forms. */
enum bwl_where { BWL_BOTH, BWL_FOR_PROGRAMS, BWL_FOR_PEOPLE };
struct bwl_column {
	const struct bwl_field *field; /* NULL ends the list */
	enum bwl_where where;
};

/* The fields of one row as an object. */
json_t *bwl_row_json(const struct bwl_column *columns, const void *row);

/* Rows for programs or for people, whichever is requested. */
struct bwl_list;
struct bwl_list *bwl_list_new(const struct bwl_column *columns, bool json);
void bwl_list_add(struct bwl_list *l, const void *row);
/* Returns the array, or prints the table on stdout and returns NULL. Frees the list. */
json_t *bwl_list_end(struct bwl_list *l);

/*
 * Lines on stdout; the newline at the end may be left out. In a terminal, a line longer than its
 * width goes on in the next one, indented by `hang`. Foreign text in it is plain (bwl_text_said).
 */
void bwl_say(size_t hang, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* fprintf of what may have foreign text in it (bwl_text_said). */
void bwl_put(FILE *f, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* A table only. */
struct bwl_table;
struct bwl_table *bwl_table_new(const char *const *heads); /* ends with NULL; at most 16 */
void bwl_cell(struct bwl_table *t, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/*
 * Fits the width of the terminal f, if it is one: names are shortened, and a last column of text is
 * wrapped. Otherwise the table is as wide as its content.
 */
void bwl_table_print(struct bwl_table *t, FILE *f);
void bwl_table_print_in(struct bwl_table *t, FILE *f, size_t most);
size_t bwl_columns_of(FILE *f); /* $COLUMNS, or the terminal's width; no terminal: SIZE_MAX */
void bwl_table_free(struct bwl_table *t);

#endif
