// SPDX-License-Identifier: GPL-2.0-or-later
/* See head.h. */
#include <arpa/inet.h>
#include <ctype.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "bwl/units.h"
#include "head.h"

#define WORD_MAX 32
#define SECOND 1000000000ULL

static bool is_port(const char *s, unsigned port)
{
	char want[8];

	snprintf(want, sizeof(want), ":%u", port);
	return !*s || !strcmp(s, want);
}

/*
 * Is it this address, without IPv6's brackets? Compared as addresses: one can be written in several
 * ways.
 */
static bool is_address(const char *text, size_t len, const struct sockaddr *at)
{
	const struct sockaddr_in6 *v6 = (const struct sockaddr_in6 *)at;
	const struct sockaddr_in *v4 = (const struct sockaddr_in *)at;
	char buf[INET6_ADDRSTRLEN];
	struct in6_addr a6;
	struct in_addr a4;

	if (len >= sizeof(buf))
		return false;
	memcpy(buf, text, len);
	buf[len] = '\0';
	if (at->sa_family == AF_INET6)
		return inet_pton(AF_INET6, buf, &a6) == 1 &&
		       !memcmp(&a6, &v6->sin6_addr, sizeof(a6));
	return inet_pton(AF_INET, buf, &a4) == 1 && a4.s_addr == v4->sin_addr.s_addr;
}

bool head_is_our_host(const char *host, const struct sockaddr *at, const char *const *names)
{
	bool v6 = at->sa_family == AF_INET6;
	unsigned port = ntohs(v6 ? ((const struct sockaddr_in6 *)at)->sin6_port
				 : ((const struct sockaddr_in *)at)->sin_port);
	const char *end = *host == '[' ? strchr(host, ']') : host + strcspn(host, ":");

	if (!end)
		return false;
	if (*host == '[')
		return v6 && is_address(host + 1, (size_t)(end - host - 1), at) &&
		       is_port(end + 1, port);
	if (!is_port(end, port))
		return false;
	if (!v6 && is_address(host, (size_t)(end - host), at))
		return true;
	for (; *names; names++)
		if (strlen(*names) == (size_t)(end - host) &&
		    !strncasecmp(*names, host, (size_t)(end - host)))
			return true;
	return false;
}

/* q=… of a media range, in thousandths. */
static unsigned weight(const char *range, size_t len)
{
	const char *q = memmem(range, len, "q=", 2);
	unsigned n = 0, unit = 1000;

	if (!q || (size_t)(q - range) + 2 >= len)
		return 1000;
	q += 2;
	if (*q == '1')
		return 1000;
	if (*q != '0')
		return 0;
	if ((size_t)(q - range) + 1 >= len || *++q != '.')
		return 0;
	for (q++; q < range + len && unit > 1 && isdigit((unsigned char)*q); q++)
		n += (unsigned)(*q - '0') * (unit /= 10);
	return n;
}

bool head_wants_openmetrics(const char *accept)
{
	static const char open[] = "application/openmetrics-text", plain[] = "text/plain";
	unsigned best_open = 0, best_plain = 0;

	while (*accept) {
		size_t len = strcspn(accept, ","), n;

		while (len && (*accept == ' ' || *accept == '\t')) {
			accept++;
			len--;
		}
		n = weight(accept, len);
		if (len >= strlen(open) && !strncasecmp(accept, open, strlen(open)))
			best_open = n > best_open ? n : best_open;
		else if (len >= strlen(plain) && !strncasecmp(accept, plain, strlen(plain)))
			best_plain = n > best_plain ? n : best_plain;
		accept += len;
		accept += *accept == ',';
	}
	return best_open && best_open >= best_plain;
}

bool head_each_word(const char *list, bool (*fn)(void *arg, const char *word), void *arg)
{
	char word[WORD_MAX];

	do {
		size_t n = strcspn(list, ",");

		if (!n || n >= sizeof(word))
			return false;
		memcpy(word, list, n);
		word[n] = '\0';
		if (!fn(arg, word))
			return false;
		list += n;
	} while (*list++ == ',');
	return true;
}

uint64_t head_every_ns(const char *text)
{
	struct bwl_err e = { 0 };
	uint64_t ns;

	if (bwl_parse_time(text, &ns, &e) || ns < SECOND || ns > 3600 * SECOND)
		return 0;
	return ns;
}
