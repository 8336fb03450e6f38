// SPDX-License-Identifier: GPL-2.0-or-later
/* See drill_frames.h. */
#include <errno.h>
#include <string.h>
#include "drill_frames.h"
#include "maps/reason.h"

#define ETH 14U
#define IP 20U
#define UDP 8U

static void put16(uint8_t *p, unsigned v)
{
	p[0] = (uint8_t)(v >> 8);
	p[1] = (uint8_t)v;
}

/* Checksum of the IPv4 header, whose own field is zero. */
static void sum_header(uint8_t *ip)
{
	unsigned n = 0;

	put16(ip + 10, 0);
	for (unsigned i = 0; i < 4U * (ip[0] & 15U); i += 2)
		n += (unsigned)ip[i] << 8 | ip[i + 1];
	n = (n & 0xffff) + (n >> 16);
	n = (n & 0xffff) + (n >> 16);
	put16(ip + 10, ~n & 0xffff);
}

void drill_frame(const struct drill_ends *x, size_t len, uint8_t f[static DRILL_FRAME_MAX])
{
	uint8_t *ip = f + ETH, *udp = ip + IP;

	memset(f, 'x', len);
	memcpy(f, "\x02\0\0\0\0\xfe", 6);
	memcpy(f + 6, x->mac, 6);
	put16(f + 12, 0x0800);
	memset(ip, 0, IP + UDP);
	ip[0] = 0x45;
	put16(ip + 2, (unsigned)(len - ETH));
	ip[8] = 64;
	ip[9] = 17;
	memcpy(ip + 12, x->src, 4);
	memcpy(ip + 16, x->dst, 4);
	sum_header(ip);
	put16(udp, 9); /* discard */
	put16(udp + 2, 9);
	put16(udp + 4, (unsigned)(len - ETH - IP));
}

void drill_fragment(uint8_t f[static DRILL_FRAME_MAX])
{
	put16(f + ETH + 6, 100); /* of 8 bytes: not the first one */
	sum_header(f + ETH);
}

static bool is_zero(const uint8_t a[4])
{
	return !memcmp(a, "\0\0\0\0", 4);
}

static bool from_spoofed(const struct drill_ends *x, uint8_t *f, size_t *len)
{
	(void)len;
	memcpy(f + ETH + 12, x->spoofed, 4);
	sum_header(f + ETH);
	return !is_zero(x->spoofed);
}

static bool by_other_mac(const struct drill_ends *x, uint8_t *f, size_t *len)
{
	(void)len;
	f[11] ^= 1;
	return x->mac_held;
}

static bool to_stranger(const struct drill_ends *x, uint8_t *f, size_t *len)
{
	(void)len;
	memcpy(f + ETH + 16, x->stranger, 4);
	sum_header(f + ETH);
	return !is_zero(x->stranger);
}

static bool to_group(const struct drill_ends *x, uint8_t *f, size_t *len)
{
	(void)x, (void)len;
	memcpy(f, "\x01\0\x5e\0\0\xfb", 6);
	memcpy(f + ETH + 16, "\xe0\0\0\xfb", 4);
	sum_header(f + ETH);
	return true;
}

static bool to_all(const struct drill_ends *x, uint8_t *f, size_t *len)
{
	(void)x, (void)len;
	memset(f, 0xff, 6);
	memset(f + ETH + 16, 0xff, 4);
	sum_header(f + ETH);
	return true;
}

/* IEEE 802: for local experiments. */
static bool of_other_type(const struct drill_ends *x, uint8_t *f, size_t *len)
{
	(void)x, (void)len;
	put16(f + 12, 0x88b5);
	return true;
}

static bool in_vlan(const struct drill_ends *x, uint8_t *f, size_t *len)
{
	memmove(f + ETH + 4, f + ETH, *len - ETH);
	put16(f + 12, 0x8100);
	put16(f + 14, x->tag);
	put16(f + 16, 0x0800);
	*len += 4;
	return x->tag;
}

/* Loose source route through the unknown destination. */
static bool by_source_route(const struct drill_ends *x, uint8_t *f, size_t *len)
{
	uint8_t *ip = f + ETH;

	memmove(ip + IP + 8, ip + IP, *len - ETH - IP);
	*len += 8;
	ip[0] = 0x47;
	put16(ip + 2, (unsigned)(*len - ETH));
	memcpy(ip + IP, "\x83\x07\x04", 3);
	memcpy(ip + IP + 3, x->dst, 4);
	ip[IP + 7] = 0;
	sum_header(ip);
	return true;
}

static bool longer_than_it_is(const struct drill_ends *x, uint8_t *f, size_t *len)
{
	(void)x;
	put16(f + ETH + 2, (unsigned)(*len - ETH + 100));
	sum_header(f + ETH);
	return true;
}

static bool of_no_version(const struct drill_ends *x, uint8_t *f, size_t *len)
{
	(void)x, (void)len;
	f[ETH] = 0x55;
	sum_header(f + ETH);
	return true;
}

static bool cut_short(const struct drill_ends *x, uint8_t *f, size_t *len)
{
	(void)x;
	*len = ETH + IP + UDP / 2;
	put16(f + ETH + 2, (unsigned)(*len - ETH));
	sum_header(f + ETH);
	return true;
}

const struct drill_evasion drill_evasions[] = {
	{ "spoofed source address", BWL_R_SRC_ADDR, from_spoofed },
	{ "spoofed source MAC", BWL_R_SRC_MAC, by_other_mac },
	{ "unknown destination", BWL_R_NO_PEER, to_stranger },
	{ "multicast", BWL_R_LOCAL_PROTO, to_group },
	{ "broadcast", BWL_R_LOCAL_PROTO, to_all },
	{ "unknown EtherType", BWL_R_ETHERTYPE, of_other_type },
	{ "VLAN that is not listed", BWL_R_VLAN, in_vlan },
	{ "source route", BWL_R_SOURCE_ROUTE, by_source_route },
	{ "length beyond the frame", BWL_R_MALFORMED, longer_than_it_is },
	{ "unknown version of IP", BWL_R_MALFORMED, of_no_version },
	{ "header cut short", BWL_R_MALFORMED, cut_short },
	{ NULL, 0, NULL },
};

static bool is_in(const struct bwl_pfx *list, size_t n, const struct bwl_pfx *x)
{
	for (size_t i = 0; i < n; i++)
		if (bwl_pfx_holds(&list[i], x))
			return true;
	return false;
}

static bool is_peers(const struct bwl_policy *p, const struct bwl_pfx *x)
{
	for (size_t i = 0; i < p->npeers; i++)
		if (is_in(p->peers[i].addresses, p->peers[i].naddresses, x))
			return true;
	return false;
}

static bool is_listed(const struct bwl_pol_port *port, uint16_t tag)
{
	for (size_t i = 0; i < port->nvlans; i++)
		if (port->vlans[i] == tag)
			return true;
	return false;
}

static const struct bwl_pfx *first4(const struct bwl_pfx *list, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (list[i].family == 4)
			return &list[i];
	return NULL;
}

int drill_ends(const struct bwl_pol_port *port, const struct bwl_policy *pol,
	       const struct bwl_pol_peer *peer, struct drill_ends *ret, struct bwl_err *e)
{
	/* RFC 5737, RFC 2544: usually unused */
	static const uint8_t nobody[][4] = { { 203, 0, 113, 201 },
					     { 198, 51, 100, 201 },
					     { 192, 0, 2, 201 },
					     { 198, 19, 255, 201 } };
	const struct bwl_pfx *src = first4(port->sources, port->nsources);
	const struct bwl_pfx *dst = first4(peer->addresses, peer->naddresses);
	struct drill_ends x = { .mac_held = port->has_mac, .tag = 4094 };

	if (!src)
		return bwl_fail(e, EINVAL, "host port %s has no IPv4 source", port->name);
	if (!dst)
		return bwl_fail(e, EINVAL, "peer %s has no IPv4 address", peer->name);
	memcpy(x.mac, port->has_mac ? port->mac : (const uint8_t *)"\x02\0\0\0\0\x01", 6);
	memcpy(x.src, src->addr, 4);
	memcpy(x.dst, dst->addr, 4);
	x.src[3] |= src->len < 32; /* not the network's own address */
	x.dst[3] |= dst->len < 32;
	while (x.tag && is_listed(port, x.tag))
		x.tag--;
	for (size_t i = 0; i < sizeof(nobody) / sizeof(*nobody); i++) {
		struct bwl_pfx one = { .family = 4, .len = 32 };

		memcpy(one.addr, nobody[i], 4);
		if (is_zero(x.spoofed) && !is_in(port->sources, port->nsources, &one))
			memcpy(x.spoofed, nobody[i], 4);
		if (is_zero(x.stranger) && !is_peers(pol, &one))
			memcpy(x.stranger, nobody[i], 4);
	}
	*ret = x;
	return 0;
}
