// SPDX-License-Identifier: GPL-2.0-or-later
/* Lines of Prometheus' text format, see prometheus.h. */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "bwl/err.h"
#include "prometheus.h"

#define PREFIX "bwlimit_"

void prom_family(FILE *f, const char *name, enum prom_type type, const char *help)
{
	fprintf(f, "# HELP " PREFIX "%s %s\n# TYPE " PREFIX "%s %s\n", name, help, name,
		type == PROM_COUNTER     ? "counter"
		: type == PROM_HISTOGRAM ? "histogram"
					 : "gauge");
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

static void put_bucket(FILE *f, const char *name, const struct prom_label *label, const char *end,
		       uint64_t count)
{
	fprintf(f, PREFIX "%s_bucket{%s=\"", name, label->name);
	put_value(f, label->value);
	fprintf(f, "\",le=\"%s\"} %llu\n", end, (unsigned long long)count);
}

void prom_histogram(FILE *f, const char *name, const struct prom_label *label,
		    const struct prom_bucket *bucket, size_t n, uint64_t all, double sum_s)
{
	const struct prom_labels labels = { { *label } };
	uint64_t count = 0;
	char part[80];

	for (size_t i = 0; i < n; i++) {
		snprintf(part, sizeof(part), "%.10g", bucket[i].end_s);
		put_bucket(f, name, label, part, count += bucket[i].count);
	}
	put_bucket(f, name, label, "+Inf", all);
	snprintf(part, sizeof(part), "%s_sum", name);
	put_name(f, part, &labels);
	fprintf(f, "%.9f\n", sum_s);
	snprintf(part, sizeof(part), "%s_count", name);
	prom_sample(f, part, &labels, (double)all);
}

#define TOTAL "_total "
#define END "# EOF\n"

char *prom_openmetrics(const char *text, size_t len, size_t *ret_len)
{
	char *ret = bwl_must(malloc(len + sizeof(END))), *to = ret;
	const char *end = text + len;

	while (text < end) {
		const char *line = memchr(text, '\n', (size_t)(end - text)), *total;
		size_t n = (size_t)(line ? line + 1 - text : end - text);

		total = *text == '#' ? memmem(text, n, TOTAL, strlen(TOTAL)) : NULL;
		if (total) {
			to = mempcpy(to, text, (size_t)(total - text));
			n -= (size_t)(total - text) + strlen(TOTAL) - 1;
			text = total + strlen(TOTAL) - 1;
		}
		to = mempcpy(to, text, n);
		text += n;
	}
	to = mempcpy(to, END, strlen(END));
	*ret_len = (size_t)(to - ret);
	return ret;
}
