// SPDX-License-Identifier: GPL-2.0-or-later
/* Frames from words (frame.h): the fields that a word sets in its layer. */
#include <arpa/inet.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "frame_build.h"

int frame_parse_mac(const char *s, uint8_t mac[6])
{
	return sscanf(s, "%hhx:%hhx:%hhx:%hhx:%hhx:%hhx", &mac[0], &mac[1], &mac[2], &mac[3],
		      &mac[4], &mac[5]) == 6
		       ? 0
		       : -1;
}

/* "10.0.0.1", or "10.0.0.0/8": random host bits. */
static int parse_addr(int family, const char *s, uint8_t *out)
{
	int bytes = family == AF_INET ? 4 : 16, len = bytes * 8, i;
	char text[64], *slash;
	uint8_t keep, noise;

	if (snprintf(text, sizeof(text), "%s", s) >= (int)sizeof(text))
		return -1;
	slash = strchr(text, '/');
	if (slash) {
		*slash = 0;
		len = atoi(slash + 1);
	}
	if (inet_pton(family, text, out) != 1 || len < 0 || len > bytes * 8)
		return -1;
	for (i = len / 8; i < bytes; i++) {
		keep = i == len / 8 ? (uint8_t)(0xff00 >> (len % 8)) : 0;
		noise = random();
		out[i] = (out[i] & keep) | (noise & (uint8_t)~keep);
	}
	return 0;
}

static int set_vnet(struct build *b, const char *key, const char *val)
{
	static const struct {
		const char *name;
		uint8_t type;
	} gso[] = {
		{ "none", 0 }, { "tcp4", 1 }, { "ufo", 3 }, { "tcp6", 4 }, { "udp", 5 },
	};
	uint8_t *h = b->f->vnet;
	unsigned v = strtoul(val, NULL, 0), start, off;
	size_t i;

	if (!strcmp(key, "gso")) {
		for (i = 0; i < sizeof(gso) / sizeof(gso[0]); i++)
			if (!strcmp(val, gso[i].name)) {
				h[1] = gso[i].type;
				return 0;
			}
	} else if (!strcmp(key, "hdr")) {
		h[2] = v;
		h[3] = v >> 8;
		return 0;
	} else if (!strcmp(key, "size")) {
		h[4] = v;
		h[5] = v >> 8;
		return 0;
	} else if (!strcmp(key, "csum") && sscanf(val, "%u,%u", &start, &off) == 2) {
		h[0] = 1;
		h[6] = start;
		h[7] = start >> 8;
		h[8] = off;
		h[9] = off >> 8;
		return 0;
	}
	return frame_bad(b, key, val);
}

/* Options and extension data make the layer longer, which works only for the last layer. */
static int set_extra(struct build *b, struct layer *l, const char *val)
{
	size_t n, room = FRAME_MAX - b->f->len;

	if (frame_parse_hex(val, b->f->data + l->off + (l->kind == K_EXT ? 2 : l->size), room, &n))
		return frame_bad(b, "bad hex", val);
	if (l->kind == K_EXT)
		return n <= l->size - 2 ? 0 : frame_bad(b, "longer than the header", val);
	while (n % 4)
		b->f->data[l->off + l->size + n++] = 0;
	l->size += n;
	b->f->len += n;
	b->f->data[l->off] = 0x40 | (l->size / 4);
	return 0;
}

/* The fixed part of each ND message (RFC 4861, section 4); options follow it. */
static int set_nd_kind(struct build *b, struct layer *l, unsigned kind)
{
	size_t size = kind == 133 ? 8 : kind == 134 ? 16 : kind == 137 ? 40 : 24;
	uint8_t *p = b->f->data + l->off;

	if (l->off + size > FRAME_MAX)
		return frame_bad(b, "too long", "nd");
	memset(p, 0, size);
	p[0] = kind;
	l->size = size;
	b->f->len = l->off + size;
	return 0;
}

/* A link-layer address option: type 1 for a source, 2 for a target. */
static int add_nd_mac(struct build *b, struct layer *l, unsigned type, const char *val)
{
	uint8_t *p = b->f->data + b->f->len;

	if (b->f->len + 8 > FRAME_MAX || frame_parse_mac(val, p + 2))
		return frame_bad(b, "bad MAC", val);
	p[0] = type;
	p[1] = 1; /* times 8 bytes */
	l->size += 8;
	b->f->len += 8;
	return 0;
}

/*
 * Fills an extension header like an uncharged packet: options of type 0x1e, which is for
 * experiments and is skipped by receivers that do not know it (RFC 4727).
 */
static void fill_ext(const struct build *b, const struct layer *l)
{
	uint8_t *p = b->f->data + l->off;
	size_t at, n;

	for (at = 2; at + 2 < l->size; at += n + 2) {
		n = l->size - at - 2 > 255 ? 200 : l->size - at - 2;
		p[at] = 0x1e;
		p[at + 1] = n;
		frame_fill(b, p + at + 2, n);
	}
}

static int set_sum(struct build *b, struct layer *l, const char *val)
{
	char *end;

	l->sum = SUM_GIVEN;
	l->given = strtoul(val, &end, 0);
	if (!strcmp(val, "zero"))
		l->given = 0;
	else if (!strcmp(val, "bad") || !strcmp(val, "good"))
		l->sum = *val == 'b' ? SUM_BAD : SUM_GOOD;
	else if (*end || end == val)
		return frame_bad(b, "good, bad, zero or a number", val);
	return 0;
}

int frame_set(struct build *b, struct layer *l, const char *key, const char *val)
{
	uint8_t *p = b->f->data + l->off;
	unsigned long v = strtoul(val, NULL, 0);
	int family = l->kind == K_IP4 ? AF_INET : AF_INET6;
	bool ip = l->kind == K_IP4 || l->kind == K_IP6;

#define KEY(k, name) (l->kind == (k) && !strcmp(key, name))
	if (l->kind == K_VNET)
		return set_vnet(b, key, val);
	if (KEY(K_ETH, "dst") || KEY(K_ETH, "src"))
		return frame_parse_mac(val, p + (*key == 's' ? 6 : 0))
			       ? frame_bad(b, "bad MAC", val)
			       : 0;
	if (KEY(K_ARP, "smac") || KEY(K_ARP, "tmac"))
		return frame_parse_mac(val, p + (*key == 's' ? 8 : 18))
			       ? frame_bad(b, "bad MAC", val)
			       : 0;
	if (KEY(K_ARP, "sip") || KEY(K_ARP, "tip"))
		return parse_addr(AF_INET, val, p + (*key == 's' ? 14 : 24))
			       ? frame_bad(b, key, val)
			       : 0;
	if (ip && (!strcmp(key, "src") || !strcmp(key, "dst"))) {
		p += l->kind == K_IP4 ? 12 : 8;
		if (*key == 'd')
			p += l->kind == K_IP4 ? 4 : 16;
		return parse_addr(family, val, p) ? frame_bad(b, "bad address", val) : 0;
	}
	if (KEY(K_ND, "target"))
		return l->size < 24 || parse_addr(AF_INET6, val, p + 8)
			       ? frame_bad(b, "bad address", val)
			       : 0;
	if (KEY(K_ND, "dest"))
		return l->size < 40 || parse_addr(AF_INET6, val, p + 24)
			       ? frame_bad(b, "bad address", val)
			       : 0;
	if (KEY(K_ND, "kind"))
		return set_nd_kind(b, l, v);
	if (KEY(K_ND, "sll") || KEY(K_ND, "tll"))
		return add_nd_mac(b, l, *key == 's' ? 1 : 2, val);
	if (KEY(K_IGMP, "group"))
		return parse_addr(AF_INET, val, p + 4) ? frame_bad(b, "bad address", val) : 0;
	if (!strcmp(key, "sum") && frame_has_sum(l->kind))
		return set_sum(b, l, val);
	if (!strcmp(key, "type")) {
		l->has_type = true;
		if (l->kind == K_ETH)
			frame_put16(p + 12, v);
		else if (l->kind == K_VLAN)
			frame_put16(p + 2, v);
		else
			p[l->kind == K_IP4 ? 9 : l->kind == K_IP6 ? 6 : 0] = v;
	} else if (!strcmp(key, "len") && (ip || l->kind == K_UDP)) {
		l->has_len = true;
		frame_put16(p + (l->kind == K_IP4 ? 2 : 4), v);
	} else if (KEY(K_VLAN, "id")) {
		frame_put16(p, v);
	} else if (KEY(K_VLAN, "tpid")) {
		l->tpid = v;
	} else if (KEY(K_IP4, "ttl")) {
		p[8] = v;
	} else if (KEY(K_IP4, "tos")) {
		p[1] = v;
	} else if (KEY(K_IP4, "id")) {
		frame_put16(p + 4, v);
	} else if (KEY(K_IP4, "off")) {
		frame_put16(p + 6, (p[6] << 8 & 0xe000) | (v / 8));
	} else if (KEY(K_IP4, "mf")) {
		p[6] |= v ? 0x20 : 0;
	} else if (KEY(K_IP4, "df")) {
		p[6] |= v ? 0x40 : 0;
	} else if (KEY(K_IP4, "ihl")) {
		p[0] = 0x40 | (v & 15);
	} else if (KEY(K_IP4, "opt") || KEY(K_EXT, "hex")) {
		return set_extra(b, l, val);
	} else if (KEY(K_IP6, "hop")) {
		p[7] = v;
	} else if (KEY(K_EXT, "kind")) {
		l->ext = v;
	} else if (KEY(K_EXT, "size")) {
		if (v < 8 || v > 2048 || v % 8)
			return frame_bad(b, "a multiple of 8 up to 2048", val);
		memset(p, 0, v);
		l->size = v;
		b->f->len = l->off + v;
		p[1] = v / 8 - 1;
	} else if (KEY(K_EXT, "options")) {
		fill_ext(b, l);
	} else if (KEY(K_FRAG6, "off")) {
		frame_put16(p + 2, (p[3] & 1) | (v & 0xfff8));
	} else if (KEY(K_FRAG6, "mf")) {
		p[3] |= v ? 1 : 0;
	} else if (KEY(K_FRAG6, "id")) {
		frame_put16(p + 6, v);
	} else if ((l->kind == K_UDP || l->kind == K_TCP) && !strcmp(key + 1, "port")) {
		frame_put16(p + (*key == 's' ? 0 : 2), v);
	} else if (KEY(K_TCP, "flags")) {
		p[13] = v;
	} else if (KEY(K_TCP, "seq")) {
		frame_put16(p + 4, v >> 16);
		frame_put16(p + 6, v);
	} else if (KEY(K_TCP, "doff")) {
		p[12] = v << 4;
	} else if (KEY(K_ICMP, "kind") || KEY(K_IGMP, "kind")) {
		p[0] = v;
	} else if (KEY(K_ND, "flags")) {
		p[4] = v;
	} else if (KEY(K_ICMP, "rest") || KEY(K_IGMP, "rest")) {
		frame_put16(p + 4, v >> 16);
		frame_put16(p + 6, v);
	} else if (KEY(K_ICMP, "code")) {
		p[1] = v;
	} else if (KEY(K_ARP, "op")) {
		frame_put16(p + 6, v);
	} else {
		return frame_bad(b, "unknown field", key);
	}
#undef KEY
	return 0;
}
