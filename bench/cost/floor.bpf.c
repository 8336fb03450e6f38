// SPDX-License-Identifier: GPL-2.0-only
/*
 * What the pipeline is compared with, at TC and at XDP. `nothing` is the cost of any program;
 * `least` is the minimum for a per-destination limit: one clock read, one hash lookup by
 * destination, one compare-and-swap in the cache line of the entry found. `turn` goes through the
 * destinations in turn, then jumps to the program under test; its own cost is measured with
 * `nothing`. `tag` jumps to the last gate. The number of a destination is its IPv4 address, or the
 * second word of its IPv6 address.
 */
#include <linux/bpf.h>
#include <linux/if_ether.h>
#include <linux/ip.h>
#include <linux/ipv6.h>
#include <linux/pkt_cls.h>
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_endian.h>

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 1); /* set at load */
	__type(key, __be32);
	__type(value, __u64);
} floor_map SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 1); /* set at load */
	__type(key, struct in6_addr);
	__type(value, __u64);
} floor6_map SEC(".maps");

/* An array holds programs of one hook. */
struct {
	__uint(type, BPF_MAP_TYPE_PROG_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, __u32);
} under_test SEC(".maps"), xdp_under_test SEC(".maps");

/* Destinations first, first + step, … count of them. Host byte order. */
__u32 first, step = 1, count = 1, next;
__u32 mark; /* for `tag` */

static __always_inline int swapped(__u64 *tat)
{
	__u64 now = bpf_ktime_get_boot_ns(), was;

	if (!tat)
		return 0;
	was = *(volatile __u64 *)tat;
	return __sync_val_compare_and_swap(tat, was, now) == was;
}

static __always_inline int limited4(void *data, void *end)
{
	struct iphdr *ip = data + sizeof(struct ethhdr);
	__be32 key;

	if ((void *)(ip + 1) > end)
		return 0;
	key = ip->daddr;
	return swapped(bpf_map_lookup_elem(&floor_map, &key));
}

static __always_inline int limited6(void *data, void *end)
{
	struct ipv6hdr *ip = data + sizeof(struct ethhdr);
	struct in6_addr key;

	if ((void *)(ip + 1) > end)
		return 0;
	key = ip->daddr;
	return swapped(bpf_map_lookup_elem(&floor6_map, &key));
}

static __always_inline void turned(void *data, void *end)
{
	struct ethhdr *eth = data;
	struct ipv6hdr *ip6 = (void *)(eth + 1);
	struct iphdr *ip = (void *)(eth + 1);
	__u32 i = next;

	if ((void *)(ip6 + 1) > end) /* frames here have room for both headers */
		return;
	next = i + 1 < count ? i + 1 : 0;
	if (eth->h_proto == bpf_htons(ETH_P_IPV6))
		ip6->daddr.in6_u.u6_addr32[1] = bpf_htonl(first + i * step);
	else
		ip->daddr = bpf_htonl(first + i * step);
}

#define DATA(ctx) ((void *)(long)(ctx)->data)
#define END(ctx) ((void *)(long)(ctx)->data_end)

SEC("tc")
int nothing(struct __sk_buff *skb)
{
	(void)skb;
	return TC_ACT_SHOT;
}

SEC("tc")
int least(struct __sk_buff *skb)
{
	return limited4(DATA(skb), END(skb)) ? TC_ACT_REDIRECT : TC_ACT_SHOT;
}

SEC("tc")
int least6(struct __sk_buff *skb)
{
	return limited6(DATA(skb), END(skb)) ? TC_ACT_REDIRECT : TC_ACT_SHOT;
}

/* Leaves a packet like the host port's program: with its tag and an arrival time. */
SEC("tc")
int tag(struct __sk_buff *skb)
{
	skb->mark = mark;
	skb->priority = 1;
	bpf_tail_call(skb, &under_test, 0);
	return TC_ACT_SHOT;
}

SEC("tc")
int turn(struct __sk_buff *skb)
{
	turned(DATA(skb), END(skb));
	bpf_tail_call(skb, &under_test, 0);
	return TC_ACT_OK;
}

/* Either all programs of an array handle fragments or none: bwl_xdp_host does. */
SEC("xdp.frags")
int xdp_nothing(struct xdp_md *xdp)
{
	(void)xdp;
	return XDP_DROP;
}

SEC("xdp.frags")
int xdp_least(struct xdp_md *xdp)
{
	return limited4(DATA(xdp), END(xdp)) ? XDP_REDIRECT : XDP_DROP;
}

SEC("xdp.frags")
int xdp_turn(struct xdp_md *xdp)
{
	turned(DATA(xdp), END(xdp));
	bpf_tail_call(xdp, &xdp_under_test, 0);
	return XDP_ABORTED;
}

char LICENSE[] SEC("license") = "GPL";
