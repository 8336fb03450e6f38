// SPDX-License-Identifier: GPL-2.0-only
/* Sends each live frame of BPF_PROG_TEST_RUN out of one device. See flood.c. */
#include <linux/bpf.h>
#include <bpf/bpf_helpers.h>

const volatile __u32 flood_ifindex;

SEC("xdp")
int flood(struct xdp_md *ctx)
{
	(void)ctx;
	return bpf_redirect(flood_ifindex, 0);
}

char LICENSE[] SEC("license") = "GPL";
