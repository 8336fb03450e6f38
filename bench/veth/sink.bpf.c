// SPDX-License-Identifier: GPL-2.0-only
/* Where the kernel has no dummy device: at the egress of a veth, counts by CPU and drops. */
#include <linux/bpf.h>
#include <linux/pkt_cls.h>
#include <bpf/bpf_helpers.h>

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, __u64);
} swallowed SEC(".maps");

SEC("tc")
int swallow(struct __sk_buff *skb)
{
	__u32 zero = 0;
	__u64 *n = bpf_map_lookup_elem(&swallowed, &zero);

	(void)skb;
	if (n)
		++*n;
	return TC_ACT_SHOT;
}

char LICENSE[] SEC("license") = "GPL";
