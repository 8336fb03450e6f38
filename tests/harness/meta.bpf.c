// SPDX-License-Identifier: GPL-2.0-only
/*
 * A host's own XDP program, which gives each frame metadata and sends it into another device; and a
 * program behind the DPU that checks whether a frame still has any.
 */
#include <linux/bpf.h>
#include <bpf/bpf_helpers.h>

#define META 24

const volatile __u32 meta_out; /* ifindex */
const volatile __u8 meta_bytes[META];

char LICENSE[] SEC("license") = "GPL";

SEC("xdp")
int meta_push(struct xdp_md *xdp)
{
	__u8 *m;
	int i;

	if (bpf_xdp_adjust_meta(xdp, -META))
		return XDP_ABORTED;
	m = (void *)(long)xdp->data_meta;
	if ((void *)(m + META) > (void *)(long)xdp->data)
		return XDP_ABORTED;
	for (i = 0; i < META; i++)
		m[i] = meta_bytes[i];
	return bpf_redirect(meta_out, 0);
}

/* all frames; with metadata; with metadata that has a key */
__u64 look_frames, look_with, look_keyed;

SEC("tc")
int meta_look(struct __sk_buff *skb)
{
	__u64 *key = (void *)(long)skb->data_meta;

	__sync_fetch_and_add(&look_frames, 1);
	if ((void *)(key + 1) > (void *)(long)skb->data)
		return 0; /* TC_ACT_OK */
	__sync_fetch_and_add(&look_with, 1);
	if (*key)
		__sync_fetch_and_add(&look_keyed, 1);
	return 0;
}
