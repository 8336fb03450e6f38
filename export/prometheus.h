/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Prometheus' text format 0.0.4: a family is a name with its help and type, followed by its
 * samples. Names and units follow Prometheus' conventions: base units, counters end in _total.
 */
#ifndef BWL_EXPORT_PROMETHEUS_H
#define BWL_EXPORT_PROMETHEUS_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

struct prom_label {
	const char *name, *value; /* value: any bytes */
};
#define PROM_LABELS 4
struct prom_labels {
	struct prom_label label[PROM_LABELS]; /* name NULL ends them */
};

enum prom_type { PROM_COUNTER, PROM_GAUGE, PROM_HISTOGRAM };
/* `name` without "bwlimit_". */
void prom_family(FILE *f, const char *name, enum prom_type type, const char *help);
/* Whole numbers without a fraction; Prometheus keeps 64-bit floats, exact to 2^53. */
void prom_sample(FILE *f, const char *name, const struct prom_labels *labels, double value);

/*
 * One histogram of the family. count: values up to that end and above the previous one; they are
 * summed here, as Prometheus requires, and +Inf comes last.
 */
struct prom_bucket {
	double end_s;
	uint64_t count;
};
void prom_histogram(FILE *f, const char *name, const struct prom_label *label,
		    const struct prom_bucket *bucket, size_t n, uint64_t all, double sum_s);

/* The same text in OpenMetrics 1.0: a counter's family name ends before _total. */
char *prom_openmetrics(const char *text, size_t len, size_t *ret_len);

#endif
