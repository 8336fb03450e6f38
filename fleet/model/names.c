// SPDX-License-Identifier: GPL-2.0-or-later
/* See names.h. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "bwl/err.h"
#include "names.h"

#define PLACES 131072 /* twice the names */

static uint32_t hash(const char *s)
{
	uint32_t h = 2166136261U; /* FNV-1a */

	for (; *s; s++)
		h = (h ^ (uint8_t)*s) * 16777619U;
	return h % PLACES;
}

static void begin(struct model_names *names)
{
	names->text = bwl_must(calloc(MODEL_NAMES_MAX + 1, sizeof(*names->text)));
	names->table = bwl_must(calloc(PLACES, sizeof(*names->table)));
	names->text[0] = bwl_must(strdup("(other)"));
	names->n = 1;
}

model_name model_name_of(struct model_names *names, const char *text, uint32_t *left)
{
	char cut[MODEL_NAME_BYTES];
	uint32_t at;

	if (!names->text)
		begin(names);
	snprintf(cut, sizeof(cut), "%s", text);
	for (at = hash(cut); names->table[at]; at = (at + 1) % PLACES)
		if (!strcmp(names->text[names->table[at]], cut))
			return names->table[at];
	if (!*left || names->n > MODEL_NAMES_MAX)
		return 0;
	--*left;
	names->text[names->n] = bwl_must(strdup(cut));
	names->table[at] = (uint16_t)names->n;
	return (model_name)names->n++;
}

const char *model_name_text(const struct model_names *names, model_name name)
{
	return name < names->n ? names->text[name] : "(other)";
}

void model_names_done(struct model_names *names)
{
	for (uint32_t i = 0; i < names->n; i++)
		free(names->text[i]);
	free(names->text);
	free(names->table);
}
