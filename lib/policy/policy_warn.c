// SPDX-License-Identifier: GPL-2.0-or-later
/* Warns about what is allowed in a policy, but odd. */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include "policy_text.h"

#define MAX_WARNINGS 100 /* further ones tell nothing new */

void bwl_policy_drop_warnings(struct bwl_policy *p)
{
	for (size_t i = 0; i < p->nwarnings; i++)
		free(p->warnings[i]);
	free(p->warnings);
	p->warnings = NULL;
	p->nwarnings = 0;
}

void bwl_policy_warn(struct bwl_policy *p, const char *file, unsigned line, const char *fmt, ...)
{
	char text[512], *full = NULL;
	va_list ap;
	int r;

	if (p->nwarnings > MAX_WARNINGS)
		return;
	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	if (p->nwarnings == MAX_WARNINGS)
		snprintf(text, sizeof(text), "more than %d warnings: the others are not shown",
			 MAX_WARNINGS);
	if (file && line && p->nwarnings < MAX_WARNINGS)
		r = asprintf(&full, "%s:%u: %s", file, line, text);
	else
		r = asprintf(&full, "%s%s%s", file ? file : "", file ? ": " : "", text);
	if (r < 0)
		full = NULL;
	p->warnings = bwl_must(reallocarray(p->warnings, p->nwarnings + 1, sizeof(*p->warnings)));
	p->warnings[p->nwarnings++] = bwl_must(full);
}
