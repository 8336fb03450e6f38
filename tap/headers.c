// SPDX-License-Identifier: GPL-2.0-or-later
/* See headers.h. */
#include <netinet/in.h>
#include <stdbool.h>
#include "headers.h"

#define ETHERNET 14
#define ROCE_PORT 4791
#define BTH 12
#define EXTENSIONS_MAX 8

struct cursor {
	const uint8_t *at;
	size_t len, here;
};

/* Skips as many of the next n bytes as there are; false: they are truncated. */
static bool skip(struct cursor *c, size_t n)
{
	bool whole = n <= c->len - c->here;

	c->here = whole ? c->here + n : c->len;
	return whole;
}

static bool is_there(const struct cursor *c, size_t n)
{
	return n <= c->len - c->here;
}

static unsigned be16(const struct cursor *c, size_t from)
{
	return (unsigned)c->at[c->here + from] << 8 | c->at[c->here + from + 1];
}

static void skip_udp(struct cursor *c)
{
	bool is_roce = is_there(c, 4) && be16(c, 2) == ROCE_PORT;

	if (skip(c, 8) && is_roce)
		skip(c, BTH);
}

static void skip_tcp(struct cursor *c)
{
	size_t n = is_there(c, 13) ? (size_t)(c->at[c->here + 12] >> 4) * 4 : 20;

	skip(c, n < 20 ? 20 : n);
}

static void skip_transport(struct cursor *c, unsigned protocol)
{
	switch (protocol) {
	case IPPROTO_TCP:
		skip_tcp(c);
		break;
	case IPPROTO_UDP:
		skip_udp(c);
		break;
	case IPPROTO_ICMP:
	case IPPROTO_ICMPV6:
	case IPPROTO_ESP:
		skip(c, 8);
		break;
	default:
		break;
	}
}

static void skip_ipv4(struct cursor *c)
{
	bool is_first;
	unsigned protocol;
	size_t n;

	if (!is_there(c, 20)) {
		skip(c, 20);
		return;
	}
	is_first = !(be16(c, 6) & 0x1fff);
	protocol = c->at[c->here + 9];
	n = (size_t)(c->at[c->here] & 15) * 4;
	if (skip(c, n < 20 ? 20 : n) && is_first)
		skip_transport(c, protocol);
}

static void skip_ipv6(struct cursor *c)
{
	unsigned next, i;
	size_t n;

	if (!is_there(c, 40)) {
		skip(c, 40);
		return;
	}
	next = c->at[c->here + 6];
	skip(c, 40);
	for (i = 0; i < EXTENSIONS_MAX; i++) {
		bool is_fragment = next == IPPROTO_FRAGMENT;

		if (!is_fragment && next != IPPROTO_HOPOPTS && next != IPPROTO_ROUTING &&
		    next != IPPROTO_DSTOPTS)
			break;
		if (!is_there(c, 8)) {
			skip(c, 8);
			return;
		}
		next = c->at[c->here];
		n = is_fragment ? 8 : ((size_t)c->at[c->here + 1] + 1) * 8;
		/* in a later fragment everything else is payload */
		if (is_fragment && be16(c, 2) & 0xfff8) {
			skip(c, n);
			return;
		}
		if (!skip(c, n))
			return;
	}
	if (i < EXTENSIONS_MAX)
		skip_transport(c, next);
}

size_t tap_headers(const uint8_t *at, size_t len)
{
	struct cursor c = { .at = at, .len = len };
	unsigned type, tags;

	if (!skip(&c, ETHERNET))
		return c.here;
	c.here -= 2;
	for (tags = 0;; tags++) {
		type = be16(&c, 0);
		skip(&c, 2);
		if ((type != 0x8100 && type != 0x88a8) || tags == 2)
			break;
		if (!is_there(&c, 4)) {
			skip(&c, 4);
			return c.here;
		}
		c.here += 2;
	}
	if (type == 0x0800)
		skip_ipv4(&c);
	else if (type == 0x86dd)
		skip_ipv6(&c);
	return c.here;
}
