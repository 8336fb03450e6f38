// SPDX-License-Identifier: GPL-2.0-or-later
/* The trays that a document is for: see view.h. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "signed/envelope.h"
#include "view.h"

bool view_is_of(const struct view *v, const char *audience, const struct view_tray *t)
{
	struct bwl_tray who = { 0 };
	const char **label;
	json_t *one;
	size_t i;
	bool has;

	if (snprintf(who.name, sizeof(who.name), "%s", t->name) >= (int)sizeof(who.name))
		return false; /* no document has this word */
	snprintf(who.fleet, sizeof(who.fleet), "%s", bwl_root_fleet(v->root));
	label = bwl_must(calloc(json_array_size(t->labels) + 1, sizeof(*label)));
	json_array_foreach(t->labels, i, one) label[i] = json_string_value(one);
	who.labels = label;
	who.nlabels = json_array_size(t->labels);
	has = bwl_audience_has(audience, &who);
	free(label);
	return has;
}

bool view_is_for(const struct view *v, const struct view_policy *p, const struct view_tray *t)
{
	return (!*p->tray || !strcmp(p->tray, t->name)) && view_is_of(v, p->audience, t);
}
