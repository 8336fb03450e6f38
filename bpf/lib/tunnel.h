/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The tunnel device: one xfrm interface in collect-metadata mode (kernel 6.1) for all encrypted
 * peers; the if_id identifies a packet's peer, and is the peer's id. The kfuncs are from kernel
 * 6.2, in module xfrm_interface; they are weak, so that the programs load without them: then the
 * interface is a plain one, and the peer's id is in the mark (bwl_by_mark; maps/tunnel.h).
 *
 * The if_id is set at the device's egress: the kernel uses it there only for a packet that
 * bpf_redirect_neigh() has given a route before.
 */
#ifndef BWL_TUNNEL_H
#define BWL_TUNNEL_H

#include "arrive.h"
#include "latency.h"

struct bpf_xfrm_info {
	__u32 if_id;
	int link;
}
#ifndef BWL_NO_KFUNCS
__attribute__((preserve_access_index))
#endif
;

#ifdef BWL_NO_KFUNCS /* only for a plain interface: bwl_by_mark is set */
#define bpf_skb_set_xfrm_info(skb, from) (-1)
#define bpf_skb_get_xfrm_info(skb, to) (-1)
#else
int bpf_skb_set_xfrm_info(struct __sk_buff *skb, const struct bpf_xfrm_info *from) __ksym __weak;
int bpf_skb_get_xfrm_info(struct __sk_buff *skb, struct bpf_xfrm_info *to) __ksym __weak;
#endif

/* The peer whose SA a packet came through; 0: none. */
static __always_inline __u32 bwl_tunnel_from(struct __sk_buff *skb, __u32 mark)
{
	struct bpf_xfrm_info info = {};

	if (bwl_by_mark)
		return mark & BWL_MARK_ID;
	return bpf_skb_get_xfrm_info(skb, &info) ? 0 : info.if_id;
}

/* A packet that the kernel decrypted. */
static __always_inline int bwl_tunnel_arrive(struct bwl_ctx *c, struct __sk_buff *skb, __u32 mark,
					     __u32 gso_size, __u32 hdr)
{
	__u32 id = bwl_tunnel_from(skb, mark);
	const struct bwl_tunnel *tun;

	/* The SA's address no longer belongs to the peer: the tracker has closed this way in. */
	tun = bpf_map_lookup_elem(&bwl_tunnel_v1, &id);
	if (!id || !tun || !(bwl_read(tun->flags) & BWL_TUN_SA_IN))
		return BWL_R_NO_SA;
	return bwl_arrive(c, skb, id, gso_size, hdr);
}

/*
 * Only packets charged at a host port go in, under the id of the charged peer: the tag proves that
 * bwl_tc_encrypt() wrote the priority, in the current call chain, so nothing has changed since
 * destination and grant were looked up.
 */
static __always_inline int bwl_tunnel_enter(struct bwl_ctx *c, struct __sk_buff *skb)
{
	struct bpf_xfrm_info info = {};
	__u32 id = skb->priority;

	if (skb->mark != c->ctl->tag || !id)
		return BWL_R_GATE;
	skb->priority = bwl_lat_again(id); /* otherwise 0: fq would choose a band by it */
	skb->mark = bwl_esp_mark(c, id);   /* SAs and policies of an if_id match any mark */
	if (bwl_by_mark)
		return BWL_R_PASS_GATE;
	info.if_id = id;
	return bpf_skb_set_xfrm_info(skb, &info) ? BWL_R_SEND : BWL_R_PASS_GATE;
}

#endif
