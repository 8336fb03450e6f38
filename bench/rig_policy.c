// SPDX-License-Identifier: GPL-2.0-or-later
/* See rig.h: its policies, and the frames for them. */
#include <arpa/inet.h>
#include <linux/if_ether.h>
#include <linux/ip.h>
#include <linux/ipv6.h>
#include <linux/udp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "rig.h"

#define FIRST_ZONE "mesh"
#define TIGHT_ZONE "tight"
#define DAY_NS (86400ULL * 1000000000)

static struct bwl_lim plenty(void)
{
	return (struct bwl_lim){ .present = true, .rate_bps = 10000000000000ULL, .burst = 1 << 30 };
}

/*
 * A limit that no packet here reaches: the port's line rate. The burst is 86 ms at that rate, where
 * a policy without one gets 250 ms (or 32 MiB): how a peer's packet is charged depends on it
 * (bwl_own_cold()).
 */
static struct bwl_lim line_rate(void)
{
	return (struct bwl_lim){ .present = true,
				 .rate_bps = 400000000000ULL,
				 .burst = 1ULL << 32 };
}

struct bwl_lim rig_tight(void)
{
	return (struct bwl_lim){ .present = true, .rate_bps = 8000, .burst = 1518 };
}

static void *some(size_t n, size_t size)
{
	void *p = calloc(n, size);

	if (!p)
		abort();
	return p;
}

static void add_port(struct bwl_policy *p, const char *dev, struct bwl_lim limit)
{
	struct bwl_pol_port *port = &p->ports[p->nports++];

	snprintf(port->name, sizeof(port->name), "%s", dev);
	port->sources = some(2, sizeof(*port->sources));
	port->sources[0].family = 4;
	port->sources[1].family = 6;
	port->nsources = 2;
	port->limit = limit;
}

struct bwl_policy *rig_policy(void)
{
	struct bwl_policy *p = bwl_policy_new();

	p->uplinks = some(1, sizeof(*p->uplinks));
	snprintf(p->node, sizeof(p->node), "rig");
	snprintf(p->uplinks[0], sizeof(p->uplinks[0]), RIG_UPLINK_DEV);
	p->nuplinks = 1;
	p->ports = some(2, sizeof(*p->ports));
	add_port(p, RIG_HOST_DEV, plenty());
	add_port(p, RIG_TIGHT_DEV, rig_tight());
	p->heartbeat_none = true;
	p->min_charge = 64;
	p->node_limit = plenty();
	p->zones = some(2, sizeof(*p->zones));
	p->nzones = 2;
	snprintf(p->zones[0].name, BWL_NAME_LEN, FIRST_ZONE);
	p->zones[0].limit = plenty();
	snprintf(p->zones[1].name, BWL_NAME_LEN, TIGHT_ZONE);
	p->zones[1].limit = rig_tight();
	return p;
}

static struct bwl_pfx address(unsigned kind, unsigned dest)
{
	struct bwl_pfx a = { .family = kind & RIG_PREFIX6 ? 6 : 4, .len = 32 };
	__be32 word = htonl(RIG_DEST(kind, dest) & (kind & RIG_PREFIX4 ? ~0xffU : ~0U));

	if (kind & RIG_PREFIX4)
		a.len = 24;
	if (kind & RIG_PREFIX6) {
		a.len = 64;
		a.addr[0] = 0xfd;
	}
	memcpy(a.addr + (kind & RIG_PREFIX6 ? 4 : 0), &word, sizeof(word));
	return a;
}

void rig_add_peers(struct bwl_policy *p, const struct rig_peers *s)
{
	static const __u8 via4[4] = { 192, 0, 2, 254 }, via6[16] = { 0xfd, 1, [15] = 0xfe };
	unsigned each = s->kind & RIG_OFFLOAD ? (s->n + RIG_TUNNELS - 1) / RIG_TUNNELS : 1, i, k;
	const struct bwl_lim busy = { .present = true, .rate_bps = 1000000000, .burst = 1 << 16 };
	const char *name = s->kind & RIG_PREFIX6 ? "net6" : s->kind & RIG_TIGHT ? "tight" : "peer";
	struct bwl_pol_peer *q;

	for (i = 0; i < s->n; i += each) {
		q = bwl_policy_add_peer(p);
		snprintf(q->name, sizeof(q->name), "%s-%u", name, s->first + i);
		snprintf(q->zone, sizeof(q->zone), "%s",
			 s->kind & RIG_TIGHT_ZONE ? TIGHT_ZONE : FIRST_ZONE);
		q->naddresses = each < s->n - i ? each : s->n - i;
		q->addresses = some(q->naddresses, sizeof(*q->addresses));
		for (k = 0; k < q->naddresses; k++)
			q->addresses[k] = address(s->kind, s->first + i + k);
		q->grant = s->kind & RIG_TIGHT  ? rig_tight()
			   : s->kind & RIG_BUSY ? busy
						: line_rate();
		if (s->kind & RIG_VOLUME) {
			q->grant.has_volume = true;
			q->grant.volume = 1ULL << 60;
			q->grant.window_ns = DAY_NS;
		}
		if (s->kind & RIG_CLASS)
			q->class_[BWL_C_ROCEV2] = line_rate();
		q->expiry_ns = BWL_NEVER_NS;
		q->mode = s->mode;
		if (s->kind & RIG_OFFLOAD) {
			q->path = BWL_PATH_OFFLOAD;
			snprintf(q->ipsec_remote, sizeof(q->ipsec_remote), "fd02::%x:%x",
				 (s->first + i) >> 16, (s->first + i) & 0xffff);
			continue;
		}
		q->path = BWL_PATH_CLEAR;
		q->has_via4 = q->has_via6 = true;
		memcpy(q->via4, via4, 4);
		memcpy(q->via6, via6, 16);
	}
}

static const struct ethhdr ether = { .h_dest = { 2, 0, 0, 0, 0, 2 },
				     .h_source = { 2, 0, 0, 0, 0, 1 } };

/* Packed: an IP header after Ethernet is not aligned. */
static void frame4(__u8 f[RIG_FRAME_BYTES], __u32 daddr)
{
	struct {
		struct ethhdr eth;
		struct iphdr ip;
		struct udphdr udp;
	} __attribute__((packed)) h = {
		.eth = ether,
		.ip = { .version = 4,
			.ihl = 5,
			.ttl = 64,
			.protocol = IPPROTO_UDP,
			.tot_len = htons(RIG_FRAME_BYTES - ETH_HLEN),
			.saddr = htonl(0x0a070002),
			.daddr = htonl(daddr) },
		.udp = { .source = htons(49152),
			 .dest = htons(4791),
			 .len = htons(RIG_FRAME_BYTES - ETH_HLEN - sizeof(struct iphdr)) },
	};

	h.eth.h_proto = htons(ETH_P_IP);
	memcpy(f, &h, sizeof(h));
}

static void frame6(__u8 f[RIG_FRAME_BYTES], __u32 dest)
{
	struct {
		struct ethhdr eth;
		struct ipv6hdr ip;
		struct udphdr udp;
	} __attribute__((packed)) h = {
		.eth = ether,
		.ip = { .version = 6,
			.nexthdr = IPPROTO_UDP,
			.hop_limit = 64,
			.payload_len = htons(RIG_FRAME_BYTES - ETH_HLEN - sizeof(struct ipv6hdr)) },
		.udp = { .source = htons(49152),
			 .dest = htons(4791),
			 .len = htons(RIG_FRAME_BYTES - ETH_HLEN - sizeof(struct ipv6hdr)) },
	};

	h.eth.h_proto = htons(ETH_P_IPV6);
	h.ip.saddr.s6_addr[0] = 0xfd;
	h.ip.saddr.s6_addr[1] = 7;
	h.ip.saddr.s6_addr[15] = 2;
	h.ip.daddr.s6_addr[0] = 0xfd;
	h.ip.daddr.s6_addr32[1] = htonl(dest);
	h.ip.daddr.s6_addr[15] = 1;
	memcpy(f, &h, sizeof(h));
}

void rig_frame(__u8 f[RIG_FRAME_BYTES], unsigned kind, unsigned dest)
{
	memset(f, 0, RIG_FRAME_BYTES);
	(kind & RIG_PREFIX6 ? frame6 : frame4)(f, RIG_DEST(kind, dest));
}
