/* SPDX-License-Identifier: GPL-2.0-or-later */
/* See visitor.h. */
#include <netinet/in.h>
#include <string.h>
#include "visitor.h"

struct bwl_visitor bwl_visitor_new(const struct sockaddr *from, bool known, uint64_t now_ns)
{
	const struct sockaddr_in6 *v6 = (const struct sockaddr_in6 *)from;
	const struct sockaddr_in *v4 = (const struct sockaddr_in *)from;
	struct bwl_visitor v = { .here = true, .known = known, .since_ns = now_ns };

	if (from->sa_family == AF_INET6)
		memcpy(v.address, &v6->sin6_addr, 8); /* who has one address of a /64 has all */
	else
		memcpy(v.address, &v4->sin_addr, 4);
	return v;
}

bool bwl_visitor_same_address(const struct bwl_visitor *a, const struct bwl_visitor *b)
{
	return !memcmp(a->address, b->address, sizeof(a->address));
}

static const struct bwl_visitor *at(const void *first, size_t size, unsigned i)
{
	return (const struct bwl_visitor *)((const char *)first + i * size);
}

static bool is_stranger(const struct bwl_visitor *v)
{
	return v->here && !v->known;
}

static unsigned count(const void *first, size_t size, unsigned n, const struct bwl_visitor *like)
{
	unsigned sum = 0;

	for (unsigned i = 0; i < n; i++) {
		const struct bwl_visitor *v = at(first, size, i);

		sum += is_stranger(v) && (!like || bwl_visitor_same_address(v, like));
	}
	return sum;
}

unsigned bwl_strangers(const void *first, size_t size, unsigned n)
{
	return count(first, size, n, NULL);
}

void *bwl_stranger_to_go(void *first, size_t size, unsigned n)
{
	const struct bwl_visitor *out = NULL;
	unsigned most = 0;

	for (unsigned i = 0; i < n; i++) {
		const struct bwl_visitor *v = at(first, size, i);
		unsigned m = is_stranger(v) ? count(first, size, n, v) : 0;

		if (m > most || (m && m == most && v->since_ns < out->since_ns)) {
			out = v;
			most = m;
		}
	}
	return (void *)out;
}
