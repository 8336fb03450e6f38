/* SPDX-License-Identifier: GPL-2.0-only */
/* The state that the stages of one packet share, and access to a limit's state. */
#ifndef BWL_CTX_H
#define BWL_CTX_H

#include <bpf/bpf_core_read.h>
#include "../../maps/maps.bpf.h"
#include "clock.h"
#include "compiler.h"
#include "parse.h"

/*
 * The tunnel device is a plain xfrm interface: user space sets this before loading (maps/tunnel.h).
 */
const volatile _Bool bwl_by_mark = 0;

/* Only on PREEMPT_RT is a spinlock a mutex (5.15): there programs of one CPU take turns. */
struct rt_mutex_base {
	int unused;
};
struct spinlock {
	struct rt_mutex_base lock;
} __attribute__((preserve_access_index));

static __always_inline _Bool bwl_on_rt(void)
{
	return bpf_core_field_exists(struct spinlock, lock);
}

/*
 * What is known of a packet, only as numbers: it is passed to global functions (compiler.h), which
 * cannot take a structure with pointers in it.
 */
struct bwl_work {
	__u64 now_ns;   /* not before now; exactly now if `exact` (clock.h) */
	__u64 delay_ns; /* mode shape: departs this much later */
	/*
	 * odd state entry that counts it too (maps/limit.h); << 32: a second one; 0: none. 64 bits
	 * because the verifier forgets the value of a shorter word and walks a fifth more
	 */
	__u64 tally;
	/* of the next hop, where TC sends to a device that encrypts (bwl_tunnel); else 0 */
	__u64 next_mac;
	__u32 out;    /* ifindex of the uplink or the tunnel device */
	__u32 slot;   /* generation */
	__u32 len;    /* the frame as the hook saw it, bytes */
	__u32 charge; /* what it costs, bytes */
	__u32 mtu;    /* largest layer 3 packet on its path; set by bwl_tc_way() */
	__u32 port_id;
	__u32 id;   /* peer; 0 none */
	__u32 lost; /* charged although refused, bytes */
	__u8 class;
	__u8 lapsed;    /* the grant has lapsed; the floor applies */
	__u8 paced;     /* the uplink's qdisc keeps departure times */
	__u8 ce;        /* mode mark: over the threshold; shape: waits long */
	__u8 monitored; /* mode monitor: over the peer's own limit */
	/* an uplink's device decrypted it: it will come in a second time (inbound.h) */
	__u8 again;
	__u8 clear;  /* TC sends it to a next hop, unencrypted */
	__u8 shares; /* this program may use the CPU's shares (cpu.h) */
	__u8 active; /* entry in bwl_ctl.sched */
	__u8 exact;
	__u16 resumes; /* bwl_ctl's, when the packet arrived */
	__u32 came;    /* arrival time, if latency is measured (latency.h) */
	/* what its sender was charged, bytes (arrive.h); 0: not known, or not from a peer */
	__u32 arrived;
};

/* What a refused packet counts in its peer's sums, bytes: so they agree with its sender's. */
static __always_inline __u32 bwl_drop_len(const struct bwl_work *w)
{
	return w->arrived ? w->arrived : w->len;
}

struct bwl_ctx {
	struct bwl_pkt pkt;
	const struct bwl_ctl *ctl;
	const struct bwl_base *base;
	const struct bwl_port *port;
	const struct bwl_peer *peer;
	union {
		struct bwl_work w;
		struct bwl_work;
	};
};

/*
 * A context without its packet, which the parser fills in. No stage may read a pointer before one
 * has written it.
 */
static __always_inline void bwl_blank(struct bwl_ctx *c, __u32 len)
{
	__builtin_memset(&c->w, 0, sizeof(c->w));
	c->len = len;
}

/* An entry of an inner array of the packet's generation. */
static __always_inline void *bwl_inner(void *outer, __u32 slot, __u32 index)
{
	void *inner = bpf_map_lookup_elem(outer, &slot);

	return inner ? bpf_map_lookup_elem(inner, &index) : 0;
}

static __always_inline struct bwl_state *bwl_state_of(__u32 index)
{
	return bpf_map_lookup_elem(&bwl_state_v1, &index);
}

/* How much of a volume may be spent; a missing entry closes. */
static __always_inline __u64 bwl_released(__u32 index)
{
	const struct bwl_release *m = bpf_map_lookup_elem(&bwl_mark_v1, &index);

	return m ? bwl_read(m->spendable_bytes) : BWL_RELEASE_CLOSED;
}

static __always_inline struct bwl_window *bwl_window_of(const struct bwl_volume *v)
{
	__u32 index = v->window;

	return v->slice_ns ? bpf_map_lookup_elem(&bwl_window_v1, &index) : 0;
}

/* Is the device ours, and the switch on? */
static __always_inline int bwl_enter(struct bwl_ctx *c, __u32 ifindex)
{
	__u32 zero = 0, *port;

	port = bpf_map_lookup_elem(&bwl_ifport_v1, &ifindex);
	if (!port || !*port)
		return BWL_R_NO_PORT;
	c->port_id = *port - 1;
	c->ctl = bpf_map_lookup_elem(&bwl_ctl_v1, &zero);
	if (!c->ctl)
		return BWL_R_STOP;
	c->resumes = bwl_read(c->ctl->resumes);
	if (bwl_read(c->ctl->stop))
		return c->ctl->stop == BWL_UPGRADING ? BWL_R_UPGRADE : BWL_R_STOP;
	return BWL_R_NONE;
}

static __always_inline void bwl_exact(struct bwl_work *w)
{
	if (w->exact)
		return;
	w->now_ns = bwl_now_noted();
	w->exact = 1;
}

/* The generation of the policy in force. After bwl_enter(). */
static __always_inline int bwl_generation(struct bwl_ctx *c)
{
	c->active = bwl_mask(bwl_read(c->ctl->active), BWL_SCHEDS - 1);
	c->slot = c->ctl->sched[c->active].slot;
	c->base = bwl_inner(&bwl_base_v1, c->slot, 0);
	if (!c->base)
		return BWL_R_NO_POLICY;
	c->port = &c->base->port[bwl_mask(c->port_id, BWL_MAX_PORTS - 1)];
	return c->port->flags ? BWL_R_NONE : BWL_R_NO_PORT;
}

/*
 * First stage of every program that judges: switch, port, generation. If anything is missing, the
 * packet is refused.
 */
static __always_inline int bwl_begin(struct bwl_ctx *c, __u32 ifindex)
{
	int r;

	c->slot = BWL_NO_SLOT;
	r = bwl_enter(c, ifindex);
	return r == BWL_R_NONE ? bwl_generation(c) : r;
}

static __always_inline int bwl_begin_timed(struct bwl_ctx *c, __u32 ifindex)
{
	bwl_exact(&c->w);
	return bwl_begin(c, ifindex);
}

/*
 * The time that deadlines are compared with. Ticks stand still while a CPU that was idle, as all
 * others are, works off its softirq (6.12): so a deadline closer than BWL_UNCLOCKED_NS is checked
 * with the clock. Without a branch, for the verifier.
 */
static __always_inline __u64 bwl_latest(const struct bwl_work *w)
{
	return w->now_ns + BWL_UNCLOCKED_NS - w->exact * (__u64)BWL_UNCLOCKED_NS;
}

/* When the trial of the packet's policy ends (policy apply --confirm); BWL_NEVER_NS: no trial. */
static __always_inline __u64 bwl_trial_ends(const struct bwl_work *w, const struct bwl_ctl *ctl)
{
	return ctl->sched[bwl_mask(w->active, BWL_SCHEDS - 1)].trial_ns;
}

/*
 * Has the grant ended, its policy's trial, or the heartbeat's deadline? If the time is not exact:
 * is it about to? A trial's end does not end `self`: the policy before must still arrive.
 */
static __always_inline _Bool bwl_is_over(const struct bwl_work *w, const struct bwl_ctl *ctl,
					 const struct bwl_base *base, const struct bwl_peer *peer)
{
	__u64 now = bwl_latest(w);

	return now >= peer->meta.expiry_ns ||
	       (bwl_unlikely(now >= bwl_trial_ends(w, ctl)) && w->id != base->self_id) ||
	       (base->heartbeat_ns && now >= bwl_read(ctl->heartbeat_ns));
}

/* Why, at the exact time. */
static __always_inline int bwl_over_reason(const struct bwl_work *w, const struct bwl_ctl *ctl,
					   const struct bwl_peer *peer)
{
	return w->now_ns >= peer->meta.expiry_ns || w->now_ns >= bwl_trial_ends(w, ctl)
		       ? BWL_R_EXPIRED
		       : BWL_R_SILENT;
}

/* The mark of a packet to this peer once it is ESP: the kernel keeps it. */
static __always_inline __u32 bwl_esp_mark(const struct bwl_ctx *c, __u32 id)
{
	return (c->ctl->tag & ~BWL_MARK_ID) | (id & BWL_MARK_ID);
}

/* Charged at a host port: the mark has this boot's tag, alone or with a peer's id in it. */
static __always_inline _Bool bwl_is_tagged(const struct bwl_ctx *c, __u32 mark)
{
	return !((mark ^ c->ctl->tag) & ~BWL_MARK_ID);
}

#endif
