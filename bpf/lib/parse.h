/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The parser: from bytes to struct bwl_pkt, never further than the outermost transport header.
 * Pure: the same code runs in both hooks, in unit tests and under libFuzzer. Later stages use
 * only what it copied, so no packet pointer crosses a stage.
 *
 * Every frame ends as BWL_R_NONE (parsed) or with the reason why it cannot be judged. Lengths
 * in headers are believed only where the frame agrees with them.
 */
#ifndef BWL_PARSE_H
#define BWL_PARSE_H

#include <linux/if_ether.h>
#include <linux/in.h>
#include <linux/in6.h>
#include <linux/ip.h>
#include <linux/ipv6.h>
#include <linux/tcp.h>
#include <linux/udp.h>
#include "compiler.h"
#include "../../maps/policy.h"
#include "../../maps/reason.h"

#define BWL_MAX_TAGS 2
#define BWL_MAX_EXT 8     /* IPv6 headers followed that name a next one */
#define BWL_MAX_IPOPT 10  /* IPv4 options looked at; padding counts */
#define BWL_MAX_OFF 0xfff /* no header starts beyond: keeps offsets bounded for the verifier */
#define BWL_IPPROTO_HIP 139
#define BWL_IPPROTO_SHIM6 140
#define BWL_CNP_OPCODE 0x81 /* InfiniBand spec 1.4 A17.9.3: congestion notification */
#define BWL_ROCE_PORT 4791
#define BWL_BTH_READ 8 /* bytes of RoCE's header that are read: opcode, queue pair */
#define BWL_TCP_SYN 0x02
#define BWL_ARP_LEN 28   /* Ethernet, IPv4 */
#define BWL_ARP_ROOM 50  /* in a frame: the minimum payload, and 4 bytes that a switch left */
#define BWL_IP_MAX 65535 /* the most that an IP length field can hold */
#define BWL_JUMBO_LEN 8  /* hop-by-hop header with a jumbo option alone */
#define BWL_ND_MAX 64    /* NS or NA: 24 bytes, an address, a nonce (RFC 7527), and room */

enum bwl_nd_kind { BWL_ND_NS = 1, BWL_ND_NA = 2 };
enum bwl_arp_kind { BWL_ARP_REQUEST = 1, BWL_ARP_REPLY = 2 };

struct bwl_pkt {
	__be32 saddr[4], daddr[4]; /* IPv4 as ::ffff:a.b.c.d */
	__be16 sport, dport;
	__u16 ethertype; /* of layer 3, host byte order */
	__u8 l3_off;
	__u8 group;    /* multicast or broadcast destination MAC */
	__u16 l4_off;  /* of the transport header; 0: a fragment, or none */
	__u16 hdr_len; /* from the frame's start to the end of the transport header */
	union {
		__u16 vid[BWL_MAX_TAGS]; /* tags in the frame itself: nvid of them */
		/* without tags: of UDP, RoCE's 8 bits and destination queue pair; otherwise 0 */
		__be32 qpn;
	};
	__u8 nvid;   /* from here, eight bytes in one word: bwl_parse_plain() */
	__u8 family; /* 4, 6 or 0 */
	__u8 proto;  /* outermost transport; IPv6: after extension headers */
	__u8 fragment;
	__u8 df;  /* must not be fragmented on the way: IPv4 with DF, IPv6 */
	__u8 nd;  /* enum bwl_nd_kind: well-formed, and sent to a proper destination */
	__u8 arp; /* enum bwl_arp_kind: Ethernet/IPv4, well-formed */
	__u8 cnp;
	__u8 smac[6] __attribute__((aligned(2)));
	__u8 tcp_flags; /* as in the header */
	__u8 plain;     /* IP without options, extension headers or fragmentation */
};

/*
 * Bytes [off, off + n) of the frame, or NULL. The offset is masked so that the verifier knows
 * its bound; the barrier keeps clang from undoing the mask.
 */
static __always_inline void *bwl_at(void *data, void *end, __u32 off, __u32 n)
{
	void *p;

#ifdef __bpf__
	asm volatile("" : "+r"(off));
#endif
	if (off > BWL_MAX_OFF)
		return 0;
	off &= BWL_MAX_OFF;
	p = data + off;
	return p + n > end ? 0 : p;
}

/*
 * Returns x, but hides its origin from the verifier, which does not track values stored in the
 * packet's description. So the verifier walks the code that follows once, and not once for every x.
 */
static __always_inline __u32 bwl_forget(__u16 *scratch, __u32 x)
{
	bwl_write(*scratch, x);
	return bwl_read(*scratch);
}

static __always_inline void bwl_map4(__be32 dst[4], __be32 addr)
{
	dst[0] = 0;
	dst[1] = 0;
	dst[2] = bwl_htonl(0xffff);
	dst[3] = addr;
}

/*
 * Is this address of an IPv6 header nobody's? ::/32 is reserved (RFC 4291, 2.4), and what is in use
 * of it stays inside a machine: ::1, ::a.b.c.d, ::ffff:0:a.b.c.d, and ::ffff:a.b.c.d, which is how
 * our tables spell IPv4 (bwl_map4()). Linux drops none of them but ::1 (from 5.4 to 5.11 mapped
 * sources), and a socket would take such a sender for the IPv4 host.
 */
static __always_inline _Bool bwl_is_nobodys(const __be32 addr[4])
{
	return !addr[0];
}

static __always_inline _Bool bwl_is_unspecified(const __be32 addr[4])
{
	return !(addr[0] | addr[1] | addr[2] | addr[3]);
}

/* Walks the IPv4 options; a source route would let the host choose the path. */
static __always_inline int bwl_parse_ipopt(struct bwl_pkt *k, void *data, void *end, __u32 off,
					   __u32 stop)
{
	__u8 *o;
	int i;

	for (i = 0; i < BWL_MAX_IPOPT; i++) {
		if (off >= stop)
			return BWL_R_NONE;
		off = bwl_forget(&k->hdr_len, off);
		o = bwl_at(data, end, off, 1);
		if (!o)
			return BWL_R_TRUNCATED;
		if (o[0] == 0) /* end of options */
			return BWL_R_NONE;
		if (o[0] == 1) { /* no operation */
			off++;
			continue;
		}
		if (o[0] == 131 || o[0] == 137) /* loose, strict source route: RFC 791 */
			return BWL_R_SOURCE_ROUTE;
		if (off + 1 >= stop) /* its length byte would be in the next header */
			return BWL_R_MALFORMED;
		o = bwl_at(data, end, off + 1, 1);
		if (!o)
			return BWL_R_TRUNCATED;
		if (o[0] < 2 || o[0] > stop - off)
			return BWL_R_MALFORMED;
		off += o[0];
	}
	return off >= stop ? BWL_R_NONE : BWL_R_EXT_HEADERS;
}

/* Transport: ports, and the end of its header. l4_len: bytes that are left according to IP. */
static __always_inline int bwl_parse_l4(struct bwl_pkt *k, void *data, void *end, __u32 off,
					__u32 l4_len)
{
	k->l4_off = off;
	k->hdr_len = off;
	if (k->proto == IPPROTO_TCP) {
		struct tcphdr *t = bwl_at(data, end, off, sizeof(*t));
		__u32 len;

		if (l4_len < sizeof(*t))
			return BWL_R_MALFORMED;
		if (!t)
			return BWL_R_TRUNCATED;
		len = t->doff * 4;
		if (len < sizeof(*t) || len > l4_len)
			return BWL_R_MALFORMED;
		k->sport = t->source;
		k->dport = t->dest;
		k->tcp_flags = ((__u8 *)t)[13];
		k->hdr_len = off + len;
	} else if (k->proto == IPPROTO_UDP) {
		struct udphdr *u = bwl_at(data, end, off, sizeof(*u));
		__be32 *bth;

		if (l4_len < sizeof(*u))
			return BWL_R_MALFORMED;
		if (!u)
			return BWL_R_TRUNCATED;
		if (bwl_ntohs(u->len) > l4_len || (u->len && bwl_ntohs(u->len) < sizeof(*u)))
			return BWL_R_MALFORMED;
		k->sport = u->source;
		k->dport = u->dest;
		k->hdr_len = off + sizeof(*u);
		bth = bwl_at(data, end, off + sizeof(*u), BWL_BTH_READ);
		if (bth && l4_len >= sizeof(*u) + BWL_BTH_READ) {
			k->cnp = *(__u8 *)bth == BWL_CNP_OPCODE;
			if (!k->nvid)
				k->qpn = bth[1];
		}
	} else if (l4_len) {
		/*
		 * Other protocols' headers are not needed, but bytes that IP announces must exist.
		 */
		if (!bwl_at(data, end, off, 1))
			return BWL_R_TRUNCATED;
	}
	return BWL_R_NONE;
}

/*
 * frame_len: of the whole frame, even beyond `end`; ~0 if the hook does not know it. big: a GSO
 * packet of the kernel's. With TCP it may be longer than IP's length field allows (BIG TCP: IPv6
 * from kernel 5.19, IPv4 from 6.3): then that field is 0, and the frame's length counts.
 */
static __always_inline int bwl_parse_ip4(struct bwl_pkt *k, void *data, void *end, __u32 off,
					 __u32 frame_len, _Bool big)
{
	struct iphdr *ip = bwl_at(data, end, off, sizeof(*ip));
	__u32 ihl, tot;
	int r;

	if (!ip)
		return BWL_R_TRUNCATED;
	ihl = ip->ihl * 4;
	tot = bwl_ntohs(ip->tot_len);
	if (big && !tot && frame_len - off > BWL_IP_MAX && ip->protocol == IPPROTO_TCP &&
	    !(ip->frag_off & bwl_htons(0x3fff)))
		tot = frame_len - off;
	if (ip->version != 4 || ihl < sizeof(*ip) || tot < ihl || tot > frame_len - off)
		return BWL_R_MALFORMED;
	k->family = 4;
	bwl_map4(k->saddr, ip->saddr);
	bwl_map4(k->daddr, ip->daddr);
	k->proto = ip->protocol;
	k->fragment = (ip->frag_off & bwl_htons(0x3fff)) != 0; /* more fragments, or an offset */
	k->plain = ihl == sizeof(*ip) && !k->fragment;
	k->df = (ip->frag_off & bwl_htons(0x4000)) != 0;
	k->hdr_len = off + ihl;
	if (ihl > sizeof(*ip)) {
		r = bwl_parse_ipopt(k, data, end, off + sizeof(*ip), off + ihl);
		k->hdr_len = off + ihl;
		if (r != BWL_R_NONE)
			return r;
	}
	if (k->fragment)
		return BWL_R_NONE;
	return bwl_parse_l4(k, data, end, off + ihl, tot - ihl);
}

/* RFC 4861 */
#define BWL_ICMP6_NS 135
#define BWL_ICMP6_NA 136
#define BWL_ND_HOP_LIMIT 255
struct bwl_nd { /* NS and NA: RFC 4861, 4.3 and 4.4 */
	__u8 type, code;
	__u16 check;
	__be32 flags, target[4];
};

/*
 * Destination: a solicitation to the target's solicited-node address or to the target itself, an
 * advertisement to all nodes or to one. Nothing else is needed.
 */
static __always_inline _Bool bwl_nd_fits(const struct bwl_pkt *k, const struct bwl_nd *nd)
{
	const __be32 *d = k->daddr, *t = nd->target;
	__be32 group = bwl_htonl(0xff020000) ^ d[0];

	if ((t[0] & bwl_htonl(0xff000000)) == bwl_htonl(0xff000000) || bwl_is_nobodys(t))
		return 0;
	/* unicast, on the wire as well */
	if ((d[0] & bwl_htonl(0xff000000)) != bwl_htonl(0xff000000))
		return !k->group && (nd->type == BWL_ICMP6_NA || !((d[0] ^ t[0]) | (d[1] ^ t[1]) |
								   (d[2] ^ t[2]) | (d[3] ^ t[3])));
	if (nd->type == BWL_ICMP6_NA)
		return !(group | d[1] | d[2] | (d[3] ^ bwl_htonl(1)));
	return !(group | d[1] | (d[2] ^ bwl_htonl(1)) | (d[3] ^ (t[3] | bwl_htonl(0xff000000))));
}

/*
 * Neighbour discovery as RFC 4861 requires it: hop limit 255, code 0, no header in between; short,
 * and nothing after it.
 */
static __always_inline void bwl_parse_nd(struct bwl_pkt *k, void *data, void *end, __u32 off,
					 __u32 l4_len, __u8 hop_limit, __u32 frame_len)
{
	const struct bwl_nd *nd = bwl_at(data, end, off, sizeof(*nd));

	if (!nd || l4_len < sizeof(*nd) || l4_len > BWL_ND_MAX || l4_len != frame_len - off ||
	    hop_limit != BWL_ND_HOP_LIMIT || nd->code ||
	    (nd->type != BWL_ICMP6_NS && nd->type != BWL_ICMP6_NA))
		return;
	if (bwl_nd_fits(k, nd))
		k->nd = nd->type == BWL_ICMP6_NS ? BWL_ND_NS : BWL_ND_NA;
}

/*
 * BIG TCP of IPv6: the kernel puts the length into a jumbo option (RFC 2675), or leaves it out.
 * Nothing else may be in that header, and no other length; 0: it is not BIG TCP. *ret_jumbo: the
 * option's header.
 */
static __always_inline __u32 bwl_parse_big6(const struct ipv6hdr *ip, void *data, void *end,
					    __u32 off, __u32 len, __u32 *ret_jumbo)
{
	const __u8 *x;

	if (len <= BWL_IP_MAX)
		return 0;
	if (ip->nexthdr == IPPROTO_TCP)
		return len;
	x = bwl_at(data, end, off, BWL_JUMBO_LEN);
	if (ip->nexthdr != IPPROTO_HOPOPTS || !x || x[0] != IPPROTO_TCP || x[1] || x[2] != 0xc2 ||
	    x[3] != 4 || *(const __be32 *)(x + 4) != bwl_htonl(len))
		return 0;
	*ret_jumbo = BWL_JUMBO_LEN;
	return len;
}

/* Is the protocol among these? low: bits of 0 to 63, high: of 128 to 191. Without a branch. */
static __always_inline _Bool bwl_proto_in(__u8 proto, __u64 low, __u64 high)
{
	__u64 all = (low & -(__u64)bwl_is_zero(proto >> 6)) |
		    (high & -(__u64)bwl_is_zero((proto >> 6) ^ 2));

	return all >> (proto & 63) & 1;
}

/* Only these are about the packet, and not what it carries. */
static __always_inline _Bool bwl_is_options(__u8 header)
{
	return bwl_proto_in(header, 1ULL << IPPROTO_HOPOPTS | 1ULL << IPPROTO_DSTOPTS, 0);
}

/*
 * Does this header name a next one, of the same packet? AH: RFC 4302, mobility: RFC 6275, HIP: RFC
 * 7401, shim6: RFC 5533. docs/closed.md has a table of all.
 */
static __always_inline _Bool bwl_names_next(__u8 header)
{
	return bwl_proto_in(header,
			    1ULL << IPPROTO_HOPOPTS | 1ULL << IPPROTO_DSTOPTS |
				    1ULL << IPPROTO_FRAGMENT | 1ULL << IPPROTO_AH,
			    1ULL << (IPPROTO_MH - 128) | 1ULL << (BWL_IPPROTO_HIP - 128) |
				    1ULL << (BWL_IPPROTO_SHIM6 - 128));
}

/* What of the last header of a chain a first fragment must have: RFC 7112. */
static __always_inline __u32 bwl_l4_least(__u8 proto)
{
	return proto == IPPROTO_TCP    ? sizeof(struct tcphdr)
	       : proto == IPPROTO_UDP  ? sizeof(struct udphdr)
	       : proto == IPPROTO_NONE ? 0
				       : 1;
}

/*
 * Follows a chain from its first header that names a next one but is not options: a fragment, AH or
 * the like. What is behind it concerns no later stage. But whoever the packet reaches follows the
 * chain to its end, so a routing header anywhere in it would send it on to somebody else. hdr_len
 * is where the chain ends: a checksum that the kernel fills in later (deferred.h) changes nothing
 * of it.
 */
static __always_inline int bwl_parse_chain(struct bwl_pkt *k, void *data, void *end, __u32 off,
					   __u32 left, __u8 next)
{
	const __u8 *x;
	__u32 n;
	int i;

	/* The same, as far as the verifier can tell, wherever the chain begins. */
	left = bwl_forget(&k->hdr_len, left);
	off = bwl_forget(&k->hdr_len, off);
	next = bwl_forget(&k->hdr_len, next);
	k->proto = next;
	k->l4_off = next == IPPROTO_FRAGMENT ? 0 : off;
	for (i = 0; i <= BWL_MAX_EXT; i++) {
		off = bwl_forget(&k->hdr_len, off);
		if (next == IPPROTO_ROUTING)
			return BWL_R_SOURCE_ROUTE;
		if (!bwl_names_next(next)) {
			k->hdr_len = off;
			return left < bwl_l4_least(next) ? BWL_R_MALFORMED : BWL_R_NONE;
		}
		if (left < 8)
			return BWL_R_MALFORMED;
		x = bwl_at(data, end, off, 8);
		if (!x)
			return BWL_R_TRUNCATED;
		/* in units of 8 bytes, but AH's of 4; without the first 8 */
		n = (x[1] << (3 - bwl_is_zero(next ^ IPPROTO_AH))) + 8;
		if (next == IPPROTO_FRAGMENT) {
			if (bwl_read(k->fragment)) /* once only: RFC 8200, 4.1 */
				return BWL_R_MALFORMED;
			k->fragment = 1;
			n = 8;
			if (i == 0)
				k->proto = x[0];
			if (x[2] | (x[3] & 0xf8)) { /* not the first: data follows */
				k->hdr_len = off + n;
				return x[0] == IPPROTO_ROUTING ? BWL_R_SOURCE_ROUTE : BWL_R_NONE;
			}
		}
		next = x[0];
		if (n > left)
			return BWL_R_MALFORMED;
		/* Below 64 KiB: what is longer has no header but TCP's (bwl_parse_big6()). */
		left = bwl_forget(&k->hdr_len, left - n);
		off += n;
	}
	return BWL_R_EXT_HEADERS;
}

static __always_inline int bwl_parse_ip6(struct bwl_pkt *k, void *data, void *end, __u32 off,
					 __u32 frame_len, _Bool big)
{
	struct ipv6hdr *ip = bwl_at(data, end, off, sizeof(*ip));
	__u32 left, n, jumbo = 0;
	__u8 next, hop;
	__u8 *x;
	int i;

	if (!ip)
		return BWL_R_TRUNCATED;
	left = bwl_ntohs(ip->payload_len);
	if (big && !left)
		left = bwl_parse_big6(ip, data, end, off + sizeof(*ip),
				      frame_len - off - sizeof(*ip), &jumbo);
	if (ip->version != 6 || frame_len - off < sizeof(*ip) ||
	    left > frame_len - off - sizeof(*ip))
		return BWL_R_MALFORMED;
	__builtin_memcpy(k->saddr, &ip->saddr, 16);
	__builtin_memcpy(k->daddr, &ip->daddr, 16);
	/* Nothing may compare such an address with an IPv4 one: nothing more is read. */
	if (bwl_is_nobodys(k->saddr) && !bwl_is_unspecified(k->saddr))
		return BWL_R_SRC_ADDR;
	if (bwl_is_nobodys(k->daddr))
		return BWL_R_LOCAL_PROTO;
	k->family = 6;
	k->df = 1;
	next = ip->nexthdr;
	hop = ip->hop_limit;
	off += sizeof(*ip);
	if (jumbo) { /* never on a wire: the kernel removes it (bwl_jumbo()) */
		next = IPPROTO_TCP;
		off += jumbo;
		left -= jumbo;
	}
	for (i = 0; i <= BWL_MAX_EXT; i++) {
		k->proto = next;
		off = bwl_forget(&k->hdr_len, off);
		if (next == IPPROTO_ROUTING)
			return BWL_R_SOURCE_ROUTE;
		if (!bwl_is_options(next)) {
			k->plain = i == 0 && next != IPPROTO_FRAGMENT;
			if (bwl_names_next(next))
				return bwl_parse_chain(k, data, end, off, left, next);
			if (next == IPPROTO_ICMPV6 && i == 0)
				bwl_parse_nd(k, data, end, off, left, hop, frame_len);
			return bwl_parse_l4(k, data, end, off, left);
		}
		if (left < 8)
			return BWL_R_MALFORMED;
		x = bwl_at(data, end, off, 2);
		if (!x)
			return BWL_R_TRUNCATED;
		next = x[0];
		n = (x[1] + 1) * 8;
		if (n > left)
			return BWL_R_MALFORMED;
		/* Below 64 KiB: what is longer has no header but TCP's (bwl_parse_big6()). */
		left = bwl_forget(&k->hdr_len, left - n);
		off += n;
	}
	return BWL_R_EXT_HEADERS;
}

static __always_inline int bwl_parse_arp(struct bwl_pkt *k, void *data, void *end, __u32 off,
					 __u32 frame_len)
{
	__u8 *a = bwl_at(data, end, off, BWL_ARP_LEN);
	__be32 sip, tip;

	if (!a)
		return BWL_R_TRUNCATED;
	/*
	 * Ethernet, IPv4, lengths 6 and 4, a request or a reply (RFC 826), then nothing but
	 * padding; the sender must be the frame's sender.
	 */
	if (a[0] != 0 || a[1] != 1 || a[2] != 8 || a[3] != 0 || a[4] != 6 || a[5] != 4 ||
	    a[6] != 0 || (a[7] != BWL_ARP_REQUEST && a[7] != BWL_ARP_REPLY) ||
	    frame_len > off + BWL_ARP_ROOM)
		return BWL_R_MALFORMED;
	if (bwl_mac_differs(a + 8, k->smac))
		return BWL_R_SRC_MAC;
	__builtin_memcpy(&sip, a + 14, 4);
	__builtin_memcpy(&tip, a + 24, 4);
	bwl_map4(k->saddr, sip);
	bwl_map4(k->daddr, tip);
	k->arp = a[7];
	return BWL_R_NONE;
}

/*
 * Bytes of a jumbo option, which is not in the segments of a BIG TCP packet on the wire. Without
 * the option the packet is plain; with it, TCP begins later than in any other plain packet.
 */
static __always_inline __u32 bwl_jumbo(const struct bwl_pkt *k)
{
	__u32 usual = k->l3_off + sizeof(struct ipv6hdr);

	return k->family == 6 && k->plain && k->l4_off > usual ? BWL_JUMBO_LEN : 0;
}

/*
 * k must be zeroed. Returns BWL_R_NONE, or why the frame cannot be judged. big: see
 * bwl_parse_ip4().
 */
static __always_inline int bwl_parse(struct bwl_pkt *k, void *data, void *end, __u32 frame_len,
				     _Bool big)
{
	struct ethhdr *eth = bwl_at(data, end, 0, sizeof(*eth));
	__u32 off = sizeof(*eth);
	__u16 type;
	__u8 *tag;
	int i;

	if (!eth)
		return BWL_R_TRUNCATED;
	__builtin_memcpy(k->smac, eth->h_source, 6);
	k->group = eth->h_dest[0] & 1;
	type = bwl_ntohs(eth->h_proto);
	for (i = 0; i < BWL_MAX_TAGS && (type == ETH_P_8021Q || type == ETH_P_8021AD); i++) {
		tag = bwl_at(data, end, off, 4);
		if (!tag)
			return BWL_R_TRUNCATED;
		k->vid[i] = (tag[0] & 0x0f) << 8 | tag[1];
		type = (__u16)(tag[2] << 8 | tag[3]);
		k->nvid = i + 1;
		off += 4;
	}
	k->ethertype = type;
	k->l3_off = off;
	k->hdr_len = off;
	if (type == ETH_P_8021Q || type == ETH_P_8021AD)
		return BWL_R_VLAN; /* a third tag */
	off = bwl_forget(&k->hdr_len, off);
	if (type == ETH_P_IP)
		return bwl_parse_ip4(k, data, end, off, frame_len, big);
	if (type == ETH_P_IPV6)
		return bwl_parse_ip6(k, data, end, off, frame_len, big);
	if (type == ETH_P_ARP)
		return bwl_parse_arp(k, data, end, off, frame_len);
	return BWL_R_ETHERTYPE;
}

/*
 * Parses nearly all packets: IPv4 without tags, options or fragmentation, then UDP or TCP, all in
 * the linear part. Reads what bwl_parse() would, but at constant offsets; k need not be zeroed. 0:
 * something else, or odd, and k is untouched. A separate parser, because the verifier of Linux 6.1
 * loses the frame's pointer if one function contains both.
 */
static __always_inline _Bool bwl_parse_plain(struct bwl_pkt *k, void *data, void *end,
					     __u32 frame_len)
{
	const __u16 *eth = data; /* struct ethhdr is packed: clang would read it byte by byte */
	const struct iphdr *ip = data + sizeof(struct ethhdr);
	const struct tcphdr *tcp = (void *)(ip + 1);
	const struct udphdr *udp = (void *)(ip + 1);
	__u32 l4_len, len = sizeof(*udp);
	__u8 cnp = 0, tcp_flags = 0;
	__be32 qpn = 0;

	if ((void *)(tcp + 1) > end || eth[6] != bwl_htons(ETH_P_IP) || *(const __u8 *)ip != 0x45 ||
	    (ip->frag_off & bwl_htons(0x3fff)))
		return 0;
	l4_len = bwl_ntohs(ip->tot_len);
	if (l4_len < sizeof(*ip) + sizeof(*tcp) || l4_len > frame_len - sizeof(struct ethhdr))
		return 0;
	l4_len -= sizeof(*ip);
	if (ip->protocol == IPPROTO_UDP) {
		if (bwl_ntohs(udp->len) < sizeof(*udp) || bwl_ntohs(udp->len) > l4_len)
			return 0;
		cnp = bwl_is_zero(*(const __u8 *)(udp + 1) ^ BWL_CNP_OPCODE);
		qpn = ((const __be32 *)(udp + 1))[1];
	} else if (ip->protocol == IPPROTO_TCP) {
		len = tcp->doff * 4;
		if (len < sizeof(*tcp) || len > l4_len)
			return 0;
		tcp_flags = ((const __u8 *)tcp)[13];
	} else {
		return 0;
	}
	__builtin_memset(&k->nvid, 0, 8);
	k->ethertype = ETH_P_IP;
	k->l3_off = sizeof(struct ethhdr);
	k->l4_off = sizeof(struct ethhdr) + sizeof(*ip);
	k->hdr_len = sizeof(struct ethhdr) + sizeof(*ip) + len;
	k->family = 4;
	k->proto = ip->protocol;
	k->df = (ip->frag_off & bwl_htons(0x4000)) != 0;
	k->cnp = cnp;
	k->tcp_flags = tcp_flags;
	k->plain = 1;
	k->qpn = qpn; /* no tags */
	k->group = *(const __u8 *)eth & 1;
	k->sport = udp->source;
	k->dport = udp->dest;
	bwl_map4(k->saddr, ip->saddr);
	bwl_map4(k->daddr, ip->daddr);
	__builtin_memcpy(k->smac, eth + 3, 6);
	return 1;
}

/* The class of a parsed packet: a table look-up, the destination port first. */
static __always_inline __u8 bwl_classify(const struct bwl_pkt *k, const __u8 *proto_class,
					 const __u8 *tcp_class, const __u8 *udp_class)
{
	const __u8 *ports;
	__u8 c;

	if (k->fragment)
		return BWL_C_OTHER;
	c = proto_class[k->proto];
	if (k->proto != IPPROTO_TCP && k->proto != IPPROTO_UDP)
		return c;
	ports = k->proto == IPPROTO_TCP ? tcp_class : udp_class;
	/* Verifiers before 6.18 know no bounds for a byte swap (6.12 refuses it as an index). */
	c = ports[bwl_mask(bwl_ntohs(k->dport), 0xffff)];
	if (c == BWL_C_OTHER)
		c = ports[bwl_mask(bwl_ntohs(k->sport), 0xffff)];
	if (c == BWL_C_ROCEV2 && k->cnp && k->dport == bwl_htons(BWL_ROCE_PORT))
		c = BWL_C_CNP;
	return c;
}

#endif
