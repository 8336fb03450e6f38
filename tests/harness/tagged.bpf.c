// SPDX-License-Identifier: GPL-2.0-only
/*
 * BPF_PROG_TEST_RUN cannot make a frame whose VLAN tag is kept beside it, as TC sees them. This
 * program pushes the tag cb[0], which the kernel keeps beside the frame, and continues in the
 * program under test.
 */
#include <linux/bpf.h>
#include <linux/if_ether.h>
#include <linux/pkt_cls.h>
#include <bpf/bpf_endian.h>
#include <bpf/bpf_helpers.h>

char LICENSE[] SEC("license") = "GPL";

struct {
	__uint(type, BPF_MAP_TYPE_PROG_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, __u32);
} next SEC(".maps");

SEC("tc")
int tagged(struct __sk_buff *skb)
{
	if (bpf_skb_vlan_push(skb, bpf_htons(ETH_P_8021Q), skb->cb[0]))
		return TC_ACT_UNSPEC;
	bpf_tail_call(skb, &next, 0);
	return TC_ACT_UNSPEC;
}
