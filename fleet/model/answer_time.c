// SPDX-License-Identifier: GPL-2.0-or-later
/* See answer.h: the last hour, and the shortest time for a theft. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "answer.h"
#include "bwl/doc.h"
#include "bwl/units.h"

static json_t *point(int64_t minute, const struct model_minute *sum, size_t trays)
{
	char buf[BWL_TIME_BUF];
	json_t *o = json_object();

	json_object_set_new(o, "time", json_string(bwl_utc(minute * 60, -1, buf)));
	json_object_set_new(o, "sent_bytes", bwl_json_u64(sum->sent));
	json_object_set_new(o, "sent_bits_per_second", json_real((double)sum->sent * 8 / 60));
	json_object_set_new(o, "sent_dropped_bytes", bwl_json_u64(sum->dropped));
	json_object_set_new(o, "tray_count", bwl_json_u64(trays));
	return o;
}

json_t *model_history(const struct model_asked *a)
{
	json_t *o = bwl_doc("fleet-history"), *points = json_array();
	int64_t now = a->wall_s / 60;
	char buf[BWL_TIME_BUF];

	for (int64_t m = now - MODEL_MINUTES + 1; m <= now; m++) {
		struct model_minute sum = { 0 };
		size_t trays = 0;

		for (size_t i = 0; i < a->set->n; i++) {
			const struct model_tray *t = a->set->tray[i];
			const struct model_minute *x = &t->minute[(uint64_t)m % MODEL_MINUTES];

			if (x->minute != m || !model_chosen(a->set, t, &a->choice))
				continue;
			sum.sent += x->sent;
			sum.dropped += x->dropped;
			trays++;
		}
		json_array_append_new(points, point(m, &sum, trays));
	}
	json_object_set_new(o, "fleet", json_string(a->fleet));
	json_object_set_new(o, "since",
			    json_string(bwl_utc((now - MODEL_MINUTES + 1) * 60, -1, buf)));
	json_object_set_new(o, "until", json_string(bwl_utc((now + 1) * 60, -1, buf)));
	json_object_set_new(o, "step_s", json_integer(60));
	json_object_set_new(o, "points", points);
	return o;
}

/* What all trays together let out. */
struct doors {
	double bytes[BWL_EXFIL_POINTS], rate_bps, at_once;
	/* trays: those whose doors are known; the others are left out */
	uint64_t trays, exits, contained, unlimited, unknown;
};

static void add_doors(struct doors *d, const struct model_tray *t)
{
	if (!t->curve) {
		d->unknown++;
		return;
	}
	d->trays++;
	for (unsigned i = 0; i < BWL_EXFIL_POINTS; i++)
		d->bytes[i] += t->curve->bytes[i];
	d->rate_bps += t->long_run_bps;
	d->at_once += t->at_once;
	d->exits += t->exits;
	d->contained += t->contained;
	d->unlimited += t->unlimited;
}

static unsigned moment_of(double s)
{
	unsigned i = 0;

	while (i + 1 < BWL_EXFIL_POINTS && bwl_exfil_moment_s(i) < s)
		i++;
	return i;
}

/* The tray through which most could leave by then, and what limits it there. */
static json_t *most_by(const struct model_asked *a, double s)
{
	const struct model_tray *most = NULL;
	unsigned at = moment_of(s);

	for (size_t i = 0; i < a->set->n; i++) {
		const struct model_tray *t = a->set->tray[i];

		if (t->curve && model_chosen(a->set, t, &a->choice) &&
		    (!most || t->curve->bytes[at] > most->curve->bytes[at]))
			most = t;
	}
	return most ? json_sprintf("tray %s: %s", most->name, most->binding) : json_null();
}

/* Amounts by time; null: nothing is known about any tray. */
static json_t *curve(const struct doors *d)
{
	json_t *list;

	if (!d->trays)
		return json_null();
	list = json_array();
	for (unsigned i = 0; i < BWL_EXFIL_POINTS; i++)
		json_array_append_new(list, bwl_json_real(d->bytes[i]));
	return list;
}

static json_t *warnings(const struct doors *d)
{
	json_t *w = json_array();

	if (d->unknown)
		json_array_append_new(
			w,
			json_sprintf(
				"trays of which nothing is known, and that are not counted: %llu",
				(unsigned long long)d->unknown));
	if (d->unlimited)
		json_array_append_new(
			w,
			json_sprintf(
				"exits without a limit of their own (mode monitor, or no rate): %llu",
				(unsigned long long)d->unlimited));
	if (d->contained)
		json_array_append_new(
			w,
			json_sprintf(
				"contained peers are not counted, their own DPUs must limit them: %llu",
				(unsigned long long)d->contained));
	json_array_append_new(
		w, json_string("less than the true time, by a tenth at most, and never more"));
	return w;
}

json_t *model_exfil(const struct model_asked *a, const char *size, const char *compression,
		    struct bwl_err *e)
{
	double times = compression ? strtod(compression, NULL) : 1, least;
	struct doors *d;
	uint64_t bytes;
	bool never;
	json_t *o;

	if (!size || bwl_parse_size(size, &bytes, e) || !bytes) {
		bwl_fail(e, EINVAL, "size: must be how much must not leave, such as 1tb");
		return NULL;
	}
	if (!(times >= 1 && times <= 1e6)) {
		bwl_fail(e, EINVAL, "compression: must be a number from 1 to 1000000");
		return NULL;
	}
	d = bwl_must(calloc(1, sizeof(*d)));
	for (size_t i = 0; i < a->set->n; i++)
		if (model_chosen(a->set, a->set->tray[i], &a->choice))
			add_doors(d, a->set->tray[i]);
	least = bwl_exfil_least_s(d->bytes, (double)bytes / times);
	/* "Later than the last known moment" does not mean "never". */
	never = isinf(least) && !(d->rate_bps > 0) && !d->unknown;
	if (isinf(least))
		least = bwl_exfil_moment_s(BWL_EXFIL_POINTS - 1);
	o = bwl_doc("exfil");
	json_object_set_new(o, "size_bytes", bwl_json_u64(bytes));
	json_object_set_new(o, "compression", json_real(times));
	json_object_set_new(o, "tray_count", bwl_json_u64(d->trays));
	json_object_set_new(o, "least_s", never || !d->trays ? json_null() : json_real(least));
	json_object_set_new(o, "never", json_boolean(never));
	json_object_set_new(o, "long_run_bits_per_second", bwl_json_real(d->rate_bps));
	json_object_set_new(o, "at_once_bytes", bwl_json_real(d->at_once));
	json_object_set_new(o, "binding", most_by(a, least));
	json_object_set_new(o, "exit_count", bwl_json_u64(d->exits));
	json_object_set_new(o, "records_bytes", json_null());
	json_object_set_new(o, "contained_count", bwl_json_u64(d->contained));
	json_object_set_new(o, "unlimited_count", bwl_json_u64(d->unlimited));
	json_object_set_new(o, "curve_bytes", curve(d));
	json_object_set_new(o, "warnings", warnings(d));
	free(d);
	return o;
}
