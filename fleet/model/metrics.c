// SPDX-License-Identifier: GPL-2.0-or-later
/* See metrics.h: one list of the metrics of a tray, and sums. */
#include <math.h>
#include <string.h>
#include "export/prometheus.h"
#include "metrics.h"

static const struct prom_labels none = { .label = { { NULL, NULL } } };

static void one(FILE *f, const char *name, enum prom_type type, const char *help, double value)
{
	prom_family(f, name, type, help);
	prom_sample(f, name, &none, value);
}

static double get_up(const struct model_asked *a, const struct model_tray *t)
{
	return model_is_heard(a, t);
}

static double get_alive(const struct model_asked *a, const struct model_tray *t)
{
	(void)a;
	return t->alive;
}

static double get_fresh(const struct model_asked *a, const struct model_tray *t)
{
	return t->fresh && model_worth(a, t) != STATUS_LATE;
}

static double get_closed(const struct model_asked *a, const struct model_tray *t)
{
	(void)a;
	return t->closed;
}

static double get_alarms(const struct model_asked *a, const struct model_tray *t)
{
	(void)a;
	return t->alarms;
}

static double get_refused(const struct model_asked *a, const struct model_tray *t)
{
	return model_is_doubtful(a, t);
}

static double get_cosigned(const struct model_asked *a, const struct model_tray *t)
{
	(void)a;
	return (double)t->cosigned_s;
}

static double get_version(const struct model_asked *a, const struct model_tray *t)
{
	(void)a;
	return (double)t->policy_version;
}

static double get_passes(const struct model_asked *a, const struct model_tray *t)
{
	(void)a;
	return t->passed_bps / 8;
}

static double get_drops(const struct model_asked *a, const struct model_tray *t)
{
	(void)a;
	return t->dropped_bps / 8;
}

static double get_passed(const struct model_asked *a, const struct model_tray *t)
{
	(void)a;
	return (double)t->passed_bytes;
}

static double get_dropped(const struct model_asked *a, const struct model_tray *t)
{
	(void)a;
	return (double)t->dropped_bytes;
}

static const struct {
	const char *name, *help;
	enum prom_type type;
	double (*get)(const struct model_asked *a, const struct model_tray *t);
	bool heard; /* only for trays that answer */
} of_tray[] = {
	{ "tray_up", "Whether the tray answered the controller in the last three minutes.",
	  PROM_GAUGE, get_up, false },
	{ "tray_alive", "Whether the tray has its lease in the store.", PROM_GAUGE, get_alive,
	  false },
	{ "tray_time_fresh", "Whether its signed time is younger than offline_for.", PROM_GAUGE,
	  get_fresh, false },
	{ "tray_closed_peers", "Peers that are closed there.", PROM_GAUGE, get_closed, false },
	{ "tray_alarms", "Alarms that it reports.", PROM_GAUGE, get_alarms, false },
	{ "tray_status_refused",
	  "Whether the store has a status that is not the tray's, or an old one again, or late, or one that nobody can judge.",
	  PROM_GAUGE, get_refused, false },
	{ "tray_log_cosigned_timestamp_seconds",
	  "When the controller cosigned the tray's audit log last; 0: never.", PROM_GAUGE,
	  get_cosigned, false },
	{ "tray_policy_version", "Version of the policy document in force.", PROM_GAUGE,
	  get_version, false },
	{ "tray_passed_bytes_per_second", "What passes, as charged.", PROM_GAUGE, get_passes,
	  true },
	{ "tray_dropped_bytes_per_second",
	  "What is dropped, as seen; on arrival as charged to its sender.", PROM_GAUGE, get_drops,
	  true },
	{ "tray_passed_bytes_total", "Bytes passed since its attach, as charged.", PROM_COUNTER,
	  get_passed, true },
	{ "tray_dropped_bytes_total",
	  "Bytes dropped since its attach, as seen; on arrival as charged to their sender.",
	  PROM_COUNTER, get_dropped, true },
};

static void trays(FILE *f, const struct model_asked *a)
{
	const struct model_set *s = a->set;

	for (size_t k = 0; k < sizeof(of_tray) / sizeof(*of_tray); k++) {
		prom_family(f, of_tray[k].name, of_tray[k].type, of_tray[k].help);
		for (size_t i = 0; i < s->n && i < METRICS_TRAYS; i++) {
			const struct prom_labels l = { .label = { { "tray", s->tray[i]->name } } };

			if (!of_tray[k].heard || model_is_heard(a, s->tray[i]))
				prom_sample(f, of_tray[k].name, &l, of_tray[k].get(a, s->tray[i]));
		}
	}
}

enum of_group { ZONE_USED, ZONE_VOLUME, ZONE_WORST, LABEL_TRAYS, LABEL_PASSES, LABEL_DROPS };

struct grouping {
	FILE *f;
	const struct model_asked *a;
	enum of_group what;
	const char *name;
};

static void zone(void *arg, model_name key)
{
	struct grouping *g = arg;
	struct model_sums x = model_sum_limit(g->a, key);
	const char *text = model_name_text(&g->a->set->names, key) + strlen("zone ");
	const struct prom_labels l = { .label = { { "zone", text } } };

	if (g->what == ZONE_VOLUME && !x.limited)
		return;
	prom_sample(g->f, g->name, &l,
		    g->what == ZONE_USED     ? (double)x.used
		    : g->what == ZONE_VOLUME ? (double)x.volume
					     : x.worst_share);
}

static void label(void *arg, model_name name)
{
	struct grouping *g = arg;
	struct model_asked of = *g->a;
	const char *text = model_name_text(&of.set->names, name);
	const struct prom_labels l = { .label = { { "label", text } } };
	struct model_sums x;

	of.choice.label = text;
	x = model_sum(&of);
	prom_sample(g->f, g->name, &l,
		    g->what == LABEL_TRAYS    ? (double)x.trays
		    : g->what == LABEL_PASSES ? x.passed_bps / 8
					      : x.dropped_bps / 8);
}

static void groups(FILE *f, const struct model_asked *a)
{
	static const struct {
		const char *name, *help;
	} of[] = {
		[ZONE_USED] = { "fleet_zone_volume_used_bytes",
				"Spent of the volumes of a zone, over all trays." },
		[ZONE_VOLUME] = { "fleet_zone_volume_bytes", "Volumes of a zone, over all trays." },
		[ZONE_WORST] = { "fleet_zone_worst_used_ratio",
				 "Spent share of the tray that has spent most of its volume." },
		[LABEL_TRAYS] = { "fleet_label_trays", "Trays with a label." },
		[LABEL_PASSES] = { "fleet_label_passed_bytes_per_second",
				   "What passes on trays with a label." },
		[LABEL_DROPS] = { "fleet_label_dropped_bytes_per_second",
				  "What is dropped on trays with a label." },
	};

	for (unsigned i = 0; i < sizeof(of) / sizeof(*of); i++) {
		struct grouping g = { f, a, (enum of_group)i, of[i].name };

		prom_family(f, of[i].name, PROM_GAUGE, of[i].help);
		if (i <= ZONE_WORST)
			model_each_zone(a->set, METRICS_GROUPS, zone, &g);
		else
			model_each_label(a->set, METRICS_GROUPS, label, &g);
	}
}

void model_metrics(FILE *f, const struct model_asked *a)
{
	struct model_sums x = model_sum(a);

	one(f, "fleet_trays", PROM_GAUGE, "Trays that have anything in the store.",
	    (double)x.trays);
	one(f, "fleet_trays_alive", PROM_GAUGE, "Trays with a lease in the store.",
	    (double)x.alive);
	one(f, "fleet_trays_up", PROM_GAUGE, "Trays that answered in the last three minutes.",
	    (double)x.heard);
	one(f, "fleet_trays_not_shown", PROM_GAUGE, "Trays without metrics of their own.",
	    x.trays > METRICS_TRAYS ? (double)(x.trays - METRICS_TRAYS) : 0);
	one(f, "fleet_passed_bytes_per_second", PROM_GAUGE, "What passes, over all trays.",
	    x.passed_bps / 8);
	one(f, "fleet_dropped_bytes_per_second", PROM_GAUGE, "What is dropped, over all trays.",
	    x.dropped_bps / 8);
	groups(f, a);
	trays(f, a);
}
