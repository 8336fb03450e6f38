// SPDX-License-Identifier: GPL-2.0-or-later
/* See answer.h: sums over trays, labels and zones, and the worst of each. */
#include <stdlib.h>
#include <string.h>
#include "answer.h"

struct model_sums model_sum(const struct model_asked *a)
{
	struct model_sums x = { 0 };

	for (size_t i = 0; i < a->set->n; i++) {
		const struct model_tray *t = a->set->tray[i];

		if (!model_chosen(a->set, t, &a->choice))
			continue;
		x.trays++;
		x.alive += t->alive;
		x.ending += t->cert_end_s && t->cert_end_s - a->wall_s < MODEL_ENDING_S;
		if (t->cert_end_s && (!x.first || t->cert_end_s < x.first->cert_end_s))
			x.first = t;
		if (!model_is_heard(a, t))
			continue;
		x.heard++;
		x.passed_bps += t->passed_bps;
		x.dropped_bps += t->dropped_bps;
		if (!x.worst || t->dropped_bps > x.worst->dropped_bps)
			x.worst = t;
	}
	return x;
}

struct model_sums model_sum_limit(const struct model_asked *a, model_name key)
{
	struct model_sums x = { .limited = true };

	for (size_t i = 0; i < a->set->n; i++) {
		const struct model_tray *t = a->set->tray[i];

		if (!model_chosen(a->set, t, &a->choice))
			continue;
		for (unsigned k = 0; k < t->nvolumes; k++) {
			const struct model_volume *v = &t->volume[k];
			double share = v->volume ? (double)v->used / (double)v->volume : 1;

			if (v->key != key)
				continue;
			x.trays++;
			x.alive += t->alive;
			x.used += v->used;
			x.volume += v->volume;
			x.limited &= v->limited;
			if (!x.worst || share > x.worst_share) {
				x.worst = t;
				x.worst_share = share;
			}
		}
	}
	return x;
}

struct each {
	uint8_t *done; /* by name */
	unsigned left;
	void (*fn)(void *arg, model_name name);
	void *arg;
};

static void once(struct each *e, model_name name)
{
	if (e->done[name] || !e->left)
		return;
	e->done[name] = 1;
	e->left--;
	e->fn(e->arg, name);
}

static struct each each_new(unsigned most, void (*fn)(void *arg, model_name name), void *arg)
{
	return (struct each){
		.done = bwl_must(calloc(MODEL_NAMES_MAX + 1, 1)), .left = most, .fn = fn, .arg = arg
	};
}

void model_each_label(const struct model_set *s, unsigned most,
		      void (*fn)(void *arg, model_name name), void *arg)
{
	struct each e = each_new(most, fn, arg);

	for (size_t i = 0; i < s->n; i++)
		for (unsigned k = 0; k < s->tray[i]->nlabels; k++)
			once(&e, s->tray[i]->label[k]);
	free(e.done);
}

void model_each_zone(const struct model_set *s, unsigned most,
		     void (*fn)(void *arg, model_name name), void *arg)
{
	struct each e = each_new(most, fn, arg);

	for (size_t i = 0; i < s->n; i++)
		for (unsigned k = 0; k < s->tray[i]->nvolumes; k++)
			if (!strncmp(model_name_text(&s->names, s->tray[i]->volume[k].key), "zone ",
				     5))
				once(&e, s->tray[i]->volume[k].key);
	free(e.done);
}
