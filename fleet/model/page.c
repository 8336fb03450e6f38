// SPDX-License-Identifier: GPL-2.0-or-later
/* See page.h. */
#include <stdlib.h>
#include <string.h>
#include "page.h"

static const char *const sorts[] = {
	[MODEL_BY_NAME] = "name",
	[MODEL_BY_WORST] = "worst",
	[MODEL_BY_DROPPED] = "dropped",
	[MODEL_BY_PASSED] = "passed",
};

static int number(const char *what, const char *text, size_t *ret, struct bwl_err *e)
{
	char *end;
	unsigned long n;

	if (!text)
		return 0;
	n = strtoul(text, &end, 10);
	if (*text < '0' || *text > '9' || *end || n > MODEL_TRAYS_MAX)
		return bwl_fail(e, EINVAL, "%s: must be a whole number, at most %u", what,
				MODEL_TRAYS_MAX);
	*ret = n;
	return 0;
}

int model_page_parse(const char *offset, const char *limit, const char *sort,
		     struct model_page *ret, struct bwl_err *e)
{
	int r;

	*ret = (struct model_page){ .offset = 0 };
	r = number("offset", offset, &ret->offset, e);
	if (!r)
		r = number("limit", limit, &ret->limit, e);
	if (r || !sort)
		return r;
	for (size_t i = 0; i < sizeof(sorts) / sizeof(*sorts); i++) {
		if (strcmp(sorts[i], sort))
			continue;
		ret->sort = (enum model_sort)i;
		return 0;
	}
	return bwl_fail(e, EINVAL, "sort: must be name, worst, dropped or passed");
}

struct sorting {
	const struct model_asked *a;
	const struct model_version *versions;
	size_t nversions;
};

/*
 * What needs attention: the higher, the worse. What somebody else's word alone can cause comes
 * last.
 */
static unsigned badness(const struct sorting *s, const struct model_tray *t)
{
	bool heard = model_is_heard(s->a, t);

	return (!t->alive) * 64U + (t->alive && !heard) * 32U +
	       (t->alarms || model_is_doubtful(s->a, t)) * 16U + (t->sw != MODEL_RUNNING) * 8U +
	       (t->status_mod && !t->fresh) * 4U + (t->closed != 0) * 2U +
	       model_is_late(s->versions, s->nversions, t);
}

static int more(double x, double y)
{
	return x > y ? -1 : x < y;
}

/* Equal trays stay in the order of their names, as in the set. */
static int order(const void *x, const void *y, void *arg)
{
	const struct model_tray *p = *(const struct model_tray *const *)x,
				*q = *(const struct model_tray *const *)y;
	const struct sorting *s = arg;
	const struct model_asked *a = s->a;
	int c = 0;

	if (a->page.sort == MODEL_BY_WORST)
		c = more(badness(s, p), badness(s, q));
	if (!c && a->page.sort == MODEL_BY_PASSED)
		c = more(p->passed_bps, q->passed_bps);
	else if (!c && a->page.sort != MODEL_BY_NAME)
		c = more(p->dropped_bps, q->dropped_bps);
	return c ? c : strcmp(p->name, q->name);
}

const struct model_tray **model_page_trays(const struct model_asked *a,
					   const struct model_version *versions, size_t nversions,
					   size_t *ret_n)
{
	struct sorting s = { a, versions, nversions };
	const struct model_tray **list = bwl_must(calloc(a->set->n + 1, sizeof(*list)));
	size_t n = 0, from = a->page.offset;

	for (size_t i = 0; i < a->set->n; i++)
		if (model_chosen(a->set, a->set->tray[i], &a->choice))
			list[n++] = a->set->tray[i];
	if (a->page.sort != MODEL_BY_NAME)
		qsort_r(list, n, sizeof(*list), order, &s);
	from = from < n ? from : n;
	n -= from;
	if (a->page.limit && a->page.limit < n)
		n = a->page.limit;
	memmove(list, list + from, n * sizeof(*list));
	*ret_n = n;
	return list;
}
