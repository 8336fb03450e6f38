// SPDX-License-Identifier: GPL-2.0-or-later
/* See check.h. */
#include <stdarg.h>
#include <stdio.h>
#include <bwl/show.h>
#include "check.h"

void bwl_check(struct bwl_report *r, const char *id, enum bwl_outcome o, const char *todo,
	       const char *what, ...)
{
	static const char *const shown[] = { "ok", "warn", "FAIL" }, *const words[] = { "ok",
											"warn",
											"fail" };
	char text[512];
	va_list ap;

	va_start(ap, what);
	vsnprintf(text, sizeof(text), what, ap);
	va_end(ap);
	r->failed += o == BWL_FAIL;
	r->warned += o == BWL_WARN;
	json_array_append_new(r->checks,
			      json_pack("{s:s, s:s, s:s, s:s?}", "id", id, "result", words[o],
					"text", text, "todo", o == BWL_OK ? NULL : todo));
	if (r->json)
		return;
	if (o != BWL_OK)
		bwl_say(6, "%-4s  %s\n      %s", shown[o], text, todo);
	else if (!r->quiet)
		bwl_say(6, "%-4s  %s", shown[o], text);
}
