// SPDX-License-Identifier: GPL-2.0-or-later
/* See set.h: the trays. */
#include <stdlib.h>
#include <string.h>
#include "set.h"

const char *const model_states[] = {
	[MODEL_LIVE] = "live",     [MODEL_NO_GRANT] = "no-grant", [MODEL_EXPIRED] = "expired",
	[MODEL_SILENT] = "silent", [MODEL_REVOKED] = "revoked",   [MODEL_STATES] = NULL
};
const char *const model_ledgers[] = {
	[MODEL_RELEASED] = "released", [MODEL_LEDGER_NONE] = "none",
	[MODEL_BEHIND] = "behind",     [MODEL_AWAITED] = "awaited",
	[MODEL_CLOSED] = "closed",     [MODEL_PAST_UNKNOWN] = "past-unknown",
	[MODEL_LEDGERS] = NULL
};
const char *const model_switches[] = {
	[MODEL_RUNNING] = "running",     [MODEL_UNJUDGED] = "unjudged",
	[MODEL_UPGRADING] = "upgrading", [MODEL_SWITCH_CLOSED] = "closed",
	[MODEL_STOPPED] = "stopped",     [MODEL_SWITCHES] = NULL
};

static int compare(const struct model_tray *t, const char *name, size_t len)
{
	int r = strncmp(t->name, name, len);

	return r ? r : t->name[len] != '\0';
}

/* Where it is, or where it would be inserted. */
static size_t place(const struct model_set *s, const char *name, size_t len, bool *ret_is_there)
{
	size_t lo = 0, hi = s->n;

	*ret_is_there = false;
	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;
		int r = compare(s->tray[mid], name, len);

		if (!r) {
			*ret_is_there = true;
			return mid;
		}
		if (r < 0)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo;
}

struct model_tray *model_tray(const struct model_set *s, const char *name, size_t len)
{
	bool there;
	size_t at = len < BWL_DOC_NAME_MAX ? place(s, name, len, &there) : 0;

	return len < BWL_DOC_NAME_MAX && there ? s->tray[at] : NULL;
}

struct model_tray *model_tray_add(struct model_set *s, const char *name, size_t len)
{
	struct model_tray *t = model_tray(s, name, len);
	bool there;
	size_t at;

	if (t || s->n == MODEL_TRAYS_MAX || !bwl_store_name_ok(name, len))
		return t;
	at = place(s, name, len, &there);
	if (!(s->n & (s->n - 1)))
		s->tray = bwl_must(reallocarray(s->tray, s->n ? 2 * s->n : 1, sizeof(*s->tray)));
	memmove(&s->tray[at + 1], &s->tray[at], (s->n - at) * sizeof(*s->tray));
	t = s->tray[at] = bwl_must(calloc(1, sizeof(*t)));
	s->n++;
	memcpy(t->name, name, len);
	t->names_left = MODEL_NAMES_A_TRAY;
	return t;
}

static void forget(struct model_tray *t)
{
	if (t->curve && !--t->curve->users)
		free(t->curve);
	free(t);
}

/* Removes trays that are gone. One that is being asked stays until its answer has come. */
void model_sweep(struct model_set *s)
{
	size_t n = 0;

	for (size_t i = 0; i < s->n; i++) {
		if (s->tray[i]->seen || s->tray[i]->busy)
			s->tray[n++] = s->tray[i];
		else
			forget(s->tray[i]);
	}
	/* The list's room is the next power of two, as model_tray_add() computes it. */
	s->n = n;
	if (!n) {
		free(s->tray);
		s->tray = NULL;
	} else {
		size_t room = 1;

		while (room < n)
			room *= 2;
		s->tray = bwl_must(reallocarray(s->tray, room, sizeof(*s->tray)));
	}
}

void model_set_done(struct model_set *s)
{
	for (size_t i = 0; i < s->n; i++)
		forget(s->tray[i]);
	free(s->tray);
	model_names_done(&s->names);
	*s = (struct model_set){ 0 };
}

bool model_chosen(const struct model_set *s, const struct model_tray *t,
		  const struct model_choice *c)
{
	if (c->tray)
		return !strcmp(c->tray, t->name);
	for (unsigned i = 0; c->label && i < t->nlabels; i++)
		if (!strcmp(model_name_text(&s->names, t->label[i]), c->label))
			return true;
	return !c->label;
}
