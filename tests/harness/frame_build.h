/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A frame while it is being built, shared by the parts of frame.c. */
#ifndef BWL_TEST_FRAME_BUILD_H
#define BWL_TEST_FRAME_BUILD_H

#include "frame.h"

enum kind {
	K_VNET,
	K_ETH,
	K_VLAN,
	K_IP4,
	K_IP6,
	K_EXT,
	K_FRAG6,
	K_UDP,
	K_TCP,
	K_ICMP,
	K_ND,
	K_IGMP,
	K_ARP,
	_K_MAX,
};
enum sum { SUM_GOOD, SUM_BAD, SUM_GIVEN };

#define MAX_LAYERS 24
struct layer {
	enum kind kind;
	size_t off, size;
	bool has_len, has_type;
	uint8_t ext;   /* K_EXT: protocol number of this header */
	uint16_t tpid; /* K_VLAN */
	enum sum sum;
	uint16_t given; /* SUM_GIVEN */
};

struct build {
	struct frame *f;
	const struct frame_env *env;
	struct layer layer[MAX_LAYERS];
	size_t n;
	char *why;
};

/* Returns -1, and stores the reason for the caller. */
int frame_bad(struct build *b, const char *what, const char *word);
/* Fills p like an uncharged packet's bytes: with this run's marker repeated, or with x. */
void frame_fill(const struct build *b, uint8_t *p, size_t n);
int frame_parse_hex(const char *s, uint8_t *out, size_t room, size_t *n);

/* frame_field.c: key=value of the last layer. */
int frame_set(struct build *b, struct layer *l, const char *key, const char *val);

/* frame_finish.c: fills in what the words left open, inner layers first. */
void frame_finish(struct build *b);
/*
 * One fragment of the datagram that the words describe, whose checksums are those of the whole:
 * N bytes from FROM of what follows the fragment header, or the outermost IPv4 header.
 */
int frame_slice(struct build *b, const char *val);
bool frame_has_sum(enum kind kind);

static inline unsigned frame_get16(const uint8_t *p)
{
	return p[0] << 8 | p[1];
}

static inline void frame_put16(uint8_t *p, unsigned v)
{
	p[0] = v >> 8;
	p[1] = v;
}

#endif
