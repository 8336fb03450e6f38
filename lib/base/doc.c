// SPDX-License-Identifier: GPL-2.0-or-later
/* Documents and their values: see bwl/doc.h. */
#include <arpa/inet.h>
#include <math.h>
#include <time.h>
#include "bwl/clock.h"
#include "bwl/doc.h"

json_t *bwl_doc(const char *kind)
{
	return json_pack("{s:i, s:s}", "version", BWL_JSON_VERSION, "kind", kind);
}

/* In one piece: json_dumpf() writes each token separately. */
static void put(json_t *o, size_t flags)
{
	char *text = json_dumps(o, flags);

	if (!text)
		abort();
	fputs(text, stdout);
	putchar('\n');
	free(text);
	json_decref(o);
}

void bwl_doc_print(json_t *o)
{
	put(o, JSON_INDENT(2));
}

void bwl_doc_line(json_t *o)
{
	put(o, JSON_COMPACT);
	fflush(stdout);
}

json_t *bwl_json_text(const char *s)
{
	return s ? json_string(s) : json_null();
}

json_t *bwl_json_u64(uint64_t v)
{
	return v > INT64_MAX ? json_real((double)v) : json_integer((json_int_t)v);
}

json_t *bwl_json_real(double v)
{
	return isfinite(v) ? json_real(v) : json_null();
}

json_t *bwl_json_speed(double bps)
{
	return bps < 9e15 ? json_integer((json_int_t)(bps + 0.5)) : bwl_json_real(bps);
}

json_t *bwl_json_span(uint64_t ns)
{
	return json_real((double)ns / 1e9);
}

json_t *bwl_json_in(uint64_t at_ns, uint64_t now_ns)
{
	return at_ns == UINT64_MAX ? json_null()
				   : json_real(((double)at_ns - (double)now_ns) / 1e9);
}

json_t *bwl_json_ago(uint64_t at_ns, uint64_t now_ns)
{
	return at_ns && at_ns <= now_ns ? bwl_json_span(now_ns - at_ns) : json_null();
}

json_t *bwl_json_spi(__be32 spi)
{
	char buf[16];

	snprintf(buf, sizeof(buf), "0x%08x", ntohl(spi));
	return spi ? json_string(buf) : json_null();
}

json_t *bwl_json_names(const char *const *names, size_t n)
{
	json_t *a = json_array();

	for (size_t i = 0; i < n; i++)
		json_array_append_new(a, json_string(names[i]));
	return a;
}

char *bwl_utc(int64_t s, int ms, char buf[static BWL_TIME_BUF])
{
	time_t t = s;
	struct tm tm;
	size_t n;

	gmtime_r(&t, &tm);
	n = strftime(buf, BWL_TIME_BUF, "%Y-%m-%dT%H:%M:%S", &tm);
	if (ms >= 0)
		snprintf(buf + n, BWL_TIME_BUF - n, ".%03dZ", ms % 1000);
	else
		snprintf(buf + n, BWL_TIME_BUF - n, "Z");
	return buf;
}

char *bwl_utc_now(char buf[static BWL_TIME_BUF])
{
	struct timespec now;

	clock_gettime(CLOCK_REALTIME, &now);
	return bwl_utc(now.tv_sec, (int)(now.tv_nsec / 1000000), buf);
}

char *bwl_utc_boot(uint64_t boot_ns, char buf[static BWL_TIME_BUF])
{
	struct timespec now;
	uint64_t ns;

	clock_gettime(CLOCK_REALTIME, &now);
	ns = (uint64_t)now.tv_sec * 1000000000ULL + (uint64_t)now.tv_nsec -
	     (bwl_now_ns() - boot_ns);
	return bwl_utc((int64_t)(ns / 1000000000), (int)(ns / 1000000 % 1000), buf);
}
