// SPDX-License-Identifier: GPL-2.0-or-later
/* See places.h. */
#include <gnutls/crypto.h>
#include <netinet/in.h>
#include <string.h>
#include "places.h"

struct bwl_place bwl_place_new(const struct sockaddr *from, enum bwl_place_of of, uint64_t now_ns)
{
	const struct sockaddr_in6 *v6 = (const struct sockaddr_in6 *)from;
	const struct sockaddr_in *v4 = (const struct sockaddr_in *)from;
	struct bwl_place p = { .of = of, .since_ns = now_ns };

	if (from->sa_family == AF_INET6)
		memcpy(p.client.id, &v6->sin6_addr, 8); /* who has one address of a /64 has all */
	else
		memcpy(p.client.id, &v4->sin_addr, 4);
	return p;
}

void bwl_place_known(struct bwl_place *p, gnutls_session_t session, uint64_t now_ns)
{
	const gnutls_datum_t *shown = gnutls_certificate_get_peers(session, &(unsigned){ 0 });
	uint8_t sum[32];

	p->of = BWL_PLACE_KNOWN;
	p->since_ns = now_ns;
	if (shown && !gnutls_hash_fast(GNUTLS_DIG_SHA256, shown->data, shown->size, sum))
		memcpy(p->client.id, sum, sizeof(p->client.id));
}

bool bwl_client_is(const struct bwl_client *a, const struct bwl_client *b)
{
	return !memcmp(a->id, b->id, sizeof(a->id));
}

static const struct bwl_place *at(const void *first, size_t size, unsigned i)
{
	return (const struct bwl_place *)((const char *)first + i * size);
}

unsigned bwl_places_taken(const void *first, size_t size, unsigned n, enum bwl_place_of of,
			  const struct bwl_client *client)
{
	unsigned sum = 0;

	for (unsigned i = 0; i < n; i++) {
		const struct bwl_place *p = at(first, size, i);

		sum += p->of == of && (!client || bwl_client_is(&p->client, client));
	}
	return sum;
}

static bool goes_before(const struct bwl_place *a, const struct bwl_place *b)
{
	return a->readily != b->readily ? a->readily > b->readily : a->since_ns < b->since_ns;
}

void *bwl_place_to_go(void *first, size_t size, unsigned n, enum bwl_place_of of)
{
	const struct bwl_place *out = NULL;
	unsigned most = 0;

	for (unsigned i = 0; i < n; i++) {
		const struct bwl_place *p = at(first, size, i);
		unsigned m = p->of == of ? bwl_places_taken(first, size, n, of, &p->client) : 0;

		if (m > most || (m && m == most && goes_before(p, out))) {
			out = p;
			most = m;
		}
	}
	return (void *)out;
}
