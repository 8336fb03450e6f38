/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Frames from words, so that a test shows what it sends:
 *
 *   eth vlan id=5 ip4 src=10.7.0.2 dst=10.101.0.9 udp dport=9 fill=1000
 *   vnet gso=udp size=100 eth ip6 src=fd00:7::2 dst=fd00:101::/64 udp fill=3000
 *
 * Layers follow each other as on the wire. Lengths, next protocols and checksums (IPv4, UDP, TCP,
 * ICMP, ICMPv6, IGMP) are filled in, unless a layer sets them (len=, type=, sum=): that is how to
 * make a false frame. A checksum covers what a receiver takes as the datagram, so with a short len=
 * it is correct up to there. An address with a prefix length gets random host bits each time the
 * frame is built.
 *
 *   vnet  gso=none|tcp4|tcp6|udp|ufo size=N hdr=N csum=START,OFFSET   (PACKET_VNET_HDR)
 *   eth   dst=MAC src=MAC type=N            vlan  id=N tpid=N type=N
 *   ip4   src= dst= type=PROTO ttl= tos= id= off=BYTES mf=1 df=1 ihl=WORDS len=N opt=HEX
 *   ip6   src= dst= type=NEXT hop= len=N    frag6 off=BYTES mf=1 id= type=NEXT
 *   ext   kind=0|43|60|… size=BYTES type=NEXT hex= options=1
 *   udp   sport= dport= len=N               tcp   sport= dport= flags= seq= doff=WORDS
 *   icmp  kind= code= rest=N                igmp  kind= group=ADDR
 *   nd    kind=133…137 (first of all) flags= target=ADDR dest=ADDR sll=MAC tll=MAC
 *   arp   op= smac= sip= tmac= tip=         fill=N   hex=…   cut=N (keep the first N bytes)
 *   slice=OFFSET,BYTES   this part of the datagram as a fragment; checksums of the whole
 *
 * sum=good|bad|zero|N: of ip4, udp, tcp, icmp, nd, igmp. fill= and options=1 are bytes of the
 * marker, if there is one.
 */
#ifndef BWL_TEST_FRAME_H
#define BWL_TEST_FRAME_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define FRAME_MAX 66000

#define FRAME_MARKER 16 /* bytes */

struct frame_env {
	uint8_t gateway[6];    /* default destination */
	uint8_t own[6];        /* default source */
	const uint8_t *marker; /* FRAME_MARKER bytes, or NULL */
};

struct frame {
	bool has_vnet;
	uint8_t vnet[10]; /* struct virtio_net_hdr, little endian */
	size_t len;
	uint8_t data[FRAME_MAX];
};

/* 0, or -1 with *why. */
int frame_build(const char *spec, const struct frame_env *env, struct frame *f, char why[160]);
int frame_parse_mac(const char *s, uint8_t mac[6]);

#endif
