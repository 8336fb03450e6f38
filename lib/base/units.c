// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Units: see bwl/units.h. Parsing and the exact formats use only integers. A fraction of a bit,
 * byte or nanosecond is rounded down, so that no limit is higher than what was written.
 */
#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include "bwl/units.h"
#include "maps/words.h"

typedef unsigned __int128 u128;

#define MAX_DECIMALS 18
#define YEAR_S 31536000ULL /* 365 days */
#define SIZE_MAX_BYTES BWL_MAX_VOLUME
#define TIME_MAX_NS (100 * YEAR_S * 1000000000ULL)

struct unit {
	const char *name;
	uint64_t factor;
	bool print; /* used by the exact formats */
};

#define KI 1024ULL
/* clang-format off */
static const struct unit rate_units[] = {
	{ "bit", 1, true }, { "", 1, false },
	{ "kbit", 1000ULL, true }, { "mbit", 1000000ULL, true },
	{ "gbit", 1000000000ULL, true }, { "tbit", 1000000000000ULL, true },
	{ "kibit", KI, false }, { "mibit", KI * KI, false },
	{ "gibit", KI * KI * KI, false }, { "tibit", KI * KI * KI * KI, false },
	{ "bps", 8, false },
	{ "kbps", 8000ULL, false }, { "mbps", 8000000ULL, false },
	{ "gbps", 8000000000ULL, false }, { "tbps", 8000000000000ULL, false },
	{ "kibps", 8 * KI, false }, { "mibps", 8 * KI * KI, false },
	{ "gibps", 8 * KI * KI * KI, false }, { "tibps", 8 * KI * KI * KI * KI, false },
	{ 0 },
};

static const struct unit size_units[] = {
	{ "b", 1, true }, { "", 1, false },
	{ "kb", KI, true }, { "mb", KI * KI, true }, { "gb", KI * KI * KI, true },
	{ "tb", KI * KI * KI * KI, true }, { "pb", KI * KI * KI * KI * KI, true },
	{ "k", KI, false }, { "m", KI * KI, false }, { "g", KI * KI * KI, false },
	{ "t", KI * KI * KI * KI, false }, { "p", KI * KI * KI * KI * KI, false },
	{ "kib", KI, false }, { "mib", KI * KI, false }, { "gib", KI * KI * KI, false },
	{ "tib", KI * KI * KI * KI, false }, { "pib", KI * KI * KI * KI * KI, false },
	/* tc(8) has units of bits, too, binary like its bytes */
	{ "kbit", KI / 8, false }, { "mbit", KI * KI / 8, false },
	{ "gbit", KI * KI * KI / 8, false }, { "tbit", KI * KI * KI * KI / 8, false },
	{ 0 },
};

static const struct unit time_units[] = {
	{ "ns", 1, true }, { "us", 1000ULL, true }, { "ms", 1000000ULL, true },
	{ "s", 1000000000ULL, true }, { "m", 60 * 1000000000ULL, true },
	{ "h", 3600 * 1000000000ULL, true }, { "d", 86400 * 1000000000ULL, true },
	{ "w", 7 * 86400 * 1000000000ULL, false },
	{ 0 },
};

struct quantity {
	const char *what;	/* "a rate" */
	const char *domain;	/* "1kbit to 100tbit" */
	const char *how;	/* "a number and bit, kbit, …" */
	const struct unit *units;
	uint64_t min, max;
};

static const struct quantity rate_q = {
	"a rate", "1kbit to 100tbit",
	"a number and bit, kbit, mbit, gbit or tbit (decimal), kibit … (binary), or kbps, mbps … (bytes a second)",
	rate_units, BWL_RATE_MIN_BPS, BWL_RATE_MAX_BPS,
};

static const struct quantity size_q = {
	"a size", "0 to 4096pb",
	"a number and b, kb, mb, gb, tb or pb (powers of 1024 bytes)",
	size_units, 0, SIZE_MAX_BYTES,
};

static const struct quantity time_q = {
	"a time", "0 to 100 years (36500d)", "a number and ns, us, ms, s, m, h, d or w",
	time_units, 0, TIME_MAX_NS,
};

/* clang-format on */

static int not_one(const struct quantity *q, const char *s, struct bwl_err *e)
{
	return bwl_fail(e, EINVAL, "'%.64s' is not %s: %s; %s", s, q->what, q->how, q->domain);
}

static int out_of_domain(const struct quantity *q, const char *s, struct bwl_err *e)
{
	return bwl_fail(e, ERANGE, "'%.64s' is out of range: %s is %s", s, q->what, q->domain);
}

/* The whole string: digits [. digits] unit. */
static int parse(const struct quantity *q, const char *s, uint64_t *ret, struct bwl_err *e)
{
	uint64_t whole = 0, frac = 0, scale = 1;
	unsigned digits = 0, decimals = 0;
	const struct unit *u;
	const char *p = s;
	bool huge = false;
	u128 v;

	if (*p == '-')
		return bwl_fail(e, ERANGE, "'%.64s' is negative: %s is %s", s, q->what, q->domain);
	for (; isdigit((unsigned char)*p); p++, digits++) {
		if (__builtin_mul_overflow(whole, 10ULL, &whole) ||
		    __builtin_add_overflow(whole, (uint64_t)(*p - '0'), &whole))
			huge = true;
	}
	if (*p == '.') {
		for (p++; isdigit((unsigned char)*p); p++, digits++) {
			if (++decimals > MAX_DECIMALS)
				return bwl_fail(e, EINVAL, "'%.64s' has more than %d decimals", s,
						MAX_DECIMALS);
			frac = frac * 10 + (*p - '0');
			scale *= 10;
		}
		if (!decimals)
			return not_one(q, s, e);
	}
	if (!digits)
		return not_one(q, s, e);
	for (u = q->units; u->name && strcasecmp(u->name, p); u++)
		;
	if (!u->name) {
		if (!*p)
			return bwl_fail(e, EINVAL, "'%.64s' has no unit: %s is %s", s, q->what,
					q->how);
		return not_one(q, s, e);
	}
	if (huge)
		return out_of_domain(q, s, e);
	/* factor < 2^51 and frac < 2^60: neither product can overflow */
	v = (u128)whole * u->factor + (u128)frac * u->factor / scale;
	if (v < q->min || v > q->max)
		return out_of_domain(q, s, e);
	*ret = v;
	return 0;
}

int bwl_parse_rate(const char *s, uint64_t *ret_bps, struct bwl_err *e)
{
	return parse(&rate_q, s, ret_bps, e);
}

int bwl_parse_size(const char *s, uint64_t *ret_bytes, struct bwl_err *e)
{
	return parse(&size_q, s, ret_bytes, e);
}

int bwl_parse_time(const char *s, uint64_t *ret_ns, struct bwl_err *e)
{
	return parse(&time_q, s, ret_ns, e);
}

int bwl_parse_volume(const char *s, uint64_t *ret_bytes, uint64_t *ret_window_ns, struct bwl_err *e)
{
	const char *blank = strpbrk(s, " \t");
	uint64_t bytes, window = 0;
	char size[64];
	int r;

	if (!blank) {
		r = bwl_parse_size(s, ret_bytes, e);
		if (!r)
			*ret_window_ns = 0;
		return r;
	}
	if ((size_t)(blank - s) >= sizeof(size))
		goto bad;
	memcpy(size, s, blank - s);
	size[blank - s] = '\0';
	r = bwl_parse_size(size, &bytes, e);
	if (r)
		return r;
	blank += strspn(blank, " \t");
	if (strncmp(blank, "per", 3) || !strchr(" \t", blank[3]) || !blank[3])
		goto bad;
	blank += 3;
	blank += strspn(blank, " \t");
	r = bwl_parse_time(blank, &window, e);
	if (r)
		return r;
	if (window < BWL_WINDOW_MIN_NS)
		return bwl_fail(e, ERANGE, "'%.64s': the window of a volume is 11s to 36500d", s);
	*ret_bytes = bytes;
	*ret_window_ns = window;
	return 0;
bad:
	return bwl_fail(
		e, EINVAL,
		"'%.64s' is not a volume: a size such as '20gb', or a size in every window such as '20gb per 1d'",
		s);
}

/* Decimal digits without a NUL; returns how many. Digests format millions of numbers. */
static int put_digits(char *buf, uint64_t v)
{
	char rev[20];
	int n = 0;

	do
		rev[n++] = '0' + v % 10;
	while (v /= 10);
	for (int i = 0; i < n; i++)
		buf[i] = rev[n - 1 - i];
	return n;
}

/* v / factor as an exact decimal; false if it does not fit, or has too many decimals. */
static bool exact(uint64_t v, const struct unit *u, char buf[static BWL_UNIT_BUF])
{
	uint64_t rest = v % u->factor;
	int n = put_digits(buf, v / u->factor);

	if (rest)
		buf[n++] = '.';
	for (int i = 0; rest && i < MAX_DECIMALS && n < BWL_UNIT_BUF; i++) {
		rest *= 10; /* factors are below 2^51: no overflow */
		buf[n++] = '0' + (int)(rest / u->factor);
		rest %= u->factor;
	}
	if (rest || n + strlen(u->name) >= BWL_UNIT_BUF)
		return false;
	strcpy(buf + n, u->name);
	return true;
}

/* The shortest form. Among equally short ones the one without a fraction, then the larger unit. */
static char *format(const struct unit *units, uint64_t v, char buf[static BWL_UNIT_BUF])
{
	char text[BWL_UNIT_BUF];
	size_t best = BWL_UNIT_BUF;

	for (const struct unit *u = units; u->name; u++) {
		size_t n;

		/* from the second on, less than a thousandth of a unit is never shorter */
		if (!u->print || (u != units && v < u->factor / 1000) || (v == 0 && u != units))
			continue;
		if (!exact(v, u, text))
			continue;
		n = strlen(text);
		if (n < best || (n == best && !strchr(text, '.'))) {
			memcpy(buf, text, n + 1);
			best = n;
		}
	}
	return buf;
}

char *bwl_format_rate(uint64_t bps, char buf[static BWL_UNIT_BUF])
{
	return format(rate_units, bps, buf);
}

char *bwl_format_size(uint64_t bytes, char buf[static BWL_UNIT_BUF])
{
	return format(size_units, bytes, buf);
}

char *bwl_format_time(uint64_t ns, char buf[static BWL_UNIT_BUF])
{
	return ns ? format(time_units, ns, buf) : strcpy(buf, "0s");
}

/* Three significant digits, without trailing zeros. */
static char *human(double v, double base, const char *const *names, unsigned n,
		   char buf[static BWL_UNIT_BUF])
{
	unsigned i = 0;
	int decimals;

	if (isnan(v))
		return strcpy(buf, "unknown");
	if (isinf(v))
		return strcpy(buf, "unlimited");
	/* 999.5 would print as 1000: it belongs to the next unit */
	while (i + 1 < n && fabs(v) >= (base == 1000 ? 999.5 : 1023.5)) {
		v /= base;
		i++;
	}
	decimals = fabs(v) < 9.995 ? 2 : fabs(v) < 99.95 ? 1 : 0;
	snprintf(buf, BWL_UNIT_BUF, "%.*f", decimals, v);
	if (strlen(buf) > 20) {
		snprintf(buf, BWL_UNIT_BUF, "%.3g", v);
	} else if (decimals) {
		char *end = buf + strlen(buf);

		while (end[-1] == '0')
			*--end = '\0';
		if (end[-1] == '.')
			end[-1] = '\0';
	}
	snprintf(buf + strlen(buf), BWL_UNIT_BUF - strlen(buf), " %s", names[i]);
	return buf;
}

char *bwl_human_rate(double bps, char buf[static BWL_UNIT_BUF])
{
	static const char *const names[] = { "bit/s", "kbit/s", "Mbit/s", "Gbit/s", "Tbit/s" };

	return human(bps, 1000, names, 5, buf);
}

char *bwl_human_size(double bytes, char buf[static BWL_UNIT_BUF])
{
	static const char *const names[] = { "B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB" };

	return human(bytes, 1024, names, 7, buf);
}

static char *two_parts(double v, unsigned int small, const char *big_name, const char *small_name,
		       char buf[static BWL_UNIT_BUF])
{
	unsigned int n = (unsigned int)v;

	if (n % small)
		snprintf(buf, BWL_UNIT_BUF, "%u %s %u %s", n / small, big_name, n % small,
			 small_name);
	else
		snprintf(buf, BWL_UNIT_BUF, "%u %s", n / small, big_name);
	return buf;
}

char *bwl_human_time(double s, char buf[static BWL_UNIT_BUF])
{
	static const char *const names[] = { "ns", "us", "ms", "s" };

	if (isnan(s))
		return strcpy(buf, "unknown");
	if (isinf(s))
		return strcpy(buf, "never");
	if (s < 59.95)
		return human(s * 1e9, 1000, names, 4, buf);
	if (s < 3600 - 0.5)
		return two_parts(round(s), 60, "m", "s", buf);
	if (s < 86400 - 30)
		return two_parts(round(s / 60), 60, "h", "m", buf);
	if (s < YEAR_S - 1800.0)
		return two_parts(round(s / 3600), 24, "d", "h", buf);
	if (s < 1000.0 * YEAR_S)
		return two_parts(round(s / 86400), 365, "y", "d", buf);
	snprintf(buf, BWL_UNIT_BUF, "%.3g y", s / YEAR_S);
	return buf;
}
