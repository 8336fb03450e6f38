// SPDX-License-Identifier: GPL-2.0-or-later
/* Values and lists: see bwl/show.h. */
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include "bwl/show.h"

char *bwl_when(uint64_t deadline_ns, uint64_t now_ns, char buf[static BWL_WHEN_BUF])
{
	char t[BWL_UNIT_BUF];

	if (deadline_ns == UINT64_MAX)
		return strcpy(buf, "never");
	if (deadline_ns > now_ns)
		snprintf(buf, BWL_WHEN_BUF, "in %s",
			 bwl_human_time((double)(deadline_ns - now_ns) / 1e9, t));
	else
		snprintf(buf, BWL_WHEN_BUF, "%s ago",
			 bwl_human_time((double)(now_ns - deadline_ns) / 1e9, t));
	return buf;
}

static _Thread_local bool no_text;

bool bwl_v_no_text(void)
{
	return no_text;
}

struct bwl_value bwl_v_both(json_t *json, const char *fmt, ...)
{
	struct bwl_value v;
	va_list ap;

	v.json = json;
	v.text[0] = '\0';
	if (no_text)
		return v;
	va_start(ap, fmt);
	vsnprintf(v.text, sizeof(v.text), fmt, ap);
	va_end(ap);
	return v;
}

struct bwl_value bwl_v_json(json_t *json)
{
	return bwl_v_both(json, "-");
}

struct bwl_value bwl_v_text(const char *s)
{
	return bwl_v_both(bwl_json_text(s), "%s", s ? s : "-");
}

struct bwl_value bwl_v_yes(bool yes)
{
	return bwl_v_both(json_boolean(yes), "%s", yes ? "yes" : "-");
}

struct bwl_value bwl_v_count(uint64_t n)
{
	return bwl_v_both(bwl_json_u64(n), "%llu", (unsigned long long)n);
}

struct bwl_value bwl_v_bytes(uint64_t n)
{
	char buf[BWL_UNIT_BUF];

	return bwl_v_both(bwl_json_u64(n), "%s", no_text ? "" : bwl_human_size((double)n, buf));
}

struct bwl_value bwl_v_rate(uint64_t bps)
{
	char buf[BWL_UNIT_BUF];

	return bps ? bwl_v_both(bwl_json_u64(bps), "%s", no_text ? "" : bwl_format_rate(bps, buf))
		   : bwl_v_both(json_null(), "unlimited");
}

struct bwl_value bwl_v_speed(const double *bps)
{
	char buf[BWL_UNIT_BUF];

	return bps ? bwl_v_both(bwl_json_speed(*bps), "%s",
				no_text ? "" : bwl_human_rate(*bps, buf))
		   : bwl_v_json(json_null());
}

struct bwl_value bwl_v_in(uint64_t at_ns, uint64_t now_ns)
{
	char buf[BWL_WHEN_BUF];

	return bwl_v_both(bwl_json_in(at_ns, now_ns), "%s",
			  no_text ? "" : bwl_when(at_ns, now_ns, buf));
}

static bool shows(const struct bwl_column *c, bool json)
{
	return (json ? c->field->key : c->field->head) &&
	       c->where != (json ? BWL_FOR_PEOPLE : BWL_FOR_PROGRAMS);
}

json_t *bwl_row_json(const struct bwl_column *columns, const void *row)
{
	json_t *o = json_object();

	no_text = true;
	for (const struct bwl_column *c = columns; c->field; c++)
		if (shows(c, true))
			json_object_set_new(o, c->field->key, c->field->get(row).json);
	no_text = false;
	return o;
}

#define COLUMNS_MAX 16

struct bwl_list {
	const struct bwl_column *columns;
	const char *heads[COLUMNS_MAX + 1];
	struct bwl_table *table; /* NULL: for programs */
	json_t *rows;
};

struct bwl_list *bwl_list_new(const struct bwl_column *columns, bool json)
{
	struct bwl_list *l = calloc(1, sizeof(*l));
	size_t n = 0;

	if (!l)
		abort();
	l->columns = columns;
	if (json) {
		l->rows = json_array();
		return l;
	}
	for (const struct bwl_column *c = columns; c->field && n < COLUMNS_MAX; c++)
		if (shows(c, false))
			l->heads[n++] = c->field->head;
	l->table = bwl_table_new(l->heads);
	return l;
}

void bwl_list_add(struct bwl_list *l, const void *row)
{
	struct bwl_value v;

	if (!l->table) {
		json_array_append_new(l->rows, bwl_row_json(l->columns, row));
		return;
	}
	for (const struct bwl_column *c = l->columns; c->field; c++) {
		if (!shows(c, false))
			continue;
		v = c->field->get(row);
		bwl_cell(l->table, "%s", v.text);
		json_decref(v.json);
	}
}

json_t *bwl_list_end(struct bwl_list *l)
{
	json_t *rows = l->rows;

	if (l->table)
		bwl_table_print(l->table, stdout);
	bwl_table_free(l->table);
	free(l);
	return rows;
}
