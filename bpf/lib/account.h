/* SPDX-License-Identifier: GPL-2.0-only */
/* The single exit: every packet is counted under exactly one reason, and explained. */
#ifndef BWL_ACCOUNT_H
#define BWL_ACCOUNT_H

#include "ctx.h"
#include "record.h"

/* The kind of event for a reason; _BWL_EVENT_MAX: no event. */
static __always_inline __u32 bwl_event_kind(__u32 reason)
{
	switch (reason) {
	case BWL_R_NO_PEER:
		return BWL_E_NEW_DEST;
	case BWL_R_SRC_ADDR:
	case BWL_R_SRC_MAC:
	case BWL_R_VLAN:
		return BWL_E_SPOOF;
	case BWL_R_PEER_VOLUME:
	case BWL_R_FLOOR_VOLUME:
	case BWL_R_CLASS_VOLUME:
	case BWL_R_ZONE_VOLUME:
	case BWL_R_PORT_VOLUME:
	case BWL_R_NODE_VOLUME:
	case BWL_R_ACCEPT_VOLUME:
		return BWL_E_EXHAUSTED;
	case BWL_R_REVOKED:
	case BWL_R_EXPIRED:
	case BWL_R_SILENT:
		return BWL_E_LAPSED;
	case BWL_R_GATE:
		return BWL_E_GATE;
	case BWL_R_CLOCK:
		return BWL_E_CLOCK;
	case BWL_R_TOO_BIG: /* the only reason before NO_GRANT that a known peer's packet can get */
		return BWL_E_DROP;
	default:
		return reason >= BWL_R_NO_GRANT ? BWL_E_DROP : _BWL_EVENT_MAX;
	}
}

/* How full the ring may get before an event of this kind is dropped. */
static __always_inline __u64 bwl_event_room(__u32 kind)
{
	switch (kind) {
	case BWL_E_DROP:
	case BWL_E_NEW_DEST:
	case BWL_E_SPOOF:
		return BWL_EVENT_ROOM_JUNK;
	case BWL_E_GATE:
	case BWL_E_CLOCK:
		return ~0ULL;
	default:
		return BWL_EVENT_ROOM_PEER;
	}
}

/*
 * May one more event of this kind be sent at this port now? Counts it. A global function, like the
 * next: the verifier walks it once, not for every path to a refusal.
 */
BWL_GLOBAL int bwl_event_may(__u32 kind, __u32 port, __u64 now_ns)
{
	__u32 index = bwl_event_count_index(kind, port);
	struct bwl_event_count *n = bpf_map_lookup_elem(&bwl_evcnt_v1, &index);
	__u64 second = now_ns / 1000000000;

	if (!n)
		return 0;
	n->total++;
	if (n->second < second) { /* never backwards: not every packet's time is exact (clock.h) */
		n->second = second;
		n->sent = 0;
	}
	if (n->sent >= BWL_EVENTS_PER_SEC ||
	    bpf_ringbuf_query(&bwl_event_v1, BPF_RB_AVAIL_DATA) >= bwl_event_room(kind)) {
		n->lost++;
		return 0;
	}
	n->sent++;
	return 1;
}

/*
 * One event per peer, kind and second. Not atomic: at worst one more is sent. index: of the grant's
 * state.
 */
BWL_GLOBAL int bwl_event_due(__u32 index, __u32 kind, __u64 now_ns)
{
	struct bwl_state *s = bwl_state_of(index);
	__u64 second = now_ns / 1000000000, sent;

	if (!s || kind >= _BWL_EVENT_MAX)
		return 0;
	sent = s->event_sent >> 8 < second ? second << 8 : s->event_sent;
	if (sent >> kind & 1)
		return 0;
	s->event_sent = sent | 1ULL << kind;
	return 1;
}

/* The event was due, but the ring was full. */
BWL_GLOBAL int bwl_event_unsent(__u32 kind, __u32 port)
{
	__u32 index = bwl_event_count_index(kind, port);
	struct bwl_event_count *n = bpf_map_lookup_elem(&bwl_evcnt_v1, &index);

	if (n)
		n->lost++;
	return 0;
}

BWL_FUNC int bwl_event(const struct bwl_pkt *k, const struct bwl_work *w, __u32 kind, __u32 reason)
{
	struct bwl_event *e;

	if (!bwl_event_may(kind, w->port_id, w->now_ns))
		return 0;
	e = bpf_ringbuf_reserve(&bwl_event_v1, sizeof(*e), 0);
	if (!e)
		return bwl_event_unsent(kind, w->port_id);
	e->time_ns = w->exact ? w->now_ns : bwl_now();
	e->peer = w->id;
	e->len = w->len;
	e->kind = kind;
	e->reason = reason;
	e->port = w->port_id;
	e->class = w->class;
	e->ethertype = k->ethertype;
	e->proto = k->proto;
	e->_pad = 0;
	e->sport = k->sport;
	e->dport = k->dport;
	e->_pad2 = 0;
	__builtin_memcpy(e->saddr, k->saddr, 16);
	__builtin_memcpy(e->daddr, k->daddr, 16);
	bpf_ringbuf_submit(e, 0);
	return 0;
}

/* row: port id, or BWL_MAX_PORTS + port id at the last gate. */
static __always_inline void bwl_count(__u32 len, __u32 row, __u32 reason, __u32 charged)
{
	__u32 index = row * BWL_REASON_COLUMNS + (reason & (BWL_REASON_COLUMNS - 1));
	struct bwl_reason_count *n = bpf_map_lookup_elem(&bwl_reason_v1, &index);

	if (!n)
		return;
	n->frames++;
	n->bytes += len;
	n->charged += charged;
}

/*
 * At the last gate: counts how many more frames the device may make of a packet than the one
 * counted.
 */
static __always_inline void bwl_count_segments(const struct bwl_ctx *c, __u32 size, __u32 segs)
{
	__u32 index = (BWL_MAX_PORTS + c->port_id) * BWL_REASON_COLUMNS + BWL_REASON_SEGMENTS;
	struct bwl_reason_count *n = bpf_map_lookup_elem(&bwl_reason_v1, &index);

	/*
	 * The count may be missing in packets sent by a process (virtio_net_hdr); the kernel fills
	 * it in later.
	 */
	if (n)
		n->frames += segs ? segs - 1 : c->len / size;
}

static __always_inline void bwl_tally_one(__u32 index, __u32 passed, __u32 dropped)
{
	struct bwl_state *s = index ? bwl_state_of(index) : 0;

	if (s && passed)
		bwl_add(&s->used_bytes, passed);
	if (s && dropped)
		bwl_add(&s->drop_bytes, dropped);
}

/* both: c->tally. */
BWL_GLOBAL int bwl_tally(__u64 both, __u32 passed, __u32 dropped)
{
	bwl_tally_one(both, passed, dropped);
	bwl_tally_one(both >> 32, passed, dropped);
	return 0;
}

/* The first frame of the peer that passed on this CPU. */
static __always_inline void bwl_first(const struct bwl_ctx *c, __u32 reason)
{
	struct bwl_state *s = bwl_state_of(bwl_grant_state(c->id));

	if (!s || (s->flags & BWL_STATE_SEEN)) /* not the first on any CPU */
		return;
	s->flags |= BWL_STATE_SEEN;
	bwl_event(&c->pkt, &c->w, BWL_E_FIRST, reason);
}

/*
 * A packet that ends here. Global, because it is reached from many places: verified once, not for
 * each.
 */
BWL_GLOBAL int bwl_refused(const struct bwl_pkt *k, const struct bwl_work *w, __u32 row,
			   __u32 reason)
{
	struct bwl_peer_count *n;
	__u32 kind, id;

	if (!k || !w)
		return 0;
	bwl_count(w->len, row, reason, 0);
	kind = bwl_event_kind(reason);
	id = w->id;
	if (!id || row >= BWL_MAX_PORTS)
		return kind < _BWL_EVENT_MAX ? bwl_event(k, w, kind, reason) : 0;
	n = bpf_map_lookup_elem(&bwl_peercnt_v1, &id);
	if (!n)
		return 0;
	if (w->tally)
		bwl_tally(w->tally, 0, bwl_drop_len(w));
	n->drop_frames++;
	n->drop_bytes += bwl_drop_len(w);
	n->refund_lost += w->lost;
	if (bwl_records)
		bwl_record(k, w, n, reason);
	return bwl_event_due(bwl_grant_state(id), kind, w->now_ns) ? bwl_event(k, w, kind, reason)
								   : 0;
}

/* Over the peer's own limits: it passed because nobody enforces them. */
static __always_inline void bwl_count_over(__u32 id, __u32 charged)
{
	struct bwl_over_count *n = bpf_map_lookup_elem(&bwl_over_v1, &id);

	if (!n)
		return;
	n->frames++;
	n->bytes += charged;
}

static __always_inline void bwl_passed_on(struct bwl_ctx *c, __u32 row, __u32 reason)
{
	struct bwl_peer_count *n;
	__u32 id = c->id;

	bwl_count(c->len, row, reason, c->charge);
	if (!id || row >= BWL_MAX_PORTS)
		return;
	n = bpf_map_lookup_elem(&bwl_peercnt_v1, &id);
	if (!n)
		return;
	/*
	 * First, so that a reader who reads the peer's counter and then this one never finds less
	 * here.
	 */
	if (c->tally)
		bwl_tally(c->tally, c->charge, 0);
	n->bytes += c->charge;
	if (bwl_unlikely(!n->frames++))
		bwl_first(c, reason);
	if (bwl_unlikely(reason == BWL_R_PASS_MONITOR))
		bwl_count_over(id, c->charge);
	if (bwl_records)
		bwl_record(&c->pkt, &c->w, n, reason);
}

/* Like bwl_record(), for a packet whose class is not known. */
BWL_GLOBAL int bwl_record_again(const struct bwl_pkt *k, struct bwl_work *w,
				const struct bwl_base *b, const struct bwl_peer_count *n,
				__u32 reason)
{
	if (!bwl_records || !k || !w || !b)
		return 0;
	w->class = bwl_classify(k, b->proto_class, b->port_class[0], b->port_class[1]);
	return bwl_record(k, w, n, reason);
}

/* The peer's packets are being refused again; bwl_refused() has reported this a moment ago. */
static __always_inline void bwl_refused_again(struct bwl_ctx *c, __u32 id, __u32 reason)
{
	struct bwl_peer_count *n = bpf_map_lookup_elem(&bwl_peercnt_v1, &id);

	bwl_count(c->len, c->port_id, reason, 0);
	if (!n)
		return;
	n->drop_frames++;
	n->drop_bytes += c->len;
	if (!bwl_records)
		return;
	c->id = id;
	bwl_record_again(&c->pkt, &c->w, c->base, n, reason);
}

static __always_inline void bwl_end(struct bwl_ctx *c, __u32 row, __u32 reason)
{
	if (bwl_reason_is_pass(reason))
		bwl_passed_on(c, row, reason);
	else
		bwl_refused(&c->pkt, &c->w, row, reason);
}

#endif
