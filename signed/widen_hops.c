// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * What a peer does that is not its own, whether it is open or closed. Its next_hop_mac is the
 * kernel's one entry for that address, for every peer that goes there; and the far DPU of an
 * encrypted one may speak IKE to this DPU's socket.
 *
 * To which router the route to a far DPU leads, no policy says. So a MAC that is fixed for one may
 * be that of any address on its uplink.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <bwl/doc.h>
#include <bwl/effects.h>
#include "signed/widen_parts.h"

/* A next hop of one family, or a far DPU: an address at an uplink. */
struct place {
	char address[64]; /* padding is zero: compared as bytes */
	bool remote;
	char uplink[16];
	uint8_t mac[6]; /* zeroes: resolved */
	const struct bwl_pol_peer *peer;
};
#define PLACE_WHOSE offsetof(struct place, uplink) /* whose address */
#define PLACE_KEY offsetof(struct place, mac)      /* where */
#define PLACE_FIXED offsetof(struct place, peer)   /* where, and by which MAC */

struct places {
	struct place *list; /* sorted by these, in that order */
	size_t n;
	struct loose { /* open peers without a MAC of their own */
		char uplink[16];
		bool remote; /* an encrypted one */
	} loose[2 * BWL_MAX_PORTS];
	size_t nloose;
	bool self; /* there is `self`, which has none, and goes by any route */
};

/* Is one there? remote: an encrypted one. */
static bool is_loose(const struct places *s, const char *uplink, bool remote)
{
	for (size_t i = 0; i < s->nloose; i++)
		if (s->loose[i].remote >= remote && !strcmp(s->loose[i].uplink, uplink))
			return true;
	return false;
}

static void note_loose(struct places *s, const struct bwl_pol_peer *q, const struct bwl_hop *h)
{
	bool remote = *h->remote, known = false;

	if (!widen_is_open(q) || bwl_mac_is_one(h->mac))
		return;
	s->self = s->self || !strcmp(q->name, "self");
	for (size_t i = 0; !known && i < s->nloose; i++)
		known = s->loose[i].remote == remote && !strcmp(s->loose[i].uplink, h->uplink);
	if (known || s->nloose == 2 * BWL_MAX_PORTS)
		return;
	memcpy(s->loose[s->nloose].uplink, h->uplink, sizeof(h->uplink));
	s->loose[s->nloose++].remote = remote;
}

static void add(struct places *s, const struct bwl_pol_peer *q, const struct bwl_hop *h,
		const uint8_t *via, uint8_t family)
{
	struct place *x = &s->list[s->n++];
	struct bwl_pfx p = { .family = family, .len = family == 4 ? 32 : 128 };

	memset(x, 0, sizeof(*x));
	memcpy(x->uplink, h->uplink, sizeof(x->uplink));
	memcpy(x->mac, h->mac, sizeof(x->mac));
	x->peer = q;
	x->remote = !via;
	if (via)
		memcpy(p.addr, via, family == 4 ? 4 : 16);
	if (via || !bwl_pfx_parse(h->remote, &p, NULL))
		bwl_pfx_format(&p, x->address, sizeof(x->address));
}

static int by_place(const void *a, const void *b)
{
	return memcmp(a, b, PLACE_FIXED);
}

static struct places places_of(const struct bwl_policy *pol)
{
	struct places s = { .list = bwl_must(calloc(2 * pol->npeers + 1, sizeof(*s.list))) };
	struct bwl_hop h;

	for (size_t i = 0; i < pol->npeers; i++) {
		const struct bwl_pol_peer *q = &pol->peers[i];

		if (!bwl_effect_hop(pol, q, &h))
			continue;
		note_loose(&s, q, &h);
		if (*h.remote)
			add(&s, q, &h, NULL, 4);
		if (h.has_via4)
			add(&s, q, &h, h.via4, 4);
		if (h.has_via6)
			add(&s, q, &h, h.via6, 6);
	}
	qsort(s.list, s.n, sizeof(*s.list), by_place);
	return s;
}

/* The first that is not before x in so many bytes; or NULL. */
static const struct place *not_before(const struct places *s, const struct place *x, size_t bytes)
{
	size_t lo = 0, hi = s->n;

	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;

		if (memcmp(&s->list[mid], x, bytes) < 0)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo < s->n ? &s->list[lo] : NULL;
}

/* The first that is like x in so many bytes; or NULL. */
static const struct place *first(const struct places *s, const struct place *x, size_t bytes)
{
	const struct place *y = not_before(s, x, bytes);

	return y && !memcmp(y, x, bytes) ? y : NULL;
}

#define EACH(y, s, x, bytes)                                                                       \
	for (const struct place *y = first(s, x, bytes);                                           \
	     y && y < (s)->list + (s)->n && !memcmp(y, x, bytes); y++)

/* The MAC at that place: of who gives one, because one serves all. */
static const struct place *fixed(const struct places *s, const struct place *x)
{
	EACH(y, s, x, PLACE_KEY)
	if (bwl_mac_is_one(y->mac))
		return y;
	return NULL;
}

/*
 * Would packets of an open peer go there if nobody fixed it? By what leads to a far DPU any may,
 * and to an address on the link who names it, and who is routed.
 */
static bool is_used(const struct places *s, const struct place *x)
{
	EACH(y, s, x, PLACE_KEY)
	if (widen_is_open(y->peer))
		return true;
	return s->self || is_loose(s, x->uplink, !x->remote);
}

static void tell(struct widen *w, const struct place *x, const struct place *a,
		 const struct place *b)
{
	char where[80], from[BWL_MAC_BUF] = "asked for", to[BWL_MAC_BUF] = "asked for";

	snprintf(where, sizeof(where), "next hop %.45s at %.15s", x->address, x->uplink);
	if (a)
		bwl_mac_format(a->mac, from);
	if (b)
		bwl_mac_format(b->mac, to);
	widen_add(w, where, "next_hop_mac", from, to);
}

/* Asked first: peers are many, and places few. */
static bool is_next(const struct places *s, size_t i)
{
	return !i || memcmp(&s->list[i], &s->list[i - 1], PLACE_FIXED);
}

static void macs(struct widen *w, const struct places *a, const struct places *b)
{
	for (size_t i = 0; i < b->n; i++)
		if (is_next(b, i) && bwl_mac_is_one(b->list[i].mac) &&
		    !first(a, &b->list[i], PLACE_FIXED))
			tell(w, &b->list[i], fixed(a, &b->list[i]), &b->list[i]);
	for (size_t i = 0; i < a->n; i++)
		if (is_next(a, i) && bwl_mac_is_one(a->list[i].mac) && !fixed(b, &a->list[i]) &&
		    is_used(b, &a->list[i]))
			tell(w, &a->list[i], &a->list[i], NULL);
}

/* Whose IKE is heard, and whom it must prove to be. */
static void speakers(struct widen *w, const struct places *a, const struct places *b)
{
	char where[64], id[BWL_IDENTITY_SIZE], before[BWL_IDENTITY_SIZE];

	for (size_t i = 0; i < b->n; i++) {
		const struct place *x = &b->list[i];
		bool was = false, heard = false;

		if (!x->remote)
			continue;
		widen_id(x->peer, id);
		EACH(y, a, x, PLACE_WHOSE)
		{
			heard = true;
			was = was || !strcmp(id, widen_id(y->peer, before));
		}
		if (was)
			continue;
		snprintf(where, sizeof(where), "DPU %.40s", x->address);
		widen_add(w, where, "IKE from there", heard ? "as another identity" : "not heard",
			  id);
	}
}

void widen_hops(struct widen *w)
{
	struct places a = places_of(w->from), b = places_of(w->to);

	macs(w, &a, &b);
	speakers(w, &a, &b);
	free(a.list);
	free(b.list);
}
