/* SPDX-License-Identifier: GPL-2.0-or-later */
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
