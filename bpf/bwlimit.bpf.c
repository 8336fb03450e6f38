// SPDX-License-Identifier: GPL-2.0-only
/*
 * The programs. Each reads like the picture in README.md: stages return BWL_R_NONE to continue, or
 * the packet's reason, and a single exit counts it. All decisions are in lib/.
 */
#include "lib/ctx.h"
#include "lib/source.h"
#include "lib/dest.h"
#include "lib/again.h"
#include "lib/charge.h"
#include "lib/account.h"
#include "lib/handover.h"
#include "lib/rest.h"
#include "lib/offload.h"
#include "lib/latency.h"
#include "lib/tc.h"
#include "lib/mtu.h"
#include "lib/tunnel.h"
#include "lib/arrive.h"
#include "lib/early_drop.h"
#include "lib/last_gate.h"
#include "lib/inbound.h"
#include "lib/management.h"
#include "lib/xdp.h"
#include "lib/suspend.h"

char LICENSE[] SEC("license") = "GPL";

/* Is the source genuine, and the destination beyond the DPU? */
static __always_inline int bwl_sender(struct bwl_ctx *c, int tag, int parsed)
{
	int r = parsed;

	if (r == BWL_R_ETHERTYPE && c->pkt.group)
		r = BWL_R_LOCAL_PROTO;
	if (r == BWL_R_NONE)
		r = bwl_source(c, tag);
	if (r != BWL_R_NONE)
		return r;
	if (c->pkt.arp || c->pkt.nd)
		return BWL_R_PASS_NEIGHBOUR;
	return bwl_ends_here(&c->pkt) ? BWL_R_LOCAL_PROTO : BWL_R_NONE;
}

/* May it go there: class, grant, host port? Charges nothing. */
static __always_inline int bwl_receiver(struct bwl_ctx *c, __u32 id)
{
	const struct bwl_base *b = c->base;
	int r;

	c->class = bwl_classify(&c->pkt, b->proto_class, b->port_class[0], b->port_class[1]);
	r = bwl_grant(c, id);
	if (r != BWL_R_NONE)
		return r;
	if (c->id == b->self_id || !(c->peer->meta.from & (1ULL << c->port_id)))
		return BWL_R_FROM;
	return BWL_R_NONE;
}

/* The reason under which a charged and sent packet is counted. */
static __always_inline int bwl_passed(const struct bwl_ctx *c)
{
	return c->monitored ? BWL_R_PASS_MONITOR
	       : c->ce      ? BWL_R_PASS_MARKED
	       : c->lapsed  ? BWL_R_PASS_FLOOR
			    : BWL_R_PASS;
}

/*
 * Path offload: the whole pipeline in XDP. BWL_R_NONE: TC carries the packet, nothing was charged.
 */
static __always_inline int bwl_xdp_carry(struct bwl_ctx *c, struct xdp_md *xdp, __u32 id)
{
	const struct bwl_tunnel *tun = bwl_xdp_carries(c, id, xdp->data_end - xdp->data);
	const struct bwl_dev *dev;
	int r;

	if (!tun)
		return BWL_R_NONE;
	r = bwl_receiver(c, id);
	if (r != BWL_R_NONE)
		return r;
	dev = bwl_offload_dev(c, tun);
	if (!dev || c->peer->meta.path != BWL_PATH_OFFLOAD)
		return BWL_R_NONE;
	bwl_xdp_cost(c);
	r = bwl_charge(&c->w, c->ctl, c->peer, c->base, c->port);
	/* tracked perhaps by the exact time */
	if (r == BWL_R_NONE && bwl_unlikely(!bwl_is_tracked(c))) {
		c->lost = c->charge;
		r = BWL_R_DEVICE;
	}
	if (r == BWL_R_NONE)
		r = bwl_xdp_send(c, xdp, tun, dev);
	return r == BWL_R_NONE ? bwl_passed(c) : r;
}

/*
 * Host port, XDP: drops early what is cheap to refuse (malformed, spoofed, for no peer, refused a
 * moment ago), carries what the uplink's hardware encrypts, and passes the rest to TC, which judges
 * it with grant and clock, so that a packet that passes does not pay twice. It rests while nothing
 * is refused.
 */
SEC("xdp.frags")
int bwl_xdp_host(struct xdp_md *xdp)
{
	struct bwl_ctx c;
	__u32 id = 0;
	int r;

	bwl_no_foreign_meta(xdp);
	if (bwl_xdp_rests())
		return XDP_PASS;
	bwl_blank(&c, bwl_xdp_len(xdp));
	r = bwl_begin(&c, xdp->ingress_ifindex);
	if (r == BWL_R_NONE)
		r = bwl_sender(&c, -1, bwl_xdp_parse_host(xdp, &c.pkt, c.len));
	else
		c.pkt = (struct bwl_pkt){};
	if (r == BWL_R_NONE) {
		id = bwl_dest(&c, c.pkt.daddr);
		r = id ? bwl_refused_still(&c, id) : BWL_R_NO_PEER;
		if (id && bwl_unlikely(r != BWL_R_NONE)) {
			bwl_refused_again(&c, id, r);
			bwl_xdp_wakes();
			return XDP_DROP;
		}
	}
	if (r == BWL_R_NONE)
		r = bwl_xdp_carry(&c, xdp, id);
	if (id && bwl_reason_is_pass(r)) { /* sent to a destination */
		bwl_end(&c, c.port_id, r);
		bwl_xdp_wakes();
		return XDP_REDIRECT;
	}
	if (r == BWL_R_NONE) {
		bwl_hand_over(&c, xdp, id);
		return XDP_PASS;
	}
	if (bwl_reason_is_pass(r) || bwl_xdp_unsure(r) || bwl_rejects(&c, r))
		return XDP_PASS;
	c.now_ns = bwl_now_late(c.resumes, &c.exact); /* for the event */
	bwl_end(&c, c.port_id, r);
	bwl_xdp_wakes();
	return XDP_DROP;
}

/* Host port, TC ingress: the whole pipeline. */
SEC("tc")
int bwl_tc_host(struct __sk_buff *skb)
{
	__u32 gso_size = skb->gso_size; /* read once: each access reads another structure */
	__u32 hdr;
	int answered = 0, r;
	struct bwl_ctx c;
	__u32 id = 0;

	bwl_blank(&c, skb->len);
	if (bwl_measures)
		c.came = bwl_lat_now();
	r = bwl_begin(&c, skb->ifindex);
	if (!c.now_ns)
		c.now_ns = bwl_now_late(c.resumes, &c.exact);
	if (r == BWL_R_NONE)
		id = bwl_handed_over(&c, skb);
	skb->mark = 0; /* no host sets a mark, or a departure time (fq; veth keeps SO_TXTIME's) */
	skb->tstamp = 0;
	/* Else clang would keep the address of the mark, which the verifier refuses. */
	asm volatile("" : "+r"(skb));
	if (r == BWL_R_NONE) {
		r = bwl_tc_parse_host(skb, &c.pkt);
		hdr = bwl_tc_merged(&c, skb, &gso_size);
		if (!id || r != BWL_R_NONE)
			r = bwl_sender(&c, bwl_tag(skb), r);
	} else {
		c.pkt = (struct bwl_pkt){};
		hdr = bwl_tc_merged(&c, skb, &gso_size);
	}
	if (r == BWL_R_NONE && !id) {
		id = bwl_dest(&c, c.pkt.daddr);
		r = bwl_refused_still(&c, id);
		if (bwl_unlikely(r != BWL_R_NONE)) {
			bwl_refused_again(&c, id, r);
			bwl_xdp_wakes();
			return TC_ACT_SHOT;
		}
	}
	if (r == BWL_R_NONE)
		r = bwl_receiver(&c, id);
	if (r == BWL_R_PASS_NEIGHBOUR) {
		bwl_exact(&c.w);
		c.charge = c.len;
		if (bwl_charge_one(&c.w, &c.port->neighbour, BWL_R_NEIGHBOUR_RATE))
			r = BWL_R_NEIGHBOUR_RATE;
		else
			r = bwl_nb_admit(&c, skb, 0);
		skb->mark = bwl_mark_up(c.ctl->tag);
		bwl_end(&c, c.port_id, r);
		return r == BWL_R_PASS_NEIGHBOUR ? TC_ACT_OK : TC_ACT_SHOT;
	}
	if (r == BWL_R_NONE)
		r = bwl_tc_way(&c);
	if (r == BWL_R_NONE)
		r = bwl_tc_as_judged(&c, skb, gso_size, hdr);
	if (r == BWL_R_NONE)
		r = bwl_mtu_fits(&c, gso_size, hdr);
	if (r == BWL_R_NONE)
		r = bwl_tc_cost(&c, skb, gso_size, hdr);
	if (r == BWL_R_NONE)
		r = bwl_charge(&c.w, c.ctl, c.peer, c.base, c.port);
	if (r == BWL_R_NONE && c.next_mac && bwl_unlikely(!bwl_is_tracked(&c))) {
		c.lost = c.charge;
		r = BWL_R_DEVICE;
	}
	if (r == BWL_R_NONE)
		r = bwl_mss(&c, skb);
	if (r == BWL_R_NONE)
		r = bwl_tc_send(&c, skb);
	if (bwl_likely(r == BWL_R_NONE)) {
		if (bwl_unlikely(c.next_mac)) /* XDP may carry the next one */
			bwl_xdp_wakes();
		if (bwl_measures)
			bwl_lat_shape(c.id, c.delay_ns);
		bwl_end(&c, c.port_id & (BWL_MAX_PORTS - 1), bwl_passed(&c));
		return TC_ACT_REDIRECT;
	}
	bwl_xdp_wakes();
	if (r != BWL_R_TOO_BIG)
		c.mtu = 0;
	if (c.mtu || bwl_rejects(&c, r)) {
		skb->mark = 0; /* it stays on the host's side, whatever mark was set for the gate */
		answered = bwl_tell_host(skb, &c.pkt, &c.w, c.port);
	}
	bwl_end(&c, c.port_id, r);
	return answered ? TC_ACT_REDIRECT : TC_ACT_SHOT;
}

/* Uplink, XDP: drops early what is neither underlay, nor encrypted, nor from a clear peer. */
SEC("xdp.frags")
int bwl_xdp_upin(struct xdp_md *xdp)
{
	struct bwl_ctx c = { .len = bwl_xdp_len(xdp) };
	int r = bwl_begin(&c, xdp->ingress_ifindex);

	if (r == BWL_R_NONE)
		r = bwl_surely_not(&c, bwl_xdp_parse(xdp, &c.pkt));
	if (r == BWL_R_NONE || bwl_xdp_unsure(r))
		return XDP_PASS;
	c.now_ns = bwl_now_late(c.resumes, &c.exact); /* for the event */
	bwl_end(&c, c.port_id, r);
	return XDP_DROP;
}

/* Underlay, ESP, or decrypted by a device. BWL_R_NONE: none of these, so it is in the clear. */
static __always_inline int bwl_from_wire(struct bwl_ctx *c, struct __sk_buff *skb, int parsed)
{
	__u32 from = bwl_decrypted(c, skb);
	int r = from ? BWL_R_NONE : bwl_underlay(c);

	if (r == BWL_R_NONE)
		r = parsed;
	if (r == BWL_R_NONE)
		r = bwl_outer(c, skb);
	if (r == BWL_R_NONE && from)
		r = bwl_bring_in(c, skb, from);
	return r;
}

/* Uplink, TC ingress: return traffic to the host; ESP, IKE, neighbours, control to the DPU. */
SEC("tc")
int bwl_tc_upin(struct __sk_buff *skb)
{
	struct bwl_ctx c = { .len = skb->len };
	__u32 mark = skb->mark, gso_size = skb->gso_size, hdr = 0, from = 0;
	int r = bwl_begin_timed(&c, skb->ifindex), parsed;

	if (r == BWL_R_NONE) {
		skb->mark = bwl_mark_up(c.ctl->tag);
		parsed = bwl_tc_parse(skb, &c.pkt);
		hdr = bwl_tc_merged(&c, skb, &gso_size);
		if (bwl_unlikely(bwl_is_tagged(&c, mark))) {
			from = mark & BWL_MARK_ID;
			r = bwl_brought_in(&c, from, parsed);
		} else {
			r = bwl_from_wire(&c, skb, parsed);
			if (r == BWL_R_PASS_NEIGHBOUR)
				r = bwl_nb_admit(&c, skb, 1);
		}
		if (r == BWL_R_NONE)
			r = bwl_arrive(&c, skb, from, gso_size, hdr);
	} else {
		bwl_tc_merged(&c, skb, &gso_size);
	}
	bwl_end(&c, c.port_id, r);
	if (r == BWL_R_PASS_ACCEPT || c.again)
		return TC_ACT_REDIRECT;
	return bwl_reason_is_pass(r) ? TC_ACT_OK : TC_ACT_SHOT;
}

/*
 * ESP, nearly everything at the last gate. It has its own context, which is passed to no function,
 * so the compiler keeps the used parts in registers.
 */
static __always_inline _Bool bwl_gate_esp(struct __sk_buff *skb)
{
	struct bwl_ctx c = { .len = skb->len };

	if (bwl_enter(&c, skb->ifindex) != BWL_R_NONE || !bwl_is_tagged(&c, skb->mark) ||
	    bwl_generation(&c) != BWL_R_NONE || !bwl_leave_esp(&c, skb))
		return 0;
	bwl_count(c.len, BWL_MAX_PORTS + c.port_id, BWL_R_PASS_ESP, 0);
	if (bwl_unlikely(skb->gso_size))
		bwl_count_segments(&c, skb->gso_size, skb->gso_segs);
	if (bwl_measures)
		bwl_lat_gate(c.id, skb->priority);
	/* during an upgrade a measuring program may precede one that does not measure */
	skb->priority = 0;
	return 1;
}

/* Uplink, TC egress: the last gate. */
SEC("tc")
int bwl_tc_gate(struct __sk_buff *skb)
{
	struct bwl_ctx c;
	int r, parsed;

	if (bwl_likely(bwl_gate_esp(skb)))
		return TC_ACT_OK;
	c = (struct bwl_ctx){ .len = skb->len };
	r = bwl_begin_timed(&c, skb->ifindex);
	if (r == BWL_R_NONE) {
		parsed = bwl_tc_parse(skb, &c.pkt);
		r = parsed == BWL_R_NONE || parsed == BWL_R_ETHERTYPE ? bwl_leave(&c, skb) : parsed;
		if (r == BWL_R_GATE)
			bwl_stopped(&c);
	}
	bwl_end(&c, BWL_MAX_PORTS + c.port_id, r);
	if (!bwl_reason_is_pass(r))
		return TC_ACT_SHOT;
	if (skb->gso_size)
		bwl_count_segments(&c, skb->gso_size, skb->gso_segs);
	if (r == BWL_R_PASS_ESP || r == BWL_R_PASS_GATE) {
		if (bwl_measures)
			bwl_lat_gate(c.id, skb->priority);
		skb->priority = 0;
	}
	return TC_ACT_OK;
}

/* Tunnel device, TC ingress: decrypted packets, to their host. */
SEC("tc")
int bwl_tc_tunin(struct __sk_buff *skb)
{
	struct bwl_ctx c = { .len = skb->len };
	__u32 mark = skb->mark, gso_size = skb->gso_size, hdr = 0;
	int r = bwl_begin_timed(&c, skb->ifindex);

	if (r == BWL_R_NONE) {
		skb->mark = bwl_mark_up(
			c.ctl->tag); /* as at the uplink: the kernel may have to answer */
		r = bwl_tc_parse(skb, &c.pkt);
	}
	hdr = bwl_tc_merged(&c, skb, &gso_size);
	if (r == BWL_R_NONE)
		r = bwl_tunnel_arrive(&c, skb, mark, gso_size, hdr);
	bwl_end(&c, c.port_id, r);
	return r == BWL_R_PASS_ACCEPT ? TC_ACT_REDIRECT : TC_ACT_SHOT;
}

/* Tunnel device, TC egress: selects the peer's SA. */
SEC("tc")
int bwl_tc_tunout(struct __sk_buff *skb)
{
	struct bwl_ctx c = { .len = skb->len }, refused;
	int r = bwl_enter(&c, skb->ifindex);

	if (r == BWL_R_NONE)
		r = bwl_tunnel_enter(&c, skb);
	if (bwl_likely(r == BWL_R_PASS_GATE)) { /* as at the gate: no context in memory */
		bwl_count(c.len, BWL_MAX_PORTS + c.port_id, r, 0);
		return TC_ACT_OK;
	}
	refused = (struct bwl_ctx){
		.len = c.len, .port_id = c.port_id, .now_ns = bwl_now(), .exact = 1
	};
	bwl_end(&refused, BWL_MAX_PORTS + refused.port_id, r);
	return TC_ACT_SHOT;
}

/* Management device, TC egress: lets out nothing that a host or the wire caused. */
SEC("tc")
int bwl_tc_mgmt(struct __sk_buff *skb)
{
	__u32 ifindex = skb->ifindex, *port;
	int r = bwl_leave_management(skb);

	port = bpf_map_lookup_elem(&bwl_ifport_v1, &ifindex);
	if (port && *port)
		bwl_count(skb->len, BWL_MAX_PORTS + *port - 1, r, 0);
	return bwl_reason_is_pass(r) ? TC_ACT_UNSPEC : TC_ACT_SHOT;
}

/* The machine suspends, or has resumed. */
SEC("raw_tp/suspend_resume")
int bwl_tp_suspend(void *args)
{
	(void)args;
	bwl_resumed();
	return 0;
}
