// SPDX-License-Identifier: GPL-2.0-only
/* Sends frames to destinations in turn, and the bare forwards that everything is compared with. */
#include <linux/bpf.h>
#include <linux/if_ether.h>
#include <linux/ip.h>
#include <linux/pkt_cls.h>
#include <bpf/bpf_endian.h>
#include <bpf/bpf_helpers.h>

__u32 out_ifindex, first, count = 1, next;

/* Run with live frames: each one is sent out of a veth, so its other end receives it. */
SEC("xdp")
int source(struct xdp_md *xdp)
{
	void *data = (void *)(long)xdp->data, *end = (void *)(long)xdp->data_end;
	struct iphdr *ip = data + sizeof(struct ethhdr);
	__u32 i = next;

	if ((void *)(ip + 1) > end)
		return XDP_DROP;
	next = i + 1 < count ? i + 1 : 0;
	ip->daddr = bpf_htonl(first + i);
	return bpf_redirect(out_ifindex, 0);
}

__u32 sink_ifindex, xdp_sink_ifindex;

SEC("tc")
int bare_forward(struct __sk_buff *skb)
{
	(void)skb;
	return bpf_redirect(sink_ifindex, 0);
}

/* Compared with path offload. */
SEC("xdp")
int bare_redirect(struct xdp_md *xdp)
{
	(void)xdp;
	return bpf_redirect(xdp_sink_ifindex, 0);
}

char LICENSE[] SEC("license") = "GPL";
