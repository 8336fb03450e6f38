/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Who connects to a server that asks for certificates, before and after showing one. Anybody can
 * connect without end: so who has shown none has some of the places, and displaces only others of
 * these. The server counts the places, and hangs up.
 */
#ifndef BWL_HTTP_VISITOR_H
#define BWL_HTTP_VISITOR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>

/* The first member of what a server knows of a connection. */
struct bwl_visitor {
	bool here;  /* not free, and not hung up on */
	bool known; /* its certificate is allowed; or the server asks for none */
	uint8_t address[16];
	uint64_t since_ns; /* a stranger's: when it came */
};
struct bwl_visitor bwl_visitor_new(const struct sockaddr *from, bool known, uint64_t now_ns);
bool bwl_visitor_same_address(const struct bwl_visitor *a, const struct bwl_visitor *b);
/* How many of n connections, which are `size` apart, have shown no certificate. */
unsigned bwl_strangers(const void *first, size_t size, unsigned n);
/* The one of these to hang up on: the oldest of the address that has most. NULL: there is none. */
void *bwl_stranger_to_go(void *first, size_t size, unsigned n);

#endif
