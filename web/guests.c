// SPDX-License-Identifier: GPL-2.0-or-later
/* See guests.h. */
#include "fleet/http/tls.h"
#include "guests.h"

#define SECOND 1000000000ULL
#define TAKES_NS (3 * SECOND) /* a client that reads has taken something within this time */

void guests_shut(struct guest *x)
{
	shutdown(x->fd, SHUT_RDWR);
	x->does = GUEST_GOES;
	x->place.of = BWL_PLACE_FREE;
	x->by_ns = UINT64_MAX;
}

/*
 * First who has no request, or has read nothing of his answer for long; then the newest, x, before
 * those that are being answered.
 */
static unsigned readily(const struct guest *y, const struct guest *x, uint64_t now_ns)
{
	if (y == x)
		return 1;
	return y->by_ns != UINT64_MAX &&
			       (y->does == GUEST_ASKS || now_ns - y->place.since_ns >= TAKES_NS)
		       ? 2
		       : 0;
}

/* At most as many as there are places, and a client's at most its part. */
static void make_room(struct guests *g, struct guest *x, uint64_t now_ns)
{
	const size_t size = sizeof(struct guest);
	enum bwl_place_of of = x->place.of;
	unsigned most = of == BWL_PLACE_STRANGER ? BWL_PLACES_STRANGERS : GUESTS_MAX;

	if (bwl_places_taken(g->guest, size, GUESTS_ROOM, of, NULL) <= most &&
	    bwl_places_taken(g->guest, size, GUESTS_ROOM, of, &x->place.client) <= GUESTS_OF_CLIENT)
		return;
	for (unsigned i = 0; i < GUESTS_ROOM; i++)
		g->guest[i].place.readily = readily(&g->guest[i], x, now_ns);
	guests_shut(bwl_place_to_go(g->guest, size, GUESTS_ROOM, of));
}

struct guest *guests_come(struct guests *g, int fd, const struct sockaddr *from, uint64_t now_ns)
{
	enum bwl_place_of of = g->strangers ? BWL_PLACE_STRANGER : BWL_PLACE_KNOWN;
	struct guest *x = NULL;

	for (unsigned i = 0; !x && i < GUESTS_ROOM; i++)
		if (g->guest[i].does == GUEST_FREE)
			x = &g->guest[i];
	if (!x) {
		shutdown(fd, SHUT_RDWR);
		return NULL;
	}
	*x = (struct guest){ .fd = fd, .place = bwl_place_new(from, of, now_ns) };
	guests_does(x, GUEST_ASKS, g->strangers ? BWL_PLACES_SHAKE_S : GUESTS_HEAD_S, now_ns);
	make_room(g, x, now_ns);
	return x;
}

void guests_known(struct guests *g, struct guest *x, uint64_t now_ns)
{
	if (x->does == GUEST_GOES)
		return;
	bwl_place_known(&x->place, x->session, now_ns);
	guests_does(x, GUEST_ASKS, GUESTS_HEAD_S, now_ns);
	make_room(g, x, now_ns);
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
	x->place.since_ns = now_ns;
	x->by_ns = s ? now_ns + s * SECOND : UINT64_MAX;
}

void guests_look(struct guests *g, uint64_t now_ns)
{
	for (unsigned i = 0; i < GUESTS_ROOM; i++)
		if (g->guest[i].place.of && now_ns > g->guest[i].by_ns)
			guests_shut(&g->guest[i]);
}
