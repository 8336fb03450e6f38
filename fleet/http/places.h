/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Places of a server, of which there are only so many: connections, streams, questions. Whoever
 * comes gets one. If there are too many then, the client that has most, perhaps his own, gives one
 * back, so that no client keeps others out, however many it takes and however long it holds them.
 * Who has shown no certificate yet has places apart: anybody can connect without end.
 *
 * The server counts, and says who is displaced. Pure, but for the certificate.
 */
#ifndef BWL_HTTP_PLACES_H
#define BWL_HTTP_PLACES_H

#include <gnutls/gnutls.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>

#define BWL_PLACES_STRANGERS 128 /* connections that have shown no certificate yet */
#define BWL_PLACES_SHAKE_S 5     /* how long they have for it */

/* Whose a place is: an address's, with IPv6 a /64's; once it has shown one, a certificate's. */
struct bwl_client {
	uint8_t id[16];
};

enum bwl_place_of { BWL_PLACE_FREE, BWL_PLACE_STRANGER, BWL_PLACE_KNOWN };

/* The first member of what has a place. */
struct bwl_place {
	enum bwl_place_of of; /* FREE: nobody's, or its client was already told to go */
	unsigned readily;     /* goes before those of its client that have less of it */
	struct bwl_client client;
	uint64_t since_ns; /* then the oldest goes */
};

/* of KNOWN: the server asks for no certificates. */
struct bwl_place bwl_place_new(const struct sockaddr *from, enum bwl_place_of of, uint64_t now_ns);
/* Its certificate is allowed. */
void bwl_place_known(struct bwl_place *p, gnutls_session_t session, uint64_t now_ns);
bool bwl_client_is(const struct bwl_client *a, const struct bwl_client *b);

/* How many of n places, which are `size` apart, are taken by these; client NULL: by any. */
unsigned bwl_places_taken(const void *first, size_t size, unsigned n, enum bwl_place_of of,
			  const struct bwl_client *client);
/* The one that is given back: of the client that has most. NULL: none is taken. */
void *bwl_place_to_go(void *first, size_t size, unsigned n, enum bwl_place_of of);

#endif
