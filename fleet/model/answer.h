/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Answers about a fleet, in the JSON of the read model (docs/json.md): the same kinds as for one
 * tray, summed over the selected trays.
 */
#ifndef BWL_FLEET_MODEL_ANSWER_H
#define BWL_FLEET_MODEL_ANSWER_H

#include "set.h"

/* For a list of trays: which part, and in which order. Sums cover all of them. */
enum model_sort { MODEL_BY_NAME, MODEL_BY_WORST, MODEL_BY_DROPPED, MODEL_BY_PASSED };
struct model_page {
	size_t offset, limit; /* limit 0: to the end */
	enum model_sort sort;
};
/* The words of the request; NULL: absent. -EINVAL: one is invalid. */
int model_page_parse(const char *offset, const char *limit, const char *sort,
		     struct model_page *ret, struct bwl_err *e);

struct model_asked {
	const struct model_set *set;
	const char *fleet; /* its name */
	struct model_choice choice;
	struct model_page page; /* for model_status() */
	uint64_t now_ns;
	int64_t wall_s;
};
json_t *model_status(const struct model_asked *a);
json_t *model_top(const struct model_asked *a);
json_t *model_usage(const struct model_asked *a);
json_t *model_reasons(const struct model_asked *a);
json_t *model_history(const struct model_asked *a);
json_t *model_closures(const struct model_asked *a); /* closures.c */
/* -EINVAL: size or compression is invalid. */
json_t *model_exfil(const struct model_asked *a, const char *size, const char *compression,
		    struct bwl_err *e);

/* Sums over the selected trays. */
struct model_sums {
	size_t trays, alive, heard;     /* heard: those that answered in the last three minutes */
	double passed_bps, dropped_bps; /* of those that were heard, now */
	uint64_t used, volume;          /* of a zone */
	bool limited;
	size_t ending;                  /* certificates that end soon, or have ended */
	const struct model_tray *first; /* the tray whose certificate ends first, of those known */
	/* the tray that drops most; for a zone, the one that has spent most */
	const struct model_tray *worst;
	double worst_share;
};
#define MODEL_ENDING_S (30 * 86400)
#define MODEL_OLD_NS (180 * 1000000000ULL)
/* Otherwise its numbers are outdated. */
static inline bool model_is_heard(const struct model_asked *a, const struct model_tray *t)
{
	return t->heard_ns && a->now_ns - t->heard_ns < MODEL_OLD_NS;
}
/*
 * What its newest status is worth now; the last status of a tray that is off is late, and no alarm.
 */
enum status_worth model_worth(const struct model_asked *a, const struct model_tray *t);
bool model_is_doubtful(const struct model_asked *a, const struct model_tray *t);
struct model_sums model_sum(const struct model_asked *a);
/* Over all limits of that name; a key is as in `usage`: "zone external". */
struct model_sums model_sum_limit(const struct model_asked *a, model_name key);
/* The trays' labels, and keys of zones: calls fn for each once, at most `most` times. */
void model_each_label(const struct model_set *s, unsigned most,
		      void (*fn)(void *arg, model_name name), void *arg);
void model_each_zone(const struct model_set *s, unsigned most,
		     void (*fn)(void *arg, model_name name), void *arg);

#endif
