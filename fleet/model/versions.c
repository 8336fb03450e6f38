// SPDX-License-Identifier: GPL-2.0-or-later
/* See versions.h. */
#include <stdlib.h>
#include <string.h>
#include "versions.h"

static int order(const void *x, const void *y)
{
	const struct model_version *p = x, *q = y;
	int c = strcmp(p->policy, q->policy);

	return c ? c : p->version < q->version ? 1 : p->version > q->version ? -1 : 0;
}

struct model_version *model_versions(const struct model_asked *a, size_t *ret_n)
{
	struct model_version *list = bwl_must(calloc(a->set->n + 1, sizeof(*list)));
	size_t n = 0, kept = 0;

	for (size_t i = 0; i < a->set->n; i++) {
		const struct model_tray *t = a->set->tray[i];

		if (t->has_policy)
			list[n++] = (struct model_version){ t->policy, t->policy_version,
							    model_chosen(a->set, t, &a->choice) };
	}
	qsort(list, n, sizeof(*list), order);
	for (size_t i = 0; i < n; i++) {
		if (kept && !order(&list[kept - 1], &list[i]))
			list[kept - 1].trays += list[i].trays;
		else
			list[kept++] = list[i];
	}
	*ret_n = kept;
	return list;
}

bool model_is_late(const struct model_version *list, size_t n, const struct model_tray *t)
{
	size_t low = 0, high = n;

	/* Finds the first row of its policy. */
	while (t->has_policy && low < high) {
		size_t mid = low + (high - low) / 2;

		if (strcmp(list[mid].policy, t->policy) < 0)
			low = mid + 1;
		else
			high = mid;
	}
	return t->has_policy && low < n && !strcmp(list[low].policy, t->policy) &&
	       t->policy_version < list[low].version;
}
