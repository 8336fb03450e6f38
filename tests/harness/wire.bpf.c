// SPDX-License-Identifier: GPL-2.0-only
/*
 * The far end of the wire: the time of the last ESP packet, and their number. All packets end here.
 */
#include <linux/bpf.h>
#include <linux/if_ether.h>
#include <linux/in.h>
#include <linux/ip.h>
#include <linux/pkt_cls.h>
#include <bpf/bpf_endian.h>
#include <bpf/bpf_helpers.h>

__u64 wire_last_ns, wire_esp, wire_other; /* ns of CLOCK_MONOTONIC */

SEC("tc")
int wire_end(struct __sk_buff *skb)
{
	struct ethhdr *eth = (void *)(long)skb->data;
	struct iphdr *ip = (void *)(eth + 1);

	if ((void *)(ip + 1) > (void *)(long)skb->data_end || eth->h_proto != bpf_htons(ETH_P_IP))
		return TC_ACT_OK; /* neighbour discovery */
	if (ip->protocol == IPPROTO_ESP) {
		wire_last_ns = bpf_ktime_get_ns();
		wire_esp++;
	} else {
		wire_other++;
	}
	return TC_ACT_SHOT;
}

char LICENSE[] SEC("license") = "GPL";
