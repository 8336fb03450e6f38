/* SPDX-License-Identifier: GPL-2.0-or-later */
/* See guests.h. */
#include "fleet/http/tls.h"
#include "guests.h"

#define SECOND 1000000000ULL
#define TAKES_NS (3 * SECOND) /* a client that reads has taken something within this time */

unsigned guests_count(const struct guests *g, const struct guest *of_address)
{
	unsigned n = 0;

	for (unsigned i = 0; i < GUESTS_ROOM; i++)
		n += g->guest[i].who.here &&
		     (!of_address || bwl_visitor_same_address(&g->guest[i].who, &of_address->who));
	return n;
}

void guests_shut(struct guest *x)
{
	shutdown(x->fd, SHUT_RDWR);
	x->does = GUEST_GOES;
	x->who.here = false;
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

		if (!y->who.here || y == x || y->by_ns == UINT64_MAX ||
		    (of_address && !bwl_visitor_same_address(&y->who, &x->who)) ||
		    (y->does != GUEST_ASKS && now_ns - y->who.since_ns < TAKES_NS))
			continue;
		at = y->does == GUEST_ASKS ? &asks : &takes;
		if (!*at || y->who.since_ns < (*at)->who.since_ns)
			*at = y;
	}
	return asks ? asks : takes ? takes : x;
}

struct guest *guests_come(struct guests *g, int fd, const struct sockaddr *from, uint64_t now_ns)
{
	const size_t size = sizeof(struct guest);
	struct guest *x = NULL;
	unsigned unknown;
	bool many;

	for (unsigned i = 0; !x && i < GUESTS_ROOM; i++)
		if (g->guest[i].does == GUEST_FREE)
			x = &g->guest[i];
	if (!x) {
		shutdown(fd, SHUT_RDWR);
		return NULL;
	}
	*x = (struct guest){ .fd = fd, .who = bwl_visitor_new(from, !g->strangers, now_ns) };
	guests_does(x, GUEST_ASKS, GUESTS_HEAD_S, now_ns);
	many = guests_count(g, x) > GUESTS_OF_ADDRESS;
	unknown = bwl_strangers(g->guest, size, GUESTS_ROOM);
	if (unknown > GUESTS_UNKNOWN)
		guests_shut(bwl_stranger_to_go(g->guest, size, GUESTS_ROOM));
	else if (many || guests_count(g, NULL) > GUESTS_MOST)
		guests_shut(unknown > 1 ? bwl_stranger_to_go(g->guest, size, GUESTS_ROOM)
					: laziest(g, x, many, now_ns));
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
	x->who.since_ns = now_ns;
	x->by_ns = s ? now_ns + s * SECOND : UINT64_MAX;
}

void guests_look(struct guests *g, uint64_t now_ns)
{
	for (unsigned i = 0; i < GUESTS_ROOM; i++)
		if (g->guest[i].who.here && now_ns > g->guest[i].by_ns)
			guests_shut(&g->guest[i]);
}
