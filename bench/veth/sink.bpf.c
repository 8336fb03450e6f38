// SPDX-License-Identifier: GPL-2.0-only
/*
 * Counts and drops frames, per CPU: at the egress of a veth, if the kernel has no dummy device; and
 * at the far end of the veth to which XDP redirects.
 */
#include <linux/bpf.h>
#include <linux/pkt_cls.h>
#include <bpf/bpf_helpers.h>

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, __u64);
} swallowed SEC(".maps");

static __always_inline void count(void)
{
	__u32 zero = 0;
	__u64 *n = bpf_map_lookup_elem(&swallowed, &zero);

	if (n)
		++*n;
}

SEC("tc")
int swallow(struct __sk_buff *skb)
{
	(void)skb;
	count();
	return TC_ACT_SHOT;
}

SEC("xdp")
int xdp_swallow(struct xdp_md *xdp)
{
	(void)xdp;
	count();
	return XDP_DROP;
}

char LICENSE[] SEC("license") = "GPL";
