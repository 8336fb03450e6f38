// SPDX-License-Identifier: GPL-2.0-or-later
/* Times as text: see interval.h. */
#include <ctype.h>
#include <string.h>
#include <time.h>
#include "interval.h"

/* As digits; the number, or -1. */
static int digits(const char *s, unsigned n)
{
	int all = 0;

	for (; n; n--, s++) {
		if (!isdigit((unsigned char)*s))
			return -1;
		all = all * 10 + (*s - '0');
	}
	return all;
}

/* Strict: what strptime() takes for a time, such as a 31st of February, is none that bwlimitd
 * writes. */
bool ev_time_s(const char *text, int64_t *ret)
{
	static const char form[] = "0000-00-00T00:00:00";
	size_t n = sizeof(form) - 1, len = strlen(text);
	struct tm tm = { 0 }, back;
	time_t at;

	/* Milliseconds are optional. */
	if (len != n + 1 && (len != n + 5 || text[n] != '.' || digits(text + n + 1, 3) < 0))
		return false;
	if (text[len - 1] != 'Z')
		return false;
	for (size_t i = 0; i < n; i++)
		if (form[i] == '0' ? !isdigit((unsigned char)text[i]) : text[i] != form[i])
			return false;
	tm.tm_year = digits(text, 4) - 1900;
	tm.tm_mon = digits(text + 5, 2) - 1;
	tm.tm_mday = digits(text + 8, 2);
	tm.tm_hour = digits(text + 11, 2);
	tm.tm_min = digits(text + 14, 2);
	tm.tm_sec = digits(text + 17, 2);
	back = tm;
	at = timegm(&back); /* it normalizes */
	if (at < 0 || back.tm_mon != tm.tm_mon || back.tm_mday != tm.tm_mday ||
	    back.tm_hour != tm.tm_hour || back.tm_min != tm.tm_min || back.tm_sec != tm.tm_sec)
		return false;
	*ret = at;
	return true;
}
