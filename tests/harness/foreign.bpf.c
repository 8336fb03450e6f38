// SPDX-License-Identifier: GPL-2.0-only
/*
 * Another party's XDP program, for libxdp's dispatcher: drops UDP to port 7, or (FORGES) writes its
 * own source address, 10.66.6.6, into UDP to port 77. RIVAL: wants to be first.
 */
#include <linux/bpf.h>
#include <linux/if_ether.h>
#include <linux/in.h>
#include <linux/ip.h>
#include <linux/udp.h>
#include <bpf/bpf_endian.h>
#include <bpf/bpf_helpers.h>
#include <xdp/xdp_helpers.h>

#if defined(FORGES)
#define NAME foreign_forges
#define PRIORITY 60
#define PORT 77
#elif defined(RIVAL)
#define NAME a_rival /* with equal priority the order of names decides */
#define PRIORITY 0
#define PORT 7
#else
#define NAME foreign_drops
#define PRIORITY 10
#define PORT 7
#endif

struct {
	__uint(priority, PRIORITY);
	__uint(XDP_PASS, 1);
} XDP_RUN_CONFIG(NAME);

static __always_inline __u16 fold(__u32 sum)
{
	sum = (sum & 0xffff) + (sum >> 16);
	return (__u16) ~(sum + (sum >> 16));
}

SEC("xdp")
int NAME(struct xdp_md *xdp)
{
	struct ethhdr *eth = (void *)(long)xdp->data;
	struct iphdr *ip = (void *)(eth + 1);
	struct udphdr *udp = (void *)(ip + 1);
	__u16 *words = (void *)ip;
	__u32 sum = 0;

	if ((void *)(udp + 1) > (void *)(long)xdp->data_end ||
	    eth->h_proto != bpf_htons(ETH_P_IP) || ip->ihl != 5 || ip->protocol != IPPROTO_UDP ||
	    udp->dest != bpf_htons(PORT))
		return XDP_PASS;
#ifndef FORGES
	return XDP_DROP;
#endif
	ip->saddr = bpf_htonl(0x0a420606);
	ip->check = 0;
	udp->check = 0;
	for (int i = 0; i < 10; i++)
		sum += words[i];
	ip->check = fold(sum);
	return XDP_PASS;
}

char LICENSE[] SEC("license") = "GPL";
