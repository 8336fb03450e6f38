/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Flow records: every packet of a peer that is counted is recorded once, in tables of the CPU
 * (maps/record.h). Nothing that another CPU writes is written, or waited for.
 *
 * Called where a peer's counters are raised, after that: beside its sums a CPU keeps what the
 * counter was before the first packet of the interval and after the last one. So flows and
 * remainders of a CPU can be compared with its counter to the byte, whatever else passes while
 * they are read.
 */
#ifndef BWL_RECORD_H
#define BWL_RECORD_H

#include "ctx.h"
#include "../../maps/record.h"

/* User space says so before it loads: else nothing of this is left of the programs. */
const volatile _Bool bwl_records = 0;

#define BWL_REC_MAP(map, value_type)                                                               \
	struct {                                                                                   \
		__uint(type, BPF_MAP_TYPE_ARRAY);                                                  \
		__uint(map_flags, BPF_F_MMAPABLE);                                                 \
		__uint(max_entries, 1); /* user space raises it where it records */                \
		__type(key, __u32);                                                                \
		__type(value, value_type);                                                         \
	} map SEC(".maps");
BWL_REC_MAP(bwl_rec_word, struct bwl_rec_word)
BWL_REC_MAP(bwl_rec_cpu, struct bwl_rec_cpu)
BWL_REC_MAP(bwl_rec_peer, struct bwl_rec_peer)
BWL_REC_MAP(bwl_rec_row, struct bwl_rec_row)

/* No host knows it: flows that it makes for that do not all fall on another peer's places. */
const volatile __u64 bwl_rec_seed = 0x9e3779b97f4a7c15ULL;

enum bwl_rec_put { BWL_REC_FULL, BWL_REC_ADDED, BWL_REC_CLAIMED };

/* One product a word, none waits for the other. */
static __always_inline __u32 bwl_rec_hash(const __u64 *w)
{
	__u64 s = bwl_rec_seed, h = 0;
	__u32 lo = s, hi = s >> 32;

#define BWL_REC_MIX(i)                                                                             \
	h += (__u64)((__u32)w[i] + (lo ^ 0x85ebca6bU * (2 * (i) + 1))) *                           \
	     ((__u32)(w[i] >> 32) + (hi ^ 0xc2b2ae35U * (2 * (i) + 1)))
	BWL_REC_MIX(0);
	BWL_REC_MIX(1);
	BWL_REC_MIX(2);
	BWL_REC_MIX(3);
	BWL_REC_MIX(4);
	BWL_REC_MIX(5);
	BWL_REC_MIX(6);
#undef BWL_REC_MIX
	h ^= h >> 32;
	h *= s | 1;
	return h >> 32;
}

/* k NULL: of a remainder. */
static __always_inline void bwl_rec_key_of(__u64 *key, const struct bwl_pkt *k,
					   const struct bwl_work *w, __u32 reason)
{
	__u32 zero = 0, sport = 0, dport = 0, qpn = 0, generation;
	const struct bwl_ctl *ctl = bpf_map_lookup_elem(&bwl_ctl_v1, &zero);

	generation = ctl ? bwl_read(ctl->generation) : 0;
	key[5] = w->id | (__u64)generation << 32;
	if (!k) {
		key[0] = key[1] = key[2] = key[3] = key[4] = 0;
		key[6] = bwl_rec_what(BWL_REC_REST, w->port_id, w->class, reason, 0);
		return;
	}
	key[0] = *(const __u64 *)&k->saddr[0];
	key[1] = *(const __u64 *)&k->saddr[2];
	key[2] = *(const __u64 *)&k->daddr[0];
	key[3] = *(const __u64 *)&k->daddr[2];
	if (!k->fragment) { /* whose ports nobody read */
		sport = bwl_ntohs(k->sport);
		dport = bwl_ntohs(k->dport);
	}
	if (dport == BWL_ROCE_PORT && k->proto == IPPROTO_UDP) {
		qpn = k->nvid ? 0 : bwl_ntohl(k->qpn) & 0xffffff;
		sport = 0; /* says nothing: entropy for the network */
	}
	key[4] = bwl_rec_ports(sport, dport, qpn);
	key[6] = bwl_rec_what(BWL_REC_FLOW, w->port_id, w->class, reason, k->proto);
}

/*
 * Into its row. table: the index of the table's first row; stamp: above it, may it claim a new one?
 * k NULL: into the remainder of its peer, class, reason and port.
 */
BWL_GLOBAL int bwl_rec_put(const struct bwl_pkt *k, const struct bwl_work *w, __u64 reason,
			   __u64 table, __u64 stamp)
{
	__u32 hash, i, at, flags = 0, mask = BWL_REC_RESTS - 1, charged, r = BWL_REC_ADDED;
	struct bwl_rec_row *x;
	__u64 key[7], *had;

	if (!bwl_records || !w)
		return BWL_REC_FULL;
	bwl_rec_key_of(key, k, w, reason);
	hash = bwl_rec_hash(key);
	charged = bwl_reason_is_pass(reason) ? w->charge : w->lost;
	if (k) {
		flags = k->tcp_flags;
		mask = BWL_REC_ROWS - 1;
	} else {
		table += BWL_REC_ROWS;
	}
	for (i = 0; i < BWL_REC_STEPS; i++) {
		at = table + ((hash + i) & mask);
		x = bpf_map_lookup_elem(&bwl_rec_row, &at);
		if (!x)
			return BWL_REC_FULL;
		had = (__u64 *)&x->key;
		if (x->stamp != (__u32)stamp) {
			if (!(stamp >> 32))
				return BWL_REC_FULL;
			__builtin_memcpy(had, key, sizeof(key));
			x->hash = hash;
			x->frames = x->bytes = x->charged = 0;
			x->first_ns = x->last_ns = w->now_ns;
			x->tcp_flags = 0;
			x->stamp = stamp;
			r = BWL_REC_CLAIMED;
		} else if (x->hash != hash ||
			   ((had[0] ^ key[0]) | (had[1] ^ key[1]) | (had[2] ^ key[2]) |
			    (had[3] ^ key[3]) | (had[4] ^ key[4]) | (had[5] ^ key[5]) |
			    (had[6] ^ key[6]))) {
			continue;
		}
		x->frames++;
		x->bytes += w->len;
		x->charged += charged;
		x->tcp_flags |= flags;
		if (x->last_ns < w->now_ns) /* not everybody's time is exact (clock.h) */
			x->last_ns = w->now_ns;
		return r;
	}
	return BWL_REC_FULL;
}

/* What one packet adds to a peer's counter. */
static __always_inline struct bwl_rec_sum bwl_rec_one(const struct bwl_work *w, __u32 reason)
{
	struct bwl_rec_sum s = {};

	if (bwl_reason_is_pass(reason)) {
		s.frames = 1;
		s.bytes = w->charge;
	} else {
		s.drop_frames = 1;
		s.drop_bytes = w->len;
	}
	return s;
}

/* The peer's entry of this CPU and interval; NULL: there is no room for one. */
static __always_inline struct bwl_rec_peer *bwl_rec_peer_of(__u32 table, __u32 stamp,
							    const struct bwl_work *w,
							    const struct bwl_peer_count *n,
							    __u32 reason)
{
	__u32 hash = bwl_spread(w->id, BWL_REC_PEERS_BITS), i, at;
	struct bwl_rec_sum one;
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
		one = bwl_rec_one(w, reason);
		p->peer = w->id;
		p->rows = 0;
		p->before.frames = n->frames - one.frames;
		p->before.bytes = n->bytes - one.bytes;
		p->before.drop_frames = n->drop_frames - one.drop_frames;
		p->before.drop_bytes = n->drop_bytes - one.drop_bytes;
		p->rest = (struct bwl_rec_sum){};
		p->stamp = stamp;
		return p;
	}
	return 0;
}

/* Of no peer by name. Atomic: a packet that interrupts another comes here, too. */
static __always_inline void bwl_rec_other(struct bwl_rec_cpu *own, __u32 stamp,
					  const struct bwl_work *w, __u32 reason)
{
	struct bwl_rec_sum *s = &own->other[bwl_mask(stamp, BWL_REC_BANKS - 1)];

	if (bwl_reason_is_pass(reason)) {
		bwl_add(&s->frames, 1);
		bwl_add(&s->bytes, (__u64)w->charge);
	} else {
		bwl_add(&s->drop_frames, 1);
		bwl_add(&s->drop_bytes, (__u64)w->len);
	}
}

/* n: the peer's counter of this CPU, this packet in it. */
BWL_GLOBAL int bwl_record(const struct bwl_pkt *k, const struct bwl_work *w,
			  const struct bwl_peer_count *n, __u32 reason)
{
	__u32 zero = 0, cpu = bpf_get_smp_processor_id(), stamp, table;
	const struct bwl_rec_word *word;
	struct bwl_rec_cpu *own;
	struct bwl_rec_peer *p;
	struct bwl_rec_sum one;
	int r;

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
		bwl_rec_other(own, stamp, w, reason);
		return 0;
	}
	bwl_write(own->busy, 1);
	table = cpu * BWL_REC_BANKS + bwl_rec_bank(stamp);
	p = bwl_rec_peer_of(table * BWL_REC_PEERS, stamp, w, n, reason);
	if (bwl_unlikely(!p)) {
		bwl_rec_other(own, stamp, w, reason);
		bwl_write(own->busy, 0);
		return 0;
	}
	p->after.frames = n->frames;
	p->after.bytes = n->bytes;
	p->after.drop_frames = n->drop_frames;
	p->after.drop_bytes = n->drop_bytes;
	table *= BWL_REC_TABLE;
	r = bwl_rec_put(k, w, reason, table, stamp | (__u64)(p->rows < BWL_REC_PEER_ROWS) << 32);
	if (r == BWL_REC_CLAIMED)
		p->rows++;
	if (bwl_unlikely(r == BWL_REC_FULL))
		r = bwl_rec_put(0, w, reason, table, stamp | 1ULL << 32);
	if (bwl_unlikely(r == BWL_REC_FULL)) {
		one = bwl_rec_one(w, reason);
		p->rest.frames += one.frames;
		p->rest.bytes += one.bytes;
		p->rest.drop_frames += one.drop_frames;
		p->rest.drop_bytes += one.drop_bytes;
	}
	bwl_write(own->busy, 0);
	return 0;
}

#endif
