// SPDX-License-Identifier: GPL-2.0-or-later
/* See text.h. */
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <bwl/doc.h>
#include "maps/words.h"
#include "signed/text.h"

bool bwl_is_name(const char *s, size_t n)
{
	if (!n || n >= BWL_NAME_LEN || *s == '-')
		return false;
	for (size_t i = 0; i < n; i++)
		if (!strchr("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._-",
			    s[i]) ||
		    !s[i])
			return false;
	return true;
}

bool bwl_is_label(const char *s, size_t n)
{
	const char *eq = memchr(s, '=', n);

	return eq && bwl_is_name(s, (size_t)(eq - s)) &&
	       bwl_is_name(eq + 1, n - (size_t)(eq + 1 - s));
}

bool bwl_moment_parse(const char *s, int64_t *ret_s)
{
	char again[BWL_TIME_BUF];
	struct tm tm = { 0 };
	char z = 0;

	/*
	 * a time that timegm() would normalise, or another spelling, is formatted differently again
	 */
	if (strlen(s) != 20 || sscanf(s, "%4d-%2d-%2dT%2d:%2d:%2d%c", &tm.tm_year, &tm.tm_mon,
				      &tm.tm_mday, &tm.tm_hour, &tm.tm_min, &tm.tm_sec, &z) != 7)
		return false;
	tm.tm_year -= 1900;
	tm.tm_mon--;
	*ret_s = timegm(&tm);
	return *ret_s >= 0 && !strcmp(bwl_utc(*ret_s, -1, again), s);
}

bool bwl_moment_ms_parse(const char *s, int64_t *ret_s, int *ret_ms)
{
	char whole[BWL_TIME_BUF], again[BWL_TIME_BUF];

	*ret_ms = -1;
	if (strlen(s) != 24)
		return bwl_moment_parse(s, ret_s);
	if (sscanf(s + 19, ".%3d", ret_ms) != 1)
		return false;
	snprintf(whole, sizeof(whole), "%.19sZ", s);
	return bwl_moment_parse(whole, ret_s) && !strcmp(bwl_utc(*ret_s, *ret_ms, again), s);
}
