/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Connected clients, and their deadlines: libmicrohttpd's own time limits restart with every byte.
 * If there are too many, one of the client that has most is disconnected (fleet/http/places.h): the
 * one that was longest without a request, or reads nothing of its answer. Pure, except for
 * shutdown(2).
 */
#ifndef BWL_WEB_GUESTS_H
#define BWL_WEB_GUESTS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/socket.h>
#include "fleet/http/places.h"
#include "fleet/http/strict.h"

#define GUESTS_MAX 256 /* if a certificate is asked for: that have shown one */
#define GUESTS_ROOM (GUESTS_MAX + BWL_PLACES_STRANGERS + 64) /* and some that are being closed */
#define GUESTS_OF_CLIENT 64
#define GUESTS_HEAD_S 10   /* until the first request's head, also after the certificate */
#define GUESTS_ANSWER_S 30 /* until an answer is made, and then until it is taken */
#define GUESTS_IDLE_S 60   /* between two requests of one connection */
#define GUESTS_STREAM_S 15 /* until what was sent on a stream is taken */

enum guest_does { GUEST_FREE, GUEST_ASKS, GUEST_IS_ANSWERED, GUEST_STREAMS, GUEST_GOES };

struct guest {
	struct bwl_place place; /* since_ns: since when it does that */
	enum guest_does does;
	int fd;
	uint64_t by_ns;           /* its deadline; UINT64_MAX: none */
	void *session;            /* for tls.c; NULL: none */
	struct bwl_tls *began;    /* the certificates it began with; it holds a reference */
	struct bwl_strict strict; /* about the request's head */
};
struct guests {
	bool strangers; /* a certificate is asked for: who has shown none has places apart */
	struct guest guest[GUESTS_ROOM];
};

/* NULL: there is no room, and the client was disconnected. */
struct guest *guests_come(struct guests *g, int fd, const struct sockaddr *from, uint64_t now_ns);
/* Its certificate is allowed. */
void guests_known(struct guests *g, struct guest *x, uint64_t now_ns);
void guests_go(struct guest *x); /* NULL-safe */
/* What the client does now, and within which time; s 0: without a limit. */
void guests_does(struct guest *x, enum guest_does does, unsigned s, uint64_t now_ns);
/* Disconnects the client. */
void guests_shut(struct guest *x);
/* Disconnects clients whose deadline has passed. */
void guests_look(struct guests *g, uint64_t now_ns);

#endif
