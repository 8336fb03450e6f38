// SPDX-License-Identifier: GPL-2.0-only
/*
 * What the pipeline is compared with. `nothing` is what any program costs; `least` is the least
 * that a per-destination limit can do: one clock read, one hash lookup by destination, one
 * compare-and-swap on the found entry's own cache line. `take_turn` goes through the destinations
 * in turn, then jumps to the program under test; its own cost is measured with `nothing`.
 */
#include <linux/bpf.h>
#include <linux/if_ether.h>
#include <linux/ip.h>
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
	__uint(type, BPF_MAP_TYPE_PROG_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, __u32);
} under_test SEC(".maps");

__u32 first, count = 1, next; /* destinations first .. first + count - 1, host byte order */

SEC("tc")
int nothing(struct __sk_buff *skb)
{
	(void)skb;
	return TC_ACT_SHOT;
}

SEC("tc")
int least(struct __sk_buff *skb)
{
	void *data = (void *)(long)skb->data, *end = (void *)(long)skb->data_end;
	struct iphdr *ip = data + sizeof(struct ethhdr);
	__u64 now = bpf_ktime_get_boot_ns(), was, *tat;
	__be32 key;

	if ((void *)(ip + 1) > end)
		return TC_ACT_OK;
	key = ip->daddr;
	tat = bpf_map_lookup_elem(&floor_map, &key);
	if (!tat)
		return TC_ACT_OK;
	was = *(volatile __u64 *)tat;
	return __sync_val_compare_and_swap(tat, was, now) == was ? TC_ACT_REDIRECT : TC_ACT_SHOT;
}

SEC("tc")
int take_turn(struct __sk_buff *skb)
{
	void *data = (void *)(long)skb->data, *end = (void *)(long)skb->data_end;
	struct iphdr *ip = data + sizeof(struct ethhdr);
	__u32 i = next;

	if ((void *)(ip + 1) > end)
		return TC_ACT_OK;
	next = i + 1 < count ? i + 1 : 0;
	ip->daddr = bpf_htonl(first + i);
	bpf_tail_call(skb, &under_test, 0);
	return TC_ACT_OK;
}

char LICENSE[] SEC("license") = "GPL";
