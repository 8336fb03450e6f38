// SPDX-License-Identifier: GPL-2.0-only
/*
 * What the way to ESP is compared with: bwl_tc_host and bwl_tc_tunout without the limiter. A
 * minimal parse, one redirect, one if_id; nothing is looked up, charged or counted. plain_drop ends
 * where the host port begins. plain_pass and plain_look do nothing at the limiter's other hooks:
 * the cost of a hook itself.
 */
#include <linux/bpf.h>
#include <linux/if_ether.h>
#include <linux/ip.h>
#include <linux/pkt_cls.h>
#include <bpf/bpf_endian.h>
#include <bpf/bpf_helpers.h>

struct bpf_xfrm_info {
	__u32 if_id;
	int link;
} __attribute__((preserve_access_index));

int bpf_skb_set_xfrm_info(struct __sk_buff *skb, const struct bpf_xfrm_info *from) __ksym;

const volatile __u32 plain_tunnel; /* ifindex */
const volatile __u32 plain_if_id;
const volatile __be32 plain_net, plain_mask;

__u16 source_eth[7];
__u32 source_ifindex;

/*
 * With live frames in BPF_PROG_TEST_RUN the kernel writes a frame once into each page and reuses
 * pages as they come back, after ESP was built in them in front of the inner IP header.
 */
SEC("xdp")
int plain_source(struct xdp_md *xdp)
{
	__u16 *to = (void *)(long)xdp->data;
	int i;

	if ((void *)(to + 7) > (void *)(long)xdp->data_end)
		return XDP_DROP;
#pragma unroll
	for (i = 0; i < 7; i++)
		to[i] = source_eth[i];
	return bpf_redirect(source_ifindex, 0);
}

SEC("tc")
int plain_drop(struct __sk_buff *skb)
{
	(void)skb;
	return TC_ACT_SHOT;
}

SEC("tc")
int plain_host(struct __sk_buff *skb)
{
	struct ethhdr *eth = (void *)(long)skb->data;
	struct iphdr *ip = (void *)(eth + 1);

	if ((void *)(ip + 1) > (void *)(long)skb->data_end || eth->h_proto != bpf_htons(ETH_P_IP) ||
	    (ip->daddr & plain_mask) != plain_net)
		return TC_ACT_SHOT;
	return bpf_redirect_neigh(plain_tunnel, 0, 0, 0);
}

SEC("tc")
int plain_out(struct __sk_buff *skb)
{
	struct bpf_xfrm_info info = { .if_id = plain_if_id };

	return bpf_skb_set_xfrm_info(skb, &info) ? TC_ACT_SHOT : TC_ACT_OK;
}

SEC("tc")
int plain_pass(struct __sk_buff *skb)
{
	(void)skb;
	return TC_ACT_OK;
}

SEC("xdp")
int plain_look(struct xdp_md *xdp)
{
	(void)xdp;
	return XDP_PASS;
}

char LICENSE[] SEC("license") = "GPL";
