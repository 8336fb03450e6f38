/* SPDX-License-Identifier: GPL-2.0-or-later */
/* See guests.h. */
#include <netinet/in.h>
#include <string.h>
#include "fleet/http/tls.h"
#include "guests.h"

#define SECOND 1000000000ULL
#define TAKES_NS (3 * SECOND) /* a client that reads has taken something within this time */

static void address_of(const struct sockaddr *from, uint8_t ret[16])
{
	const struct sockaddr_in6 *v6 = (const struct sockaddr_in6 *)from;
	const struct sockaddr_in *v4 = (const struct sockaddr_in *)from;

	memset(ret, 0, 16);
	if (from->sa_family == AF_INET6)
		memcpy(ret, &v6->sin6_addr, 8); /* who has one address of a /64 has all */
	else
		memcpy(ret, &v4->sin_addr, 4);
}

static bool is_here(const struct guest *x)
{
	return x->does != GUEST_FREE && x->does != GUEST_GOES;
}

static bool same(const struct guest *x, const struct guest *y)
{
	return !memcmp(x->address, y->address, sizeof(x->address));
}

unsigned guests_count(const struct guests *g, const struct guest *of_address)
{
	unsigned n = 0;

	for (unsigned i = 0; i < GUESTS_ROOM; i++)
		n += is_here(&g->guest[i]) && (!of_address || same(&g->guest[i], of_address));
	return n;
}

void guests_shut(struct guest *x)
{
	shutdown(x->fd, SHUT_RDWR);
	x->does = GUEST_GOES;
	x->by_ns = UINT64_MAX;
}

/*
 * The client that has been without a request for the longest time. If all others have one: the one
 * that has read nothing of its answer for the longest. Otherwise the newest, x.
 */
static struct guest *laziest(struct guests *g, struct guest *x, bool of_address, uint64_t now_ns)
{
	struct guest *asks = NULL, *takes = NULL;

	for (unsigned i = 0; i < GUESTS_ROOM; i++) {
		struct guest *y = &g->guest[i], **at;

		if (!is_here(y) || y == x || y->by_ns == UINT64_MAX ||
		    (of_address && !same(y, x)) ||
		    (y->does != GUEST_ASKS && now_ns - y->since_ns < TAKES_NS))
			continue;
		at = y->does == GUEST_ASKS ? &asks : &takes;
		if (!*at || y->since_ns < (*at)->since_ns)
			*at = y;
	}
	return asks ? asks : takes ? takes : x;
}

/* Of those that have shown no certificate yet the oldest of the address that has most. */
static struct guest *stranger(struct guests *g)
{
	struct guest *out = NULL;
	unsigned most = 0;

	for (unsigned i = 0; i < GUESTS_ROOM; i++) {
		struct guest *y = &g->guest[i];
		unsigned n = is_here(y) && !y->known ? guests_count(g, y) : 0;

		if (n > most || (n && n == most && y->since_ns < out->since_ns)) {
			out = y;
			most = n;
		}
	}
	return out;
}

static unsigned unknown(const struct guests *g)
{
	unsigned n = 0;

	for (unsigned i = 0; i < GUESTS_ROOM; i++)
		n += is_here(&g->guest[i]) && !g->guest[i].known;
	return n;
}

struct guest *guests_come(struct guests *g, int fd, const struct sockaddr *from, uint64_t now_ns)
{
	struct guest *x = NULL;
	bool many;

	for (unsigned i = 0; !x && i < GUESTS_ROOM; i++)
		if (g->guest[i].does == GUEST_FREE)
			x = &g->guest[i];
	if (!x) {
		shutdown(fd, SHUT_RDWR);
		return NULL;
	}
	*x = (struct guest){ .fd = fd, .known = !g->strangers };
	address_of(from, x->address);
	guests_does(x, GUEST_ASKS, GUESTS_HEAD_S, now_ns);
	many = guests_count(g, x) > GUESTS_OF_ADDRESS;
	if (unknown(g) > GUESTS_UNKNOWN)
		guests_shut(stranger(g));
	else if (many || guests_count(g, NULL) > GUESTS_MOST)
		guests_shut(unknown(g) > 1 ? stranger(g) : laziest(g, x, many, now_ns));
	return x;
}

void guests_go(struct guest *x)
{
	if (!x)
		return;
	bwl_tls_drop(x->began);
	*x = (struct guest){ .does = GUEST_FREE };
}

void guests_does(struct guest *x, enum guest_does does, unsigned s, uint64_t now_ns)
{
	if (!x || x->does == GUEST_GOES)
		return;
	x->does = does;
	x->since_ns = now_ns;
	x->by_ns = s ? now_ns + s * SECOND : UINT64_MAX;
}

void guests_look(struct guests *g, uint64_t now_ns)
{
	for (unsigned i = 0; i < GUESTS_ROOM; i++)
		if (is_here(&g->guest[i]) && now_ns > g->guest[i].by_ns)
			guests_shut(&g->guest[i]);
}
