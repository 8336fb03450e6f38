// SPDX-License-Identifier: GPL-2.0-or-later
/* Frames from words (frame.h): next protocols, lengths and checksums; fragments of the whole. */
#include <stdio.h>
#include <string.h>
#include "frame_build.h"

bool frame_has_sum(enum kind kind)
{
	return kind == K_IP4 || kind == K_UDP || kind == K_TCP || kind == K_ICMP || kind == K_ND ||
	       kind == K_IGMP;
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
		return 0x88b5; /* local experiments */
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
		return 253; /* experiments: RFC 3692 */
	}
}

/* The IP header above a layer, or NULL. */
static const struct layer *ip_above(const struct build *b, size_t i)
{
	while (i-- > 0)
		if (b->layer[i].kind == K_IP4 || b->layer[i].kind == K_IP6)
			return &b->layer[i];
	return NULL;
}

/* The end as a receiver sees it: the frame's, or an earlier one if a length field says so. */
static size_t end_of(const struct build *b, const struct layer *l, const struct layer *ip)
{
	const uint8_t *p = b->f->data;
	size_t end = b->f->len, is = end;

	if (ip && ip->has_len)
		is = ip->off + (ip->kind == K_IP4 ? frame_get16(p + ip->off + 2)
						  : 40 + frame_get16(p + ip->off + 4));
	if (is < end && is >= l->off + l->size)
		end = is;
	is = l->off + frame_get16(p + l->off + 4);
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
	return proto + len +
	       add_up(0, p + (ip->kind == K_IP4 ? 12 : 8), ip->kind == K_IP4 ? 8 : 32);
}

static void put_sum(const struct layer *l, uint8_t *at, uint16_t good)
{
	uint16_t v = good;

	if (l->sum == SUM_BAD)
		v = good == 0x0100 ? 0x0300 : good ^ 0x0100; /* 0 would mean that there is none */
	else if (l->sum == SUM_GIVEN)
		v = l->given;
	frame_put16(at, v);
}

/*
 * The checksum of a transport. If the words let a device complete it (vnet csum=), the field gets
 * what the kernel would put there: the sum of the pseudo-header, not complemented.
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

	frame_put16(p + at, 0);
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
		frame_put16(p + 2, len);
	frame_put16(p + 10, 0);
	put_sum(l, p + 10, ~add_up(0, p, l->size));
}

void frame_finish(struct build *b)
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
			frame_put16(p + 12, ethertype_of(next));
		if (l->kind == K_VLAN && !l->has_type)
			frame_put16(p + 2, ethertype_of(next));
		if (l->kind == K_IP4) {
			if (!l->has_type)
				p[9] = protocol_of(next, false);
			finish_ip4(b, l, left);
		}
		if (l->kind == K_IP6) {
			if (!l->has_type)
				p[6] = protocol_of(next, true);
			if (!l->has_len)
				frame_put16(p + 4, left - 40);
		}
		if ((l->kind == K_EXT || l->kind == K_FRAG6) && !l->has_type)
			p[0] = protocol_of(next, true);
		if (l->kind == K_UDP && !l->has_len)
			frame_put16(p + 4, left);
		if (l->kind == K_ICMP && ip && ip->kind == K_IP6 && p[0] == 8)
			p[0] = 128;
		if (frame_has_sum(l->kind) && l->kind != K_IP4)
			finish_transport(b, i);
	}
}

int frame_slice(struct build *b, const char *val)
{
	struct layer *l = NULL, *ip = NULL;
	struct frame *f = b->f;
	size_t from, n, i, start, left;
	uint8_t *p;

	if (sscanf(val, "%zu,%zu", &from, &n) != 2 || from % 8)
		return frame_bad(b, "OFFSET,BYTES, the offset a multiple of 8", val);
	for (i = 0; i < b->n && (!l || l->kind != K_FRAG6); i++) {
		if (!ip && (b->layer[i].kind == K_IP4 || b->layer[i].kind == K_IP6))
			ip = &b->layer[i];
		if (b->layer[i].kind == K_FRAG6 || (!l && b->layer[i].kind == K_IP4))
			l = &b->layer[i];
	}
	if (!l || !ip)
		return frame_bad(b, "nothing to fragment by", "slice");
	start = l->off + l->size;
	left = f->len - start;
	if (from >= left || !n)
		return frame_bad(b, "past the end", val);
	if (n > left - from)
		n = left - from;
	memmove(f->data + start, f->data + start + from, n);
	f->len = start + n;
	p = f->data + l->off;
	if (l->kind == K_FRAG6) {
		frame_put16(p + 2, from | (from + n < left));
		if (!ip->has_len)
			frame_put16(f->data + ip->off + 4, f->len - ip->off - 40);
		return 0;
	}
	frame_put16(p + 6, (p[6] << 8 & 0x4000) | (from + n < left ? 0x2000 : 0) | from / 8);
	finish_ip4(b, l, f->len - l->off);
	return 0;
}
