// SPDX-License-Identifier: GPL-2.0-or-later
/* Keeps the errors of one policy: policy_report.h. */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "policy_report.h"

void bwl_path_of(const struct bwl_step *s, unsigned n, char buf[static BWL_PATH_BYTES])
{
	size_t at = 0;

	*buf = '\0';
	for (; n--; s++)
		at += s->key ? snprintf(buf + at, BWL_PATH_BYTES - at, "%.64s/", s->key)
			     : snprintf(buf + at, BWL_PATH_BYTES - at, "%zu/", s->index);
}

static void add_doubt(struct bwl_report *t, const char *path, bool twice)
{
	t->doubts = bwl_must(reallocarray(t->doubts, t->ndoubts + 1, sizeof(*t->doubts)));
	t->doubts[t->ndoubts++] = (struct bwl_doubt){ .path = bwl_must(strdup(path)),
						      .twice = twice };
}

void bwl_doubt(struct bwl_report *t, const char *fmt, ...)
{
	char path[BWL_PATH_BYTES];
	va_list ap;

	if (!t->all)
		return;
	va_start(ap, fmt);
	vsnprintf(path, sizeof(path), fmt, ap);
	va_end(ap);
	add_doubt(t, path, false);
}

/* Is one of two paths the other, or above it? */
static bool meet(const char *a, const char *b)
{
	while (*a && *b) {
		size_t na = strcspn(a, "/") + 1, nb = strcspn(b, "/") + 1;

		if (strncmp(b, "*/", 2) && (na != nb || strncmp(a, b, na)))
			return false;
		a += na;
		b += nb;
	}
	return true;
}

bool bwl_sure(const struct bwl_report *t, const char *fmt, ...)
{
	char path[BWL_PATH_BYTES];
	va_list ap;

	if (!t->ndoubts)
		return true;
	va_start(ap, fmt);
	vsnprintf(path, sizeof(path), fmt, ap);
	va_end(ap);
	for (size_t i = 0; i < t->ndoubts; i++)
		if (meet(t->doubts[i].path, path))
			return false;
	return true;
}

bool bwl_sure_of(const struct bwl_report *t, const struct bwl_place *w, const char *key)
{
	char path[BWL_PATH_BYTES];

	if (!t->ndoubts)
		return true;
	bwl_path_of(w->step, w->n, path);
	return bwl_sure(t, "%s%s/", path, key);
}

/* Was an error told at the path, or above it? */
static bool is_told(const struct bwl_report *t, const char *path)
{
	for (size_t i = 0; i < t->ndoubts; i++)
		if (!t->doubts[i].twice &&
		    !strncmp(path, t->doubts[i].path, strlen(t->doubts[i].path)))
			return true;
	return false;
}

static void add(struct bwl_report *t, int r)
{
	struct bwl_errors *all = t->all;

	for (size_t i = 0; i < all->n; i++)
		if (!strcmp(all->list[i].text, t->e.text) && all->list[i].line == t->e.line &&
		    all->list[i].column == t->e.column)
			return;
	if (all->n < BWL_ERRORS_MAX) {
		all->list[all->n++] = t->e;
		return;
	}
	all->more = true;
	t->r = r;
}

void bwl_tell_path(struct bwl_report *t, const char *path, bool twice, int r)
{
	if (!r || t->r)
		return;
	if (!t->all || r == -ENOMEM) {
		t->r = r;
		t->last = t->e;
	}
	if (!t->all || (!twice && is_told(t, path)))
		return;
	add(t, r);
	add_doubt(t, path, twice);
}

void bwl_tell(struct bwl_report *t, const struct bwl_place *w, int r)
{
	char path[BWL_PATH_BYTES];

	if (!r || t->r)
		return;
	bwl_path_of(w->step, w->n, path);
	if (t->text && !is_told(t, path))
		bwl_scan_locate(t->text, t->len, w, BWL_AT_VALUE, &t->e);
	bwl_tell_path(t, path, false, r);
}

static int by_position(const void *pa, const void *pb)
{
	const struct bwl_err *a = pa, *b = pb;

	if (a->line != b->line)
		return a->line < b->line ? -1 : 1;
	return a->column < b->column ? -1 : a->column > b->column;
}

void bwl_report_end(struct bwl_report *t)
{
	if (t->all)
		qsort(t->all->list, t->all->n, sizeof(*t->all->list), by_position);
	for (size_t i = 0; i < t->ndoubts; i++)
		free(t->doubts[i].path);
	free(t->doubts);
}
