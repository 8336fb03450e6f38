// SPDX-License-Identifier: GPL-2.0-or-later
/* See pcapng.h. In this machine's byte order, which the section header declares. */
#include <stdlib.h>
#include <string.h>
#include <bwl/err.h>
#include "pcapng.h"

#define SECTION 0x0a0d0d0aU
#define INTERFACE 1U
#define STATISTICS 5U
#define PACKET 6U
#define ETHERNET 1 /* link type */

struct block {
	uint8_t *at;
	size_t len, room;
};

static void put(struct block *b, const void *at, size_t n)
{
	size_t padded = (n + 3) & ~(size_t)3;

	if (b->len + padded > b->room) {
		b->room = 2 * (b->len + padded) + 256;
		b->at = bwl_must(realloc(b->at, b->room));
	}
	memset(b->at + b->len, 0, padded);
	if (n)
		memcpy(b->at + b->len, at, n);
	b->len += padded;
}

static void put32(struct block *b, uint32_t v)
{
	put(b, &v, sizeof(v));
}

static void put64(struct block *b, uint64_t v)
{
	put32(b, (uint32_t)(v >> 32)); /* high, then low, whatever the byte order */
	put32(b, (uint32_t)v);
}

static void put_option(struct block *b, uint16_t code, const void *at, size_t n)
{
	uint16_t len = (uint16_t)(n > UINT16_MAX ? UINT16_MAX : n);
	uint16_t head[2] = { code, len };

	put(b, head, sizeof(head));
	put(b, at, len);
}

static struct block begin(uint32_t type)
{
	struct block b = { 0 };

	put32(&b, type);
	put32(&b, 0); /* its length, at the end */
	return b;
}

static void end(FILE *f, struct block *b)
{
	uint32_t all;

	put32(b, 0); /* opt_endofopt */
	all = (uint32_t)b->len + 4;
	put32(b, all);
	memcpy(b->at + 4, &all, sizeof(all));
	fwrite(b->at, 1, b->len, f);
	free(b->at);
}

void pcapng_section(FILE *f, const char *program, const char *comment)
{
	struct block b = begin(SECTION);
	const uint16_t version[2] = { 1, 0 };
	const uint64_t unknown = UINT64_MAX; /* length of the section */

	put32(&b, 0x1a2b3c4d);
	put(&b, version, sizeof(version));
	put(&b, &unknown, sizeof(unknown));
	put_option(&b, 1, comment, strlen(comment));
	put_option(&b, 4, program, strlen(program)); /* shb_userappl */
	end(f, &b);
}

void pcapng_interface(FILE *f, const char *name, const char *filter, uint32_t snap)
{
	struct block b = begin(INTERFACE);
	const uint16_t link[2] = { ETHERNET, 0 };
	const uint8_t nanoseconds = 9;
	size_t n = strlen(filter);
	char *text = bwl_must(malloc(n + 1));

	text[0] = 0; /* a filter as text */
	memcpy(text + 1, filter, n);
	put(&b, link, sizeof(link));
	put32(&b, snap);
	put_option(&b, 2, name, strlen(name)); /* if_name */
	put_option(&b, 9, &nanoseconds, 1);    /* if_tsresol */
	put_option(&b, 11, text, n + 1);       /* if_filter */
	end(f, &b);
	free(text);
}

void pcapng_packet(FILE *f, uint32_t interface, uint64_t when_ns, enum pcapng_way way,
		   const uint8_t *at, uint32_t taken, uint32_t whole)
{
	struct block b = begin(PACKET);
	const uint32_t flags = way;

	put32(&b, interface);
	put64(&b, when_ns);
	put32(&b, taken);
	put32(&b, whole);
	put(&b, at, taken);
	put_option(&b, 2, &flags, sizeof(flags)); /* epb_flags */
	end(f, &b);
}

void pcapng_statistics(FILE *f, uint32_t interface, uint64_t when_ns, uint64_t seen, uint64_t lost)
{
	struct block b = begin(STATISTICS);

	put32(&b, interface);
	put64(&b, when_ns);
	put_option(&b, 4, &seen, sizeof(seen)); /* isb_ifrecv */
	put_option(&b, 5, &lost, sizeof(lost)); /* isb_ifdrop */
	end(f, &b);
}
