/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Lines of Prometheus' text format, see prometheus.h. */
#include <math.h>
#include "prometheus.h"

#define PREFIX "bwlimit_"

void prom_family(FILE *f, const char *name, enum prom_type type, const char *help)
{
	fprintf(f, "# HELP " PREFIX "%s %s\n# TYPE " PREFIX "%s %s\n", name, help, name,
		type == PROM_COUNTER ? "counter" : "gauge");
}

/* Backslash, quote and line feed are escaped; other bytes that are no printable ASCII are '?'. */
static void put_value(FILE *f, const char *s)
{
	for (; *s; s++) {
		if (*s == '\\' || *s == '"')
			fprintf(f, "\\%c", *s);
		else if (*s == '\n')
			fputs("\\n", f);
		else
			fputc(*s >= ' ' && *s <= '~' ? *s : '?', f);
	}
}

static void put_name(FILE *f, const char *name, const struct prom_labels *labels)
{
	const char *lead = "{";

	fprintf(f, PREFIX "%s", name);
	for (unsigned i = 0; i < PROM_LABELS && labels->label[i].name; i++) {
		fprintf(f, "%s%s=\"", lead, labels->label[i].name);
		put_value(f, labels->label[i].value);
		fputc('"', f);
		lead = ",";
	}
	fputs(*lead == ',' ? "} " : " ", f);
}

void prom_sample(FILE *f, const char *name, const struct prom_labels *labels, double value)
{
	put_name(f, name, labels);
	fprintf(f, "%.*f\n", value == trunc(value) ? 0 : 3, value);
}
