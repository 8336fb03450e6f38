/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Flow records: every counted packet of a peer is recorded once, in tables of the CPU
 * (maps/record.h). No other CPU's data is written or waited for.
 *
 * Called after a peer's counters are raised: beside its sums a CPU keeps the counter's value from
 * before the first packet of the interval and after the last one. So flows and remainders of a CPU
 * can be compared with its counter to the byte, whatever passes while they are read.
 */
#ifndef BWL_RECORD_H
#define BWL_RECORD_H

#include "ctx.h"
#include "../../maps/record.h"

/* User space sets this before loading: otherwise nothing of this is left in the programs. */
const volatile _Bool bwl_records = 0;

#define BWL_REC_MAP(map, value_type)                                                               \
	struct {                                                                                   \
		__uint(type, BPF_MAP_TYPE_ARRAY);                                                  \
		__uint(map_flags, BPF_F_MMAPABLE);                                                 \
		__uint(max_entries, 1); /* user space raises it if it records */                   \
		__type(key, __u32);                                                                \
		__type(value, value_type);                                                         \
	} map SEC(".maps");
BWL_REC_MAP(bwl_rec_word, struct bwl_rec_word)
BWL_REC_MAP(bwl_rec_cpu, struct bwl_rec_cpu)
BWL_REC_MAP(bwl_rec_peer, struct bwl_rec_peer)
BWL_REC_MAP(bwl_rec_row, struct bwl_rec_row)

/* No host knows it, so a host cannot choose flows that all collide with another peer's. */
const volatile __u64 bwl_rec_seed = 0x9e3779b97f4a7c15ULL;

enum bwl_rec_put { BWL_REC_FULL, BWL_REC_ADDED, BWL_REC_CLAIMED };

/* One product per word; none waits for another. */
#define BWL_REC_MIX(w, i)                                                                          \
	((__u64)((__u32)(w) + (lo ^ 0x85ebca6bU * (2 * (i) + 1))) *                                \
	 ((__u32)((w) >> 32) + (hi ^ 0xc2b2ae35U * (2 * (i) + 1))))

/* k: the packet whose full IPv6 addresses count; NULL: none. */
static __always_inline __u32 bwl_rec_hash(const struct bwl_rec_id *id, const struct bwl_pkt *k)
{
	__u32 lo = bwl_rec_seed, hi = bwl_rec_seed >> 32;
	const __u64 *w = (const __u64 *)id;
	__u64 h;

	h = BWL_REC_MIX(w[0], 0) + BWL_REC_MIX(w[1], 1) + BWL_REC_MIX(w[2], 2) +
	    BWL_REC_MIX(w[3], 3);
	if (k && k->family == 6)
		h += BWL_REC_MIX(*(const __u64 *)&k->saddr[0], 4) +
		     BWL_REC_MIX(*(const __u64 *)&k->saddr[2], 5) +
		     BWL_REC_MIX(*(const __u64 *)&k->daddr[0], 6) +
		     BWL_REC_MIX(*(const __u64 *)&k->daddr[2], 7);
	h ^= h >> 32;
	h *= bwl_rec_seed | 1;
	return h >> 32;
}
#undef BWL_REC_MIX

static __always_inline void bwl_rec_id_of(struct bwl_rec_id *id, const struct bwl_pkt *k,
					  const struct bwl_work *w, __u32 reason, __u32 stamp)
{
	__u32 zero = 0, sport = 0, dport = 0, qpn = 0;
	const struct bwl_ctl *ctl = bpf_map_lookup_elem(&bwl_ctl_v1, &zero);

	id->peer = w->id;
	id->generation = ctl ? bwl_read(ctl->generation) : 0;
	id->what = bwl_rec_what(k->family == 6 ? BWL_REC_FLOW6 : BWL_REC_FLOW, w->port_id, w->class,
				reason);
	id->stamp = stamp;
	id->saddr = k->saddr[3];
	id->daddr = k->daddr[3];
	if (!k->fragment) { /* a fragment's ports are not read */
		sport = bwl_ntohs(k->sport);
		dport = bwl_ntohs(k->dport);
	}
	if (dport == BWL_ROCE_PORT && k->proto == IPPROTO_UDP) {
		qpn = k->nvid ? 0 : bwl_ntohl(k->qpn) & 0xffffff;
		sport = 0; /* carries no information: entropy for the network */
	}
	id->ports = bwl_rec_ports(sport, dport, qpn) | (__u64)k->proto << BWL_REC_PROTO_SHIFT;
}

/* The remainder of the same peer, class, reason and port: packets that are in no flow. */
static __always_inline void bwl_rec_rest_of(struct bwl_rec_id *id)
{
	id->saddr = id->daddr = 0;
	id->ports = 0;
	id->what = (id->what & ~0xffU) | BWL_REC_REST;
}

static __always_inline _Bool bwl_rec_is(const struct bwl_rec_row *x, const struct bwl_rec_id *id,
					const struct bwl_pkt *k)
{
	const __u64 *a = (const __u64 *)&x->id, *b = (const __u64 *)id;

	if ((a[0] ^ b[0]) | (a[1] ^ b[1]) | (a[2] ^ b[2]) | (a[3] ^ b[3]))
		return 0;
	if (!k || k->family != 6)
		return 1;
	a = (const __u64 *)x->saddr;
	b = (const __u64 *)x->daddr;
	return !((a[0] ^ *(const __u64 *)&k->saddr[0]) | (a[1] ^ *(const __u64 *)&k->saddr[2]) |
		 (b[0] ^ *(const __u64 *)&k->daddr[0]) | (b[1] ^ *(const __u64 *)&k->daddr[2]));
}

static __always_inline void bwl_rec_add(struct bwl_rec_row *x, const struct bwl_work *w, _Bool pass,
					__u32 flags)
{
	__u32 now = w->now_ns >> BWL_REC_TIME_SHIFT;

	x->frames = (x->frames + BWL_REC_FRAME) | flags;
	x->bytes += pass ? w->len : bwl_drop_len(w);
	x->charged += pass ? w->charge : w->lost;
	if ((__s32)(now - x->last) > 0) /* not every packet's time is exact (clock.h) */
		x->last = now;
}

/*
 * Adds to the packet's row, perhaps a new one. table: the index of the table's first row. k NULL: a
 * remainder. may_claim: a new row is allowed.
 */
BWL_GLOBAL int bwl_rec_put(const struct bwl_pkt *k, const struct bwl_work *w,
			   const struct bwl_rec_id *id, __u32 table, __u32 may_claim)
{
	__u32 hash, i, at, r = BWL_REC_ADDED, mask = BWL_REC_RESTS - 1;
	struct bwl_rec_row *x;

	if (!bwl_records || !w || !id)
		return BWL_REC_FULL;
	hash = bwl_rec_hash(id, k);
	if (k)
		mask = BWL_REC_ROWS - 1;
	else
		table += BWL_REC_ROWS;
	for (i = 0; i < BWL_REC_STEPS; i++) {
		at = table + ((hash + i) & mask);
		x = bpf_map_lookup_elem(&bwl_rec_row, &at);
		if (!x)
			return BWL_REC_FULL;
		if (x->id.stamp != id->stamp) {
			if (!may_claim)
				return BWL_REC_FULL;
			x->frames = x->bytes = x->charged = 0;
			x->first = x->last = w->now_ns >> BWL_REC_TIME_SHIFT;
			if (k) {
				__builtin_memcpy(x->saddr, k->saddr, sizeof(x->saddr));
				__builtin_memcpy(x->daddr, k->daddr, sizeof(x->daddr));
			}
			x->id = *id;
			r = BWL_REC_CLAIMED;
		} else if (!bwl_rec_is(x, id, k)) {
			continue;
		}
		bwl_rec_add(x, w, bwl_reason_is_pass(id->what >> 24), k ? k->tcp_flags : 0);
		return r;
	}
	return BWL_REC_FULL;
}

/* Counts one more packet, like a peer's counter. */
static __always_inline void bwl_rec_count(struct bwl_rec_sum *s, const struct bwl_work *w,
					  _Bool pass)
{
	if (pass) {
		s->frames++;
		s->bytes += w->charge;
	} else {
		s->drop_frames++;
		s->drop_bytes += bwl_drop_len(w);
	}
}

/* The peer's entry of this CPU and interval; NULL: there is no room for one. */
static __always_inline struct bwl_rec_peer *bwl_rec_peer_of(__u32 table, __u32 stamp,
							    const struct bwl_work *w,
							    const struct bwl_peer_count *n,
							    _Bool pass)
{
	__u32 hash = bwl_spread(w->id, BWL_REC_PEERS_BITS), i, at;
	struct bwl_rec_peer *p;

	for (i = 0; i < BWL_REC_PEER_STEPS; i++) {
		at = table + ((hash + i) & (BWL_REC_PEERS - 1));
		p = bpf_map_lookup_elem(&bwl_rec_peer, &at);
		if (!p)
			return 0;
		if (p->stamp == stamp && p->peer == w->id)
			return p;
		if (p->stamp == stamp)
			continue;
		p->peer = w->id;
		p->rows = 0;
		p->after.frames = n->frames;
		p->after.bytes = n->bytes;
		p->after.drop_frames = n->drop_frames;
		p->after.drop_bytes = n->drop_bytes;
		p->before.frames = n->frames - pass;
		p->before.bytes = n->bytes - (pass ? w->charge : 0);
		p->before.drop_frames = n->drop_frames - !pass;
		p->before.drop_bytes = n->drop_bytes - (pass ? 0 : bwl_drop_len(w));
		p->rest = (struct bwl_rec_sum){};
		p->stamp = stamp;
		return p;
	}
	return 0;
}

/* Counts to no peer by name. Atomic, because a packet that interrupts another gets here, too. */
static __always_inline void bwl_rec_other(struct bwl_rec_cpu *own, __u32 stamp,
					  const struct bwl_work *w, _Bool pass)
{
	struct bwl_rec_sum *s = &own->other[bwl_mask(stamp, BWL_REC_BANKS - 1)];

	if (pass) {
		bwl_add(&s->frames, 1);
		bwl_add(&s->bytes, (__u64)w->charge);
	} else {
		bwl_add(&s->drop_frames, 1);
		bwl_add(&s->drop_bytes, (__u64)bwl_drop_len(w));
	}
}

/* Adds to the row where the probe begins, if it is the packet's own: almost always. */
static __always_inline _Bool bwl_rec_hit(const struct bwl_pkt *k, const struct bwl_work *w,
					 const struct bwl_rec_id *id, _Bool pass, __u32 table)
{
	__u32 at = table + (bwl_rec_hash(id, k) & (BWL_REC_ROWS - 1));
	struct bwl_rec_row *x = bpf_map_lookup_elem(&bwl_rec_row, &at);

	if (!x || !bwl_rec_is(x, id, k))
		return 0;
	bwl_rec_add(x, w, pass, k->tcp_flags);
	return 1;
}

/* Adds the packet to a row of its peer p, which has its entry. */
static __always_inline void bwl_rec_rows(const struct bwl_pkt *k, const struct bwl_work *w,
					 struct bwl_rec_peer *p, __u32 reason, __u32 table)
{
	_Bool pass = bwl_reason_is_pass(reason);
	struct bwl_rec_id id;
	int r;

	bwl_rec_id_of(&id, k, w, reason, p->stamp);
	if (bwl_rec_hit(k, w, &id, pass, table))
		return;
	r = bwl_rec_put(k, w, &id, table, p->rows < BWL_REC_PEER_ROWS);
	if (r == BWL_REC_CLAIMED)
		p->rows++;
	if (r != BWL_REC_FULL)
		return;
	bwl_rec_rest_of(&id);
	if (bwl_rec_put(0, w, &id, table, 1) == BWL_REC_FULL)
		bwl_rec_count(&p->rest, w, pass);
}

/* n: the peer's counter on this CPU, including this packet. */
BWL_GLOBAL int bwl_record(const struct bwl_pkt *k, const struct bwl_work *w,
			  const struct bwl_peer_count *n, __u32 reason)
{
	__u32 zero = 0, cpu = bpf_get_smp_processor_id(), stamp, table;
	_Bool pass = bwl_reason_is_pass(reason);
	const struct bwl_rec_word *word;
	struct bwl_rec_cpu *own;
	struct bwl_rec_peer *p;

	if (!bwl_records || !k || !w || !n)
		return 0;
	word = bpf_map_lookup_elem(&bwl_rec_word, &zero);
	own = bpf_map_lookup_elem(&bwl_rec_cpu, &cpu);
	if (!word || !own)
		return 0;
	stamp = bwl_read(word->interval);
	if (!stamp)
		return 0;
	if (bwl_unlikely(bwl_read(own->busy))) {
		bwl_rec_other(own, stamp, w, pass);
		return 0;
	}
	bwl_write(own->busy, 1);
	table = cpu * BWL_REC_BANKS + bwl_rec_bank(stamp);
	p = bwl_rec_peer_of(table * BWL_REC_PEERS, stamp, w, n, pass);
	if (bwl_unlikely(!p)) {
		bwl_rec_other(own, stamp, w, pass);
	} else {
		if (pass) { /* the other counters are unchanged */
			p->after.frames = n->frames;
			p->after.bytes = n->bytes;
		} else {
			p->after.drop_frames = n->drop_frames;
			p->after.drop_bytes = n->drop_bytes;
		}
		bwl_rec_rows(k, w, p, reason, table * BWL_REC_TABLE);
	}
	bwl_write(own->busy, 0);
	return 0;
}

#endif
