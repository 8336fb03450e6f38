// SPDX-License-Identifier: GPL-2.0-or-later
/* Moments of the wall clock as text: see until.h. */
#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <bwl/until.h>

#define NS 1000000000LL
#define DOMAIN "a time as in RFC 3339, such as 2027-01-31T18:00:00Z, within 100 years from now"
#define MAX_AHEAD_S (100LL * 366 * 86400)

/* n digits, a number from min to max; -1 if they are not. */
static int digits(const char **s, int n, int min, int max)
{
	int v = 0;

	for (int i = 0; i < n; i++, ++*s) {
		if (!isdigit((unsigned char)**s))
			return -1;
		v = v * 10 + (**s - '0');
	}
	return v >= min && v <= max ? v : -1;
}

static bool skip(const char **s, const char *any)
{
	if (!**s || !strchr(any, **s))
		return false;
	++*s;
	return true;
}

/* Nanoseconds of ".123"; more digits are cut off. */
static bool fraction(const char **s, long *ret)
{
	long scale = NS / 10;

	*ret = 0;
	if (**s != '.')
		return true;
	if (!isdigit((unsigned char)*++*s))
		return false;
	for (; isdigit((unsigned char)**s); ++*s, scale /= 10)
		*ret += (**s - '0') * scale;
	return true;
}

static bool offset(const char **s, long *ret)
{
	int sign, h, m;

	*ret = 0;
	if (skip(s, "Zz"))
		return true;
	if (**s != '+' && **s != '-')
		return false;
	sign = *(*s)++ == '+' ? 1 : -1;
	h = digits(s, 2, 0, 23);
	if (h < 0 || !skip(s, ":"))
		return false;
	m = digits(s, 2, 0, 59);
	if (m < 0)
		return false;
	*ret = sign * (h * 3600L + m * 60L);
	return true;
}

static bool parse(const char *s, int64_t *ret_s, long *ret_ns)
{
	struct tm tm = { 0 }, back;
	long off;
	time_t t;

	if ((tm.tm_year = digits(&s, 4, 1970, 9999)) < 0 || !skip(&s, "-") ||
	    (tm.tm_mon = digits(&s, 2, 1, 12)) < 0 || !skip(&s, "-") ||
	    (tm.tm_mday = digits(&s, 2, 1, 31)) < 0 || !skip(&s, "Tt ") ||
	    (tm.tm_hour = digits(&s, 2, 0, 23)) < 0 || !skip(&s, ":") ||
	    (tm.tm_min = digits(&s, 2, 0, 59)) < 0 || !skip(&s, ":") ||
	    (tm.tm_sec = digits(&s, 2, 0, 60)) < 0 || !fraction(&s, ret_ns) || !offset(&s, &off) ||
	    *s)
		return false;
	tm.tm_year -= 1900;
	tm.tm_mon--;
	back = tm;
	t = timegm(&back);
	if (back.tm_mday != tm.tm_mday && tm.tm_sec != 60)
		return false; /* the 31st of a shorter month */
	*ret_s = (int64_t)t - off;
	return true;
}

int bwl_until_parse(const char *s, uint64_t now_boot_ns, int64_t now_wall_s, uint64_t *ret_boot_ns,
		    bool *ret_past, struct bwl_err *e)
{
	__int128 boot;
	int64_t sec;
	long ns;

	if (!parse(s, &sec, &ns))
		return bwl_fail(e, EINVAL, "'%.64s' is not " DOMAIN, s);
	if (sec - now_wall_s > MAX_AHEAD_S)
		return bwl_fail(e, ERANGE, "'%.64s' is too far away: " DOMAIN, s);
	boot = (__int128)(sec - now_wall_s) * NS + ns + (__int128)now_boot_ns;
	*ret_past = boot <= (__int128)now_boot_ns;
	*ret_boot_ns = boot < 1 ? 1 : (uint64_t)boot;
	return 0;
}

char *bwl_until_format(uint64_t boot_ns, uint64_t now_boot_ns, int64_t now_wall_s,
		       char buf[static BWL_UNTIL_BUF])
{
	__int128 wall = (__int128)now_wall_s * NS + (__int128)boot_ns - (__int128)now_boot_ns;
	time_t sec;
	long ns;
	struct tm tm;
	int n;

	if (wall < 0 || boot_ns <= 1) /* it ended before this boot: all such moments get one text */
		wall = 0;
	sec = wall / NS;
	ns = wall % NS;
	gmtime_r(&sec, &tm);
	n = strftime(buf, BWL_UNTIL_BUF, "%Y-%m-%dT%H:%M:%S", &tm);
	if (ns) {
		n += sprintf(buf + n, ".%09ld", ns);
		while (buf[n - 1] == '0')
			n--;
	}
	strcpy(buf + n, "Z");
	return buf;
}
