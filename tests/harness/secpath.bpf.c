// SPDX-License-Identifier: GPL-2.0-only
/*
 * TC egress of a host port: drops packets with an SA still attached. mlx5 would take such a packet
 * for one to be encrypted, and cut off its end (bpf/lib/inbound.h).
 */
#include <linux/bpf.h>
#include <linux/pkt_cls.h>
#include <bpf/bpf_helpers.h>

SEC("tc")
int secpath(struct __sk_buff *skb)
{
	struct bpf_xfrm_state sa;

	return bpf_skb_get_xfrm_state(skb, 0, &sa, sizeof(sa), 0) ? TC_ACT_OK : TC_ACT_SHOT;
}

char LICENSE[] SEC("license") = "GPL";
