// SPDX-License-Identifier: GPL-2.0-or-later
/* See check.h: a finding, and its wording. */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include "check.h"

const struct check_word check_words[CHECK_RESULTS] = {
	[CHECK_OK] = { "ok", "OK", 0 },
	[CHECK_UNKNOWN] = { "unknown", "UNKNOWN", 3 },
	[CHECK_WARNING] = { "warning", "WARNING", 1 },
	[CHECK_CRITICAL] = { "critical", "CRITICAL", 2 },
};

void check_say(struct check *k, const char *id, enum check_result r, const char *todo,
	       const char *what, ...)
{
	char text[400];
	json_t *said;
	va_list ap;

	va_start(ap, what);
	vsnprintf(text, sizeof(text), what, ap);
	va_end(ap);
	while (!(said = json_string(text))) /* cut within a character */
		text[strlen(text) - 1] = '\0';
	json_array_append_new(k->checks, json_pack("{s:s, s:s, s:o, s:s?}", "id", id, "result",
						   check_words[r].word, "text", said, "todo",
						   r == CHECK_OK ? NULL : todo));
	k->n++;
	if (r > k->worst)
		k->worst = r;
}
