/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * How many neighbours a port may have in the kernel's tables, which all devices of the DPU share
 * (arp_tbl and nd_tbl hold gc_thresh3 entries each, 1024 by default). An entry is made by an ARP
 * request or a solicitation for an address of the DPU, under its source (neigh_event_ns(),
 * ndisc_recv_ns()), and by a packet to a host's address that the kernel does not know yet. So each
 * address that may create one needs an entry here first.
 *
 * A port's entries are of two kinds. The first kind is for addresses that announced themselves;
 * such an entry is reused after a silence longer than the kernel keeps its own (reachable for 45 s
 * at most, then 8 s of probing). The other kind is for destinations that nobody announced, and is
 * reused after the kernel's three probes of a second each: the kernel drops unanswered ones by
 * itself.
 *
 * Entries are taken by one compare-and-swap; a lost race refuses. Nothing here needs a process.
 */
#ifndef BWL_NEIGHBOUR_H
#define BWL_NEIGHBOUR_H

#include "charge.h"
#include "tc.h"

#define BWL_NB_KNOWN 128 /* entries of addresses that announced themselves */
#define BWL_NB_ALL 160   /* and of destinations that nobody announced */
#define BWL_NB_HINTS 256
#define BWL_NB_SILENT_NS 60000000000ULL
#define BWL_NB_ASKED_NS 4000000000ULL

struct bwl_nb_entry {
	__u64 seen_ns; /* the last time; for a destination, the first. 0: unused */
	__be32 addr[4];
};

struct bwl_nb_row {
	struct bwl_nb_entry entry[BWL_NB_ALL];
	__u8 hint[BWL_NB_HINTS]; /* by a hash of the address: the entry, unless it was reused */
};

/* Two rows per port, for IPv4 and IPv6. Not pinned: another attach starts them anew. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 2 * BWL_MAX_PORTS);
	__type(key, __u32);
	__type(value, struct bwl_nb_row);
} bwl_nb_row SEC(".maps");

/* Entries of the first kind that a port may use: set in the port, or a share of BWL_NEIGHBOURS. */
static __always_inline __u32 bwl_nb_most(const struct bwl_port *p)
{
	__u32 n = p->neighbours;

	return n < BWL_NEIGHBOURS_MIN ? BWL_NEIGHBOURS_MIN : n < BWL_NB_KNOWN ? n : BWL_NB_KNOWN;
}

static __always_inline __u32 bwl_nb_row_of(const struct bwl_ctx *c, __u32 port)
{
	return 2 * (port & (BWL_MAX_PORTS - 1)) + (c->pkt.ethertype == ETH_P_IPV6);
}

static __always_inline __u32 bwl_nb_hash(const __be32 *a)
{
	__u32 x = a[3] ^ (a[2] << 7 | a[2] >> 25);

	x ^= x >> 16;
	return bwl_mask(x ^ x >> 8, BWL_NB_HINTS - 1);
}

static __always_inline _Bool bwl_nb_is(const struct bwl_nb_entry *s, const __be32 *a)
{
	return !((s->addr[0] ^ a[0]) | (s->addr[1] ^ a[1]) | (s->addr[2] ^ a[2]) |
		 (s->addr[3] ^ a[3]));
}

/* The entry of an address; BWL_NB_ALL: none. */
BWL_GLOBAL __u32 bwl_nb_find(__u32 row, const struct bwl_key6 *a)
{
	const struct bwl_nb_row *t = bpf_map_lookup_elem(&bwl_nb_row, &row);
	__u32 i;

	if (!t || !a)
		return BWL_NB_ALL;
	for (i = 0; i < BWL_NB_ALL; i++)
		if (bwl_nb_is(&t->entry[i], a->addr))
			return i;
	return BWL_NB_ALL;
}

/*
 * The first of `most` entries from `first` up to `end` (exclusive) last seen at or before
 * `before_ns`.
 */
static __always_inline __u32 bwl_nb_free_of(__u32 row, const __u32 first, const __u32 end,
					    __u32 most, __u64 before_ns)
{
	const struct bwl_nb_row *t = bpf_map_lookup_elem(&bwl_nb_row, &row);
	const struct bwl_nb_entry *s;
	__u32 i;

	if (!t)
		return BWL_NB_ALL;
	s = &t->entry[first];
	for (i = 0; i < end - first; i++)
		if (bwl_read(s[i].seen_ns) <= before_ns)
			return i < most ? first + i : BWL_NB_ALL;
	return BWL_NB_ALL;
}

/* A free entry of the first kind. */
BWL_GLOBAL __u32 bwl_nb_free(__u32 row, __u32 most, __u64 before_ns)
{
	return bwl_nb_free_of(row, 0, BWL_NB_KNOWN, most, before_ns);
}

/* A free entry for a destination. */
BWL_GLOBAL __u32 bwl_nb_free_asked(__u32 row, __u32 most, __u64 before_ns)
{
	return bwl_nb_free_of(row, BWL_NB_KNOWN, BWL_NB_ALL, most, before_ns);
}

#define BWL_NB_HOPS 32 /* next hops checked by one call: the verifier walks only those */

/* Is it one of those next hops of the policy? */
BWL_GLOBAL int bwl_nb_is_one_of(__u32 slot, __u32 first, const struct bwl_key6 *a, _Bool four)
{
	const struct bwl_base *b = bwl_inner(&bwl_base_v1, slot, 0);
	const struct bwl_nexthop *nh;
	__u32 i;

	if (!b || !a)
		return 0;
	/* Unused hops are zero, like the whole first one. So there is no check for the end. */
	for (i = 0; i < BWL_NB_HOPS; i++) {
		nh = &b->nexthop[bwl_mask(first + i, BWL_MAX_NEXTHOPS - 1)];
		if (four ? nh->via4 == a->addr[3]
			 : !((nh->via6[0] ^ a->addr[0]) | (nh->via6[1] ^ a->addr[1]) |
			     (nh->via6[2] ^ a->addr[2]) | (nh->via6[3] ^ a->addr[3])))
			return 1;
	}
	return 0;
}

/* Is it any next hop? A flood of an uplink's table must not evict those. */
BWL_GLOBAL int bwl_nb_is_hop(__u32 slot, const struct bwl_key6 *a, _Bool four)
{
	__u32 i;

	if (!a)
		return 0;
	for (i = 0; i < BWL_MAX_NEXTHOPS; i += BWL_NB_HOPS)
		if (bwl_nb_is_one_of(slot, i, a, four))
			return 1;
	return 0;
}

static __always_inline __u64 bwl_nb_before(__u64 now_ns, __u64 ns)
{
	return now_ns > ns ? now_ns - ns : 0;
}

/*
 * Entry i, last seen at or before `before_ns`, becomes this address's. 0: another CPU was faster.
 */
static __always_inline _Bool bwl_nb_claim(__u32 row, __u32 i, const __be32 *a, __u64 before_ns,
					  __u64 now_ns)
{
	struct bwl_nb_row *t = bpf_map_lookup_elem(&bwl_nb_row, &row);
	struct bwl_nb_entry *s;
	__u64 was;

	if (!t || i >= BWL_NB_ALL)
		return 0;
	s = &t->entry[bwl_bound(i, BWL_NB_ALL)];
	was = bwl_read(s->seen_ns);
	if (was > before_ns || bwl_cas(&s->seen_ns, was, now_ns) != was)
		return 0;
	__builtin_memcpy(s->addr, a, sizeof(s->addr));
	t->hint[bwl_nb_hash(a)] = i;
	return 1;
}

/*
 * Has the address an entry, or does it get one? An announcement needs one of the first kind. A
 * destination needs one of either kind, the second while the kernel probes. most: entries that the
 * port may use.
 */
static __always_inline int bwl_nb_take(__u32 row, const struct bwl_key6 *a, __u32 most,
				       __u64 now_ns, const _Bool announced)
{
	__u64 before = bwl_nb_before(now_ns, announced ? BWL_NB_SILENT_NS : BWL_NB_ASKED_NS);
	struct bwl_nb_row *t;
	__u32 i;

	if (!a)
		return 0;
	i = bwl_nb_find(row, a);
	t = bpf_map_lookup_elem(&bwl_nb_row, &row);
	if (!t)
		return 0;
	if (i < BWL_NB_KNOWN ||
	    (!announced && i < BWL_NB_ALL && t->entry[bwl_bound(i, BWL_NB_ALL)].seen_ns > before)) {
		if (announced)
			bwl_write(t->entry[bwl_bound(i, BWL_NB_ALL)].seen_ns, now_ns);
		t->hint[bwl_nb_hash(a->addr)] = i;
		return 1;
	}
	if (announced)
		i = bwl_nb_free(row, most, before);
	else if (i >= BWL_NB_ALL)
		i = bwl_nb_free_asked(row, most, before);
	return bwl_nb_claim(row, i, a->addr, before, now_ns);
}

/* Two functions, to spare the verifier; few packets get here. */
BWL_GLOBAL int bwl_nb_announce(__u32 row, const struct bwl_key6 *a, __u32 most, __u64 now_ns)
{
	return bwl_nb_take(row, a, most, now_ns, 1);
}

/* A packet to the address, whose hint did not lead there. */
BWL_GLOBAL int bwl_nb_guess(__u32 row, const struct bwl_key6 *a, __u32 most, __u64 now_ns)
{
	return bwl_nb_take(row, a, most, now_ns, 0);
}

/* May the kernel be asked to send to this address of a host port? */
static __always_inline _Bool bwl_nb_may_ask(struct bwl_ctx *c, __u32 port)
{
	__u32 row = bwl_nb_row_of(c, port), most = BWL_NB_ALL - BWL_NB_KNOWN, n, i;
	const struct bwl_nb_row *t = bpf_map_lookup_elem(&bwl_nb_row, &row);

	if (!t)
		return 0;
	i = bwl_bound(t->hint[bwl_nb_hash(c->pkt.daddr)], BWL_NB_ALL);
	if (bwl_likely(i < BWL_NB_KNOWN && bwl_nb_is(&t->entry[i], c->pkt.daddr)))
		return 1;
	n = bwl_nb_most(&c->base->port[bwl_mask(port, BWL_MAX_PORTS - 1)]) / 2;
	return bwl_nb_guess(row, (const struct bwl_key6 *)c->pkt.daddr, n < most ? n : most,
			    c->now_ns);
}

/* The address whose entry in the kernel's table it may create or change; 0: none. */
static __always_inline _Bool bwl_nb_about(struct bwl_ctx *c, struct __sk_buff *skb,
					  struct bwl_key6 *ret)
{
	__builtin_memcpy(ret->addr, c->pkt.saddr, sizeof(ret->addr));
	if (c->pkt.nd == BWL_ND_NA &&
	    bpf_skb_load_bytes(skb, c->pkt.l4_off + 8, ret->addr, sizeof(ret->addr)))
		return 0;
	/* A question without a source (DAD, RFC 5227) creates none. */
	return ret->addr[3] ||
	       (ret->addr[2] != bwl_htonl(0xffff) && (ret->addr[0] | ret->addr[1] | ret->addr[2]));
}

/*
 * ARP or ND, within the port's small limit, goes up to the kernel. Not for another MAC: only a
 * device above could want that. For the kernel the ND is no longer for itself alone
 * (PACKET_MULTICAST): it accepts it nevertheless, but says nothing about one for which it has no
 * address or no route (icmp6_send()). It reads no MAC except those in the message; the sender's
 * would only appear in its log, which must not contain what a host chose (ndisc_recv_na():
 * "advertised our address"). From a host everything needs an entry. On the wire answers need none,
 * because the DPU asked for them, and a next hop of the policy always has one.
 */
static __always_inline int bwl_nb_admit(struct bwl_ctx *c, struct __sk_buff *skb,
					const _Bool uplink)
{
	struct bwl_key6 about = {};

	if (skb->pkt_type == BWL_PACKET_OTHERHOST)
		return BWL_R_LOCAL_PROTO;
	if (c->pkt.nd && (bpf_skb_change_type(skb, BWL_PACKET_MULTICAST) ||
			  bpf_skb_store_bytes(skb, ETH_ALEN, about.addr, ETH_ALEN, 0)))
		return BWL_R_SEND;
	if (uplink && (c->pkt.nd == BWL_ND_NA || c->pkt.arp == BWL_ARP_REPLY))
		return BWL_R_PASS_NEIGHBOUR;
	if (!bwl_nb_about(c, skb, &about) ||
	    (uplink && bwl_nb_is_hop(c->slot, &about, c->pkt.arp != 0)))
		return BWL_R_PASS_NEIGHBOUR;
	return bwl_nb_announce(bwl_nb_row_of(c, c->port_id), &about, bwl_nb_most(c->port),
			       c->now_ns)
		       ? BWL_R_PASS_NEIGHBOUR
		       : BWL_R_NEIGHBOUR_SOURCES;
}

/*
 * To the host, whose address is its own next hop on its port. The kernel tells the sender nothing
 * if the host does not answer: its own errors would follow routes (as in bwl_tc_encrypt()).
 */
static __always_inline int bwl_tc_deliver(struct bwl_ctx *c, struct __sk_buff *skb, __u32 host_port)
{
	struct bpf_redir_neigh to = {};
	const struct bwl_dev *dev = bpf_map_lookup_elem(&bwl_dev_v1, &host_port);

	if (!dev || !dev->ifindex || !(dev->kind & BWL_PORT_HOST))
		return BWL_R_SEND;
	if (!bwl_nb_may_ask(c, host_port))
		return BWL_R_NEIGHBOUR_SOURCES;
	if (bpf_skb_change_type(skb, BWL_PACKET_OTHERHOST))
		return BWL_R_SEND;
	if (c->pkt.family == 4) {
		to.nh_family = BWL_AF_INET;
		to.ipv4_nh = c->pkt.daddr[3];
	} else {
		to.nh_family = BWL_AF_INET6;
		__builtin_memcpy(to.ipv6_nh, c->pkt.daddr, 16);
	}
	return bpf_redirect_neigh(dev->ifindex, &to, sizeof(to), 0) == TC_ACT_REDIRECT ? BWL_R_NONE
										       : BWL_R_SEND;
}

#endif
