/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A packet that was refused for a rate or a volume is rarely the last: a flood at a limit is
 * refused again without being judged. The CPU notes until when no packet of that size to that peer
 * can pass, and checks the note first. The note holds only for the current policy up to its last
 * edit, and only briefly: after that a packet is judged, counted and reported like the first.
 */
#ifndef BWL_AGAIN_H
#define BWL_AGAIN_H

#include "cpu.h"
#include "ctx.h"
#include "limit.h"

#define BWL_AGAIN_MAX_NS 10000000   /* another CPU may return what it took */
#define BWL_AGAIN_VOLUME_NS 1000000 /* the same for a turn of the window */
/* Next to the slack: a refusal does not apply to packets to other peers. */
#define BWL_NOT_AROUND (1ULL << 34)

/*
 * The last refusal by a zone's, a port's or the node's limit: it holds for packets to all peers
 * within that limit.
 */
struct bwl_note_around {
	__u64 until_ns; /* 0: none */
	__u32 state;    /* the limit: its entry of bwl_state_v1 */
	__u32 len, edits, generation, slot, reason;
};
struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct bwl_note_around);
} bwl_around SEC(".maps");

static __always_inline struct bwl_note_around *bwl_note_of_cpu(void)
{
	__u32 zero = 0;

	return bpf_map_lookup_elem(&bwl_around, &zero);
}

/*
 * Notes a refusal by this limit, as judged; opts: as it was asked. Not for limits of a class or a
 * floor, which do not apply to all packets of the peer, nor if the peer is only monitored.
 */
static __always_inline void bwl_note_refusal(const struct bwl_work *w, const struct bwl_limit *l,
					     __u32 judgement, __u32 reason, __u64 opts)
{
	__u32 slack = opts;

	__u64 ns = BWL_AGAIN_VOLUME_NS, debt;
	const struct bwl_ctl *ctl;
	struct bwl_note_around *n;
	struct bwl_share_entry *x;
	struct bwl_state *s;
	__u32 zero = 0;

	ctl = bpf_map_lookup_elem(&bwl_ctl_v1, &zero);
	s = bwl_state_of(l->volume.state);
	x = bwl_cpu_entry(bwl_grant_state(w->id));
	if (!ctl || !s || !x || !w->shares)
		return;
	if (judgement == BWL_OVER_RATE) {
		debt = bwl_rate_debt(bwl_read(s->finish_bytes),
				     bwl_rate_drained(&l->rate, w->now_ns));
		debt += w->charge;
		ns = bwl_rate_delay(&l->rate, debt > slack ? debt - slack : 0);
		if (ns > BWL_AGAIN_MAX_NS)
			ns = BWL_AGAIN_MAX_NS;
	} else if (judgement != BWL_OVER_VOLUME) { /* the ledger may release more at any moment */
		return;
	}
	x->refused_until_ns = w->now_ns + ns;
	x->refused_len = w->charge;
	x->refused_peer = w->id;
	x->refused_port = w->port_id;
	x->refused_reason = reason;
	x->refused_edits = bwl_read(ctl->edits);
	x->refused_generation = bwl_read(ctl->generation);
	x->refused_slot = w->slot;
	n = bwl_note_of_cpu();
	if (!n || opts & BWL_NOT_AROUND || l->volume.state == bwl_grant_state(w->id))
		return;
	*n = (struct bwl_note_around){ .until_ns = x->refused_until_ns,
				       .state = l->volume.state,
				       .len = w->charge,
				       .edits = x->refused_edits,
				       .generation = bwl_read(ctl->generation),
				       .slot = w->slot,
				       .reason = reason };
}

/* Does the note's limit apply to this packet, too? */
static __always_inline _Bool bwl_note_is_of(const struct bwl_note_around *n,
					    const struct bwl_work *w, const struct bwl_peer *peer,
					    const struct bwl_base *base)
{
	__u32 port = bwl_mask(w->port_id, BWL_MAX_PORTS - 1);

	return n->state == base->node.volume.state ||
	       n->state == base->port[port].limit.volume.state ||
	       (peer->meta.zone && n->state == base->zone[peer->meta.zone].limit.volume.state);
}

/* The reason, if a limit around the peer refuses the packet again. */
BWL_GLOBAL int bwl_refused_around(struct bwl_work *w, const struct bwl_ctl *ctl,
				  const struct bwl_peer *peer, const struct bwl_base *base)
{
	struct bwl_note_around *n = bwl_note_of_cpu();

	if (!w || !ctl || !peer || !base || !n || w->charge < n->len || w->slot != n->slot ||
	    n->edits != bwl_read(ctl->edits) || n->generation != bwl_read(ctl->generation) ||
	    !bwl_note_is_of(n, w, peer, base))
		return BWL_R_NONE;
	if (w->now_ns >= n->until_ns) {
		bwl_exact(w);
		if (w->now_ns >= n->until_ns) {
			n->until_ns = 0;
			return BWL_R_NONE;
		}
	}
	return n->reason;
}

/* The reason, if it is refused again: a frame's length is at most its charge. */
static __always_inline int bwl_refused_still(struct bwl_ctx *c, __u32 id)
{
	struct bwl_share_entry *x = bwl_cpu_entry(bwl_grant_state(id));

	if (!x || bwl_likely(!x->refused_until_ns) || x->refused_peer != id ||
	    x->refused_port != c->port_id || c->len < x->refused_len ||
	    x->refused_slot != (__u8)c->slot || x->refused_edits != bwl_read(c->ctl->edits) ||
	    x->refused_generation != (__u16)bwl_read(c->ctl->generation))
		return BWL_R_NONE;
	if (!c->now_ns)
		c->now_ns = bwl_now_late(c->resumes, &c->exact);
	if (c->now_ns >= x->refused_until_ns) {
		bwl_exact(&c->w);
		if (c->now_ns >= x->refused_until_ns) {
			x->refused_until_ns = 0;
			return BWL_R_NONE;
		}
	}
	return x->refused_reason;
}

#endif
