// SPDX-License-Identifier: GPL-2.0-or-later
/* Frames from words: see frame.h. */
#include <arpa/inet.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "frame.h"

enum kind {
	K_VNET, K_ETH, K_VLAN, K_IP4, K_IP6, K_EXT, K_FRAG6, K_UDP, K_TCP, K_ICMP, K_ND, K_IGMP,
	K_ARP, _K_MAX,
};
static const char *const kind_names[_K_MAX] = {
	"vnet", "eth", "vlan", "ip4", "ip6", "ext", "frag6", "udp", "tcp", "icmp", "nd", "igmp",
	"arp",
};

enum sum { SUM_GOOD, SUM_BAD, SUM_GIVEN };

#define MAX_LAYERS 24
struct layer {
	enum kind kind;
	size_t off, size;
	bool has_len, has_type;
	uint8_t ext;		/* K_EXT: protocol number of this header */
	uint16_t tpid;		/* K_VLAN */
	enum sum sum;
	uint16_t given;		/* SUM_GIVEN */
};

struct build {
	struct frame *f;
	const struct frame_env *env;
	struct layer layer[MAX_LAYERS];
	size_t n;
	char *why;
};

static int bad(struct build *b, const char *what, const char *word)
{
	snprintf(b->why, 160, "%s: %s", what, word);
	return -1;
}

static unsigned get16(const uint8_t *p)
{
	return p[0] << 8 | p[1];
}

static void put16(uint8_t *p, unsigned v)
{
	p[0] = v >> 8;
	p[1] = v;
}

int frame_parse_mac(const char *s, uint8_t mac[6])
{
	return sscanf(s, "%hhx:%hhx:%hhx:%hhx:%hhx:%hhx", &mac[0], &mac[1], &mac[2], &mac[3],
		      &mac[4], &mac[5]) == 6 ? 0 : -1;
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

static int parse_hex(const char *s, uint8_t *out, size_t room, size_t *n)
{
	unsigned byte;

	for (*n = 0; s[0] && s[1]; s += 2, (*n)++)
		if (*n >= room || sscanf(s, "%2x", &byte) != 1)
			return -1;
		else
			out[*n] = byte;
	return *s ? -1 : 0;
}

/* The one's complement sum of RFC 1071, not yet complemented. */
static uint16_t add_up(uint64_t sum, const uint8_t *p, size_t n)
{
	size_t i;

	for (i = 0; i + 1 < n; i += 2)
		sum += p[i] << 8 | p[i + 1];
	if (n & 1)
		sum += p[n - 1] << 8;
	while (sum >> 16)
		sum = (sum & 0xffff) + (sum >> 16);
	return sum;
}

/* What an uncharged byte looks like: the marker of this run again and again, or x. */
static void fill(const struct build *b, uint8_t *p, size_t n)
{
	size_t i;

	if (!b->env->marker)
		memset(p, 'x', n);
	for (i = 0; b->env->marker && i < n; i++)
		p[i] = b->env->marker[i % FRAME_MARKER];
}

static int open_layer(struct build *b, enum kind kind)
{
	static const size_t size[_K_MAX] = {
		[K_ETH] = 14, [K_VLAN] = 4, [K_IP4] = 20, [K_IP6] = 40, [K_EXT] = 8,
		[K_FRAG6] = 8, [K_UDP] = 8, [K_TCP] = 20, [K_ICMP] = 8, [K_ND] = 24,
		[K_IGMP] = 8, [K_ARP] = 28,
	};
	struct layer *l = &b->layer[b->n];
	struct frame *f = b->f;
	uint8_t *p = f->data + f->len;

	if (b->n == MAX_LAYERS || f->len + size[kind] > FRAME_MAX)
		return bad(b, "too long", kind_names[kind]);
	*l = (struct layer){ .kind = kind, .off = f->len, .size = size[kind], .tpid = 0x8100 };
	b->n++;
	memset(p, 0, size[kind]);
	f->len += size[kind];
	switch (kind) {
	case K_VNET:
		f->has_vnet = true;
		break;
	case K_ETH:
		memcpy(p, b->env->gateway, 6);
		memcpy(p + 6, b->env->own, 6);
		break;
	case K_IP4:
		p[0] = 0x45;
		p[8] = 64;
		break;
	case K_IP6:
		p[0] = 0x60;
		p[7] = 64;
		break;
	case K_UDP:
	case K_TCP:
		put16(p, 40000);
		put16(p + 2, 9);
		if (kind == K_TCP)
			p[12] = 0x50;
		break;
	case K_ICMP:
		p[0] = 8;
		break;
	case K_ND:
		p[0] = 135;
		break;
	case K_IGMP:
		p[0] = 0x16;	/* a report of version 2 */
		break;
	case K_ARP:
		put16(p, 1);
		put16(p + 2, 0x0800);
		p[4] = 6;
		p[5] = 4;
		put16(p + 6, 1);
		memcpy(p + 8, b->env->own, 6);
		break;
	default:
		break;
	}
	return 0;
}

static int set_vnet(struct build *b, const char *key, const char *val)
{
	static const struct { const char *name; uint8_t type; } gso[] = {
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
	return bad(b, key, val);
}

/* Options and extension data make the layer longer: only while it is the last one. */
static int set_extra(struct build *b, struct layer *l, const char *val)
{
	size_t n, room = FRAME_MAX - b->f->len;

	if (parse_hex(val, b->f->data + l->off + (l->kind == K_EXT ? 2 : l->size), room, &n))
		return bad(b, "bad hex", val);
	if (l->kind == K_EXT)
		return n <= l->size - 2 ? 0 : bad(b, "longer than the header", val);
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
		return bad(b, "too long", "nd");
	memset(p, 0, size);
	p[0] = kind;
	l->size = size;
	b->f->len = l->off + size;
	return 0;
}

/* A link-layer address option: 1 of a source, 2 of a target. */
static int add_nd_mac(struct build *b, struct layer *l, unsigned type, const char *val)
{
	uint8_t *p = b->f->data + b->f->len;

	if (b->f->len + 8 > FRAME_MAX || frame_parse_mac(val, p + 2))
		return bad(b, "bad MAC", val);
	p[0] = type;
	p[1] = 1;	/* times 8 bytes */
	l->size += 8;
	b->f->len += 8;
	return 0;
}

/*
 * An extension header full of what an uncharged byte looks like: options of type 0x1e, for
 * experiments and to be skipped by who does not know them (RFC 4727).
 */
static void fill_ext(const struct build *b, const struct layer *l)
{
	uint8_t *p = b->f->data + l->off;
	size_t at, n;

	for (at = 2; at + 2 < l->size; at += n + 2) {
		n = l->size - at - 2 > 255 ? 200 : l->size - at - 2;
		p[at] = 0x1e;
		p[at + 1] = n;
		fill(b, p + at + 2, n);
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
		return bad(b, "good, bad, zero or a number", val);
	return 0;
}

static bool has_sum(enum kind kind)
{
	return kind == K_IP4 || kind == K_UDP || kind == K_TCP || kind == K_ICMP || kind == K_ND ||
	       kind == K_IGMP;
}

static int set_field(struct build *b, struct layer *l, const char *key, const char *val)
{
	uint8_t *p = b->f->data + l->off;
	unsigned long v = strtoul(val, NULL, 0);
	int family = l->kind == K_IP4 ? AF_INET : AF_INET6;
	bool ip = l->kind == K_IP4 || l->kind == K_IP6;

#define KEY(k, name) (l->kind == (k) && !strcmp(key, name))
	if (l->kind == K_VNET)
		return set_vnet(b, key, val);
	if (KEY(K_ETH, "dst") || KEY(K_ETH, "src"))
		return frame_parse_mac(val, p + (*key == 's' ? 6 : 0)) ? bad(b, "bad MAC", val) : 0;
	if (KEY(K_ARP, "smac") || KEY(K_ARP, "tmac"))
		return frame_parse_mac(val, p + (*key == 's' ? 8 : 18)) ? bad(b, "bad MAC", val) : 0;
	if (KEY(K_ARP, "sip") || KEY(K_ARP, "tip"))
		return parse_addr(AF_INET, val, p + (*key == 's' ? 14 : 24)) ? bad(b, key, val) : 0;
	if (ip && (!strcmp(key, "src") || !strcmp(key, "dst"))) {
		p += l->kind == K_IP4 ? 12 : 8;
		if (*key == 'd')
			p += l->kind == K_IP4 ? 4 : 16;
		return parse_addr(family, val, p) ? bad(b, "bad address", val) : 0;
	}
	if (KEY(K_ND, "target"))
		return l->size < 24 || parse_addr(AF_INET6, val, p + 8) ?
		       bad(b, "bad address", val) : 0;
	if (KEY(K_ND, "dest"))
		return l->size < 40 || parse_addr(AF_INET6, val, p + 24) ?
		       bad(b, "bad address", val) : 0;
	if (KEY(K_ND, "kind"))
		return set_nd_kind(b, l, v);
	if (KEY(K_ND, "sll") || KEY(K_ND, "tll"))
		return add_nd_mac(b, l, *key == 's' ? 1 : 2, val);
	if (KEY(K_IGMP, "group"))
		return parse_addr(AF_INET, val, p + 4) ? bad(b, "bad address", val) : 0;
	if (!strcmp(key, "sum") && has_sum(l->kind))
		return set_sum(b, l, val);
	if (!strcmp(key, "type")) {
		l->has_type = true;
		if (l->kind == K_ETH)
			put16(p + 12, v);
		else if (l->kind == K_VLAN)
			put16(p + 2, v);
		else
			p[l->kind == K_IP4 ? 9 : l->kind == K_IP6 ? 6 : 0] = v;
	} else if (!strcmp(key, "len") && (ip || l->kind == K_UDP)) {
		l->has_len = true;
		put16(p + (l->kind == K_IP4 ? 2 : 4), v);
	} else if (KEY(K_VLAN, "id")) {
		put16(p, v);
	} else if (KEY(K_VLAN, "tpid")) {
		l->tpid = v;
	} else if (KEY(K_IP4, "ttl")) {
		p[8] = v;
	} else if (KEY(K_IP4, "tos")) {
		p[1] = v;
	} else if (KEY(K_IP4, "id")) {
		put16(p + 4, v);
	} else if (KEY(K_IP4, "off")) {
		put16(p + 6, (p[6] << 8 & 0xe000) | (v / 8));
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
			return bad(b, "a multiple of 8 up to 2048", val);
		memset(p, 0, v);
		l->size = v;
		b->f->len = l->off + v;
		p[1] = v / 8 - 1;
	} else if (KEY(K_EXT, "options")) {
		fill_ext(b, l);
	} else if (KEY(K_FRAG6, "off")) {
		put16(p + 2, (p[3] & 1) | (v & 0xfff8));
	} else if (KEY(K_FRAG6, "mf")) {
		p[3] |= v ? 1 : 0;
	} else if (KEY(K_FRAG6, "id")) {
		put16(p + 6, v);
	} else if ((l->kind == K_UDP || l->kind == K_TCP) && !strcmp(key + 1, "port")) {
		put16(p + (*key == 's' ? 0 : 2), v);
	} else if (KEY(K_TCP, "flags")) {
		p[13] = v;
	} else if (KEY(K_TCP, "seq")) {
		put16(p + 4, v >> 16);
		put16(p + 6, v);
	} else if (KEY(K_TCP, "doff")) {
		p[12] = v << 4;
	} else if (KEY(K_ICMP, "kind") || KEY(K_IGMP, "kind")) {
		p[0] = v;
	} else if (KEY(K_ND, "flags")) {
		p[4] = v;
	} else if (KEY(K_ICMP, "rest") || KEY(K_IGMP, "rest")) {
		put16(p + 4, v >> 16);
		put16(p + 6, v);
	} else if (KEY(K_ICMP, "code")) {
		p[1] = v;
	} else if (KEY(K_ARP, "op")) {
		put16(p + 6, v);
	} else {
		return bad(b, "unknown field", key);
	}
#undef KEY
	return 0;
}

static unsigned ethertype_of(const struct layer *next)
{
	switch (next ? next->kind : _K_MAX) {
	case K_VLAN:
		return next->tpid;
	case K_IP4:
		return 0x0800;
	case K_IP6:
		return 0x86dd;
	case K_ARP:
		return 0x0806;
	default:
		return 0x88b5;	/* local experiments */
	}
}

static unsigned protocol_of(const struct layer *next, bool six)
{
	switch (next ? next->kind : _K_MAX) {
	case K_UDP:
		return 17;
	case K_TCP:
		return 6;
	case K_ICMP:
		return six ? 58 : 1;
	case K_ND:
		return 58;
	case K_IGMP:
		return 2;
	case K_EXT:
		return next->ext;
	case K_FRAG6:
		return 44;
	case K_IP4:
		return 4;
	case K_IP6:
		return 41;
	default:
		return 253;	/* experiments: RFC 3692 */
	}
}

/* The IP header that a layer is under, or NULL. */
static const struct layer *ip_above(const struct build *b, size_t i)
{
	while (i-- > 0)
		if (b->layer[i].kind == K_IP4 || b->layer[i].kind == K_IP6)
			return &b->layer[i];
	return NULL;
}

/* Where a receiver takes the end to be: the frame's, or earlier where a length says so. */
static size_t end_of(const struct build *b, const struct layer *l, const struct layer *ip)
{
	const uint8_t *p = b->f->data;
	size_t end = b->f->len, is = end;

	if (ip && ip->has_len)
		is = ip->off + (ip->kind == K_IP4 ? get16(p + ip->off + 2) :
						    40 + get16(p + ip->off + 4));
	if (is < end && is >= l->off + l->size)
		end = is;
	is = l->off + get16(p + l->off + 4);
	if (l->kind == K_UDP && l->has_len && is < end && is >= l->off + l->size)
		end = is;
	return end;
}

/* RFC 768, 9293, 8200 section 8.1: addresses, length and protocol. */
static uint64_t pseudo(const struct build *b, const struct layer *ip, unsigned proto, size_t len)
{
	const uint8_t *p;

	if (!ip)
		return 0;
	p = b->f->data + ip->off;
	return proto + len + add_up(0, p + (ip->kind == K_IP4 ? 12 : 8), ip->kind == K_IP4 ? 8 : 32);
}

static void put_sum(const struct layer *l, uint8_t *at, uint16_t good)
{
	uint16_t v = good;

	if (l->sum == SUM_BAD)
		v = good == 0x0100 ? 0x0300 : good ^ 0x0100; /* 0 would mean none */
	else if (l->sum == SUM_GIVEN)
		v = l->given;
	put16(at, v);
}

/*
 * The checksum of a transport. Where the words say that a device completes it (vnet csum=), the
 * field has what the kernel puts there then: the sum of the pseudo-header, not complemented.
 */
static void finish_transport(struct build *b, size_t i)
{
	struct layer *l = &b->layer[i];
	const struct layer *ip = ip_above(b, i);
	const uint8_t *v = b->f->vnet;
	size_t end = end_of(b, l, ip), at = l->kind == K_UDP ? 6 : l->kind == K_TCP ? 16 : 2;
	unsigned proto = protocol_of(l, ip && ip->kind == K_IP6);
	uint8_t *p = b->f->data + l->off;
	uint64_t sum = 0;
	uint16_t good;

	put16(p + at, 0);
	if (proto != 1 && proto != 2)
		sum = pseudo(b, ip, proto, end - l->off);
	if (v[0] & 1 && (v[6] | v[7] << 8) == (int)l->off && (v[8] | v[9] << 8) == (int)at) {
		put_sum(l, p + at, add_up(sum, NULL, 0));
		return;
	}
	good = ~add_up(sum, p, end - l->off);
	put_sum(l, p + at, l->kind == K_UDP && !good ? 0xffff : good);
}

static void finish_ip4(struct build *b, struct layer *l, size_t len)
{
	uint8_t *p = b->f->data + l->off;

	if (!l->has_len)
		put16(p + 2, len);
	put16(p + 10, 0);
	put_sum(l, p + 10, ~add_up(0, p, l->size));
}

/* Lengths, next protocols and checksums that the words left open; inner layers first. */
static void finish(struct build *b)
{
	const struct layer *ip;
	size_t i, left;

	for (i = b->n; i-- > 0;) {
		struct layer *l = &b->layer[i];
		const struct layer *next = i + 1 < b->n ? &b->layer[i + 1] : NULL;
		uint8_t *p = b->f->data + l->off;

		left = b->f->len - l->off;
		ip = ip_above(b, i);
		if (l->kind == K_ETH && !l->has_type)
			put16(p + 12, ethertype_of(next));
		if (l->kind == K_VLAN && !l->has_type)
			put16(p + 2, ethertype_of(next));
		if (l->kind == K_IP4) {
			if (!l->has_type)
				p[9] = protocol_of(next, false);
			finish_ip4(b, l, left);
		}
		if (l->kind == K_IP6) {
			if (!l->has_type)
				p[6] = protocol_of(next, true);
			if (!l->has_len)
				put16(p + 4, left - 40);
		}
		if ((l->kind == K_EXT || l->kind == K_FRAG6) && !l->has_type)
			p[0] = protocol_of(next, true);
		if (l->kind == K_UDP && !l->has_len)
			put16(p + 4, left);
		if (l->kind == K_ICMP && ip && ip->kind == K_IP6 && p[0] == 8)
			p[0] = 128;
		if (has_sum(l->kind) && l->kind != K_IP4)
			finish_transport(b, i);
	}
}

/*
 * One fragment of the datagram that the words describe, whose checksums are those of the whole:
 * N bytes from FROM of what follows the fragment header, or the outermost IPv4 header.
 */
static int slice(struct build *b, const char *val)
{
	struct layer *l = NULL, *ip = NULL;
	struct frame *f = b->f;
	size_t from, n, i, start, left;
	uint8_t *p;

	if (sscanf(val, "%zu,%zu", &from, &n) != 2 || from % 8)
		return bad(b, "OFFSET,BYTES, the offset a multiple of 8", val);
	for (i = 0; i < b->n && (!l || l->kind != K_FRAG6); i++) {
		if (!ip && (b->layer[i].kind == K_IP4 || b->layer[i].kind == K_IP6))
			ip = &b->layer[i];
		if (b->layer[i].kind == K_FRAG6 || (!l && b->layer[i].kind == K_IP4))
			l = &b->layer[i];
	}
	if (!l || !ip)
		return bad(b, "nothing to fragment by", "slice");
	start = l->off + l->size;
	left = f->len - start;
	if (from >= left || !n)
		return bad(b, "past the end", val);
	if (n > left - from)
		n = left - from;
	memmove(f->data + start, f->data + start + from, n);
	f->len = start + n;
	p = f->data + l->off;
	if (l->kind == K_FRAG6) {
		put16(p + 2, from | (from + n < left));
		if (!ip->has_len)
			put16(f->data + ip->off + 4, f->len - ip->off - 40);
		return 0;
	}
	put16(p + 6, (p[6] << 8 & 0x4000) | (from + n < left ? 0x2000 : 0) | from / 8);
	finish_ip4(b, l, f->len - l->off);
	return 0;
}

/* One word that is no layer's field: payload. 1: not one of these. */
static int payload(struct build *b, const char *word)
{
	struct frame *f = b->f;
	size_t n;

	if (!strncmp(word, "fill=", 5)) {
		n = strtoul(word + 5, NULL, 0);
		if (n > FRAME_MAX - f->len)
			return bad(b, "too long", word);
		fill(b, f->data + f->len, n);
		f->len += n;
		return 0;
	}
	if (strncmp(word, "hex=", 4) || (b->n && b->layer[b->n - 1].kind == K_EXT))
		return 1;
	if (parse_hex(word + 4, f->data + f->len, FRAME_MAX - f->len, &n))
		return bad(b, "bad hex", word);
	f->len += n;
	return 0;
}

int frame_build(const char *spec, const struct frame_env *env, struct frame *f, char why[160])
{
	struct build b = { .f = f, .env = env, .why = why };
	char text[4096], *save = NULL, *word, *eq;
	const char *part = NULL;
	size_t cut = FRAME_MAX;
	int k, r;

	f->len = 0;
	f->has_vnet = false;
	memset(f->vnet, 0, sizeof(f->vnet));
	if (snprintf(text, sizeof(text), "%s", spec) >= (int)sizeof(text))
		return bad(&b, "too long", "line");
	for (word = strtok_r(text, " \t\n", &save); word; word = strtok_r(NULL, " \t\n", &save)) {
		if (!strncmp(word, "cut=", 4)) {
			cut = strtoul(word + 4, NULL, 0);
			continue;
		}
		if (!strncmp(word, "slice=", 6)) {
			part = word + 6;
			continue;
		}
		r = payload(&b, word);
		if (r < 0)
			return r;
		if (r == 0)
			continue;
		eq = strchr(word, '=');
		if (eq && b.n) {
			*eq = 0;
			if (set_field(&b, &b.layer[b.n - 1], word, eq + 1))
				return -1;
			continue;
		}
		for (k = 0; k < _K_MAX && strcmp(word, kind_names[k]); k++)
			;
		if (k == _K_MAX)
			return bad(&b, "unknown layer", word);
		if (open_layer(&b, k))
			return -1;
	}
	finish(&b);
	if (part && slice(&b, part))
		return -1;
	if (cut < f->len)
		f->len = cut;
	return 0;
}
