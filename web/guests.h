/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Connected clients, and their deadlines. libmicrohttpd's own time limits restart with every byte.
 * When there are too many, the client longest without a request goes, then one that does not read
 * its answer; of the same address if that has too many. So they lock nobody out who makes requests.
 * Pure except for shutdown(2).
 */
#ifndef BWL_WEB_GUESTS_H
#define BWL_WEB_GUESTS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/socket.h>

#define GUESTS_MOST 256
#define GUESTS_ROOM (GUESTS_MOST + 64) /* connections that are on their way out */
#define GUESTS_OF_ADDRESS 64
#define GUESTS_HEAD_S 10   /* from the connection to the end of the first request's head */
#define GUESTS_ANSWER_S 30 /* until an answer is made, and then until it is taken */
#define GUESTS_IDLE_S 60   /* between two requests of one connection */
#define GUESTS_STREAM_S 15 /* until what was sent on a stream is taken */

enum guest_does { GUEST_FREE, GUEST_ASKS, GUEST_IS_ANSWERED, GUEST_STREAMS, GUEST_GOES };

struct guest {
	enum guest_does does;
	int fd;
	uint8_t address[16];
	uint64_t since_ns, by_ns; /* by_ns: UINT64_MAX: he need not do anything */
	void *session;            /* of tls.c; NULL: none */
	struct bwl_tls *began;    /* what it began with, held */
};
struct guests {
	struct guest guest[GUESTS_ROOM];
};

/* NULL: there is no room, and he was shut down. */
struct guest *guests_come(struct guests *g, int fd, const struct sockaddr *from, uint64_t now_ns);
void guests_go(struct guest *x); /* NULL-safe */
/* What he does now, and how long he may take for it; 0 s: as long as he likes. */
void guests_does(struct guest *x, enum guest_does does, unsigned s, uint64_t now_ns);
/* He is shut down. */
void guests_shut(struct guest *x);
/* Those whose time is over are shut down. */
void guests_look(struct guests *g, uint64_t now_ns);
unsigned guests_count(const struct guests *g, const struct guest *of_address);

#endif
