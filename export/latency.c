// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * How long packets are delayed, as histograms: for each of at most 63 peers that are measured by
 * name, and for all others together, whose label is empty.
 */
#include <errno.h>
#include <stdlib.h>
#include <bwl/cleanup.h>
#include <bwl/latency.h>
#include "metrics.h"
#include "prometheus.h"
#include "state.h"

/*
 * Ends of buckets, as powers of two of ns: FIRST collects all smaller bins; LAST is the last with
 * an end.
 */
#define FIRST 8
#define LAST 30

static void put(FILE *f, const char *name, const struct bwl_lat_peer *p,
		const struct bwl_lat_hist *h)
{
	const struct prom_label label = { "peer", p->name };
	struct prom_bucket bucket[LAST + 1];
	size_t n = 2;
	unsigned i;

	bucket[0] = (struct prom_bucket){ 1e-9, h->bin[0] };
	bucket[1] = (struct prom_bucket){ (1 << FIRST) / 1e9, 0 };
	for (i = 1; i <= FIRST; i++)
		bucket[1].count += h->bin[i];
	for (; i <= LAST; i++)
		bucket[n++] = (struct prom_bucket){ (double)(1ULL << i) / 1e9, h->bin[i] };
	prom_histogram(f, name, &label, bucket, n, bwl_lat_frames(h), (double)h->sum_ns / 1e9);
}

int metrics_latency(FILE *f, const struct bwl_view *v, struct bwl_err *e)
{
	BWL_AUTO_FREE struct bwl_lat_peers *l = calloc(1, sizeof(*l));
	bool on = bwl_lat_is_on(v->pins);
	size_t i;
	int r;

	prom_family(f, "latency_measured", PROM_GAUGE, "1: the programs measure latency");
	prom_sample(f, "latency_measured", &(struct prom_labels){ 0 }, on);
	if (!on)
		return 0;
	if (!l)
		return bwl_fail(e, ENOMEM, "out of memory");
	r = bwl_lat_read(v->pins, l, e);
	if (r)
		return r;
	prom_family(f, "shape_delay_seconds", PROM_HISTOGRAM,
		    "From the host port to the departure time that mode shape gives");
	for (i = 0; i < l->n; i++)
		put(f, "shape_delay_seconds", &l->peer[i], &l->peer[i].sum.shape);
	prom_family(f, "gate_delay_seconds", PROM_HISTOGRAM,
		    "From the host port to the last gate at the uplink, ESP included");
	for (i = 0; i < l->n; i++)
		put(f, "gate_delay_seconds", &l->peer[i], &l->peer[i].sum.gate);
	prom_family(f, "gate_unmatched_frames_total", PROM_COUNTER,
		    "Frames at the last gate whose time of arrival is not known");
	for (i = 0; i < l->n; i++)
		prom_sample(f, "gate_unmatched_frames_total",
			    &(struct prom_labels){ { { "peer", l->peer[i].name } } },
			    (double)l->peer[i].sum.unmatched);
	return 0;
}
