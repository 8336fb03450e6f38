/* SPDX-License-Identifier: GPL-2.0-only */
/* Destination -> peer -> is its grant live? Nothing is charged here. */
#ifndef BWL_DEST_H
#define BWL_DEST_H

#include "ctx.h"

/*
 * Exact match first: it costs the same at any size. Each map is searched only if the policy uses
 * it.
 */
static __always_inline __u32 bwl_dest4(const struct bwl_ctx *c, __be32 addr)
{
	struct bwl_key_lpm4 key = { .prefixlen = 32, .addr = addr };
	__u32 slot = c->slot, *id = 0;
	void *m = 0;

	if (!(c->base->only_lpm & BWL_ONLY_LPM4))
		m = bpf_map_lookup_elem(&bwl_dst4_v1, &slot);
	if (m)
		id = bpf_map_lookup_elem(m, &addr);
	if (id || !c->base->has_lpm4)
		return id ? *id : 0;
	m = bpf_map_lookup_elem(&bwl_lpm4_v1, &slot);
	if (m)
		id = bpf_map_lookup_elem(m, &key);
	return id ? *id : 0;
}

/* Global to save the caller's stack: its keys are large. */
BWL_GLOBAL __u32 bwl_dest6(const struct bwl_base *base, __u32 generation,
			   const struct bwl_key6 *addr)
{
	struct bwl_key_lpm6 key = { .prefixlen = 128 };
	__u32 slot = generation, *id = 0;
	void *m = 0;

	if (!base || !addr)
		return 0;
	__builtin_memcpy(key.addr, addr->addr, 16);
	if (!(base->only_lpm & BWL_ONLY_LPM6))
		m = bpf_map_lookup_elem(&bwl_dst6_v1, &slot);
	if (m)
		id = bpf_map_lookup_elem(m, key.addr);
	if (id || !base->has_lpm6)
		return id ? *id : 0;
	m = bpf_map_lookup_elem(&bwl_lpm6_v1, &slot);
	if (m)
		id = bpf_map_lookup_elem(m, &key);
	return id ? *id : 0;
}

/*
 * The destinations of this CPU's last packets, and their peers. Valid for a generation of the
 * policy: each has its own maps, which nobody writes once they are in force.
 *
 * Programs of one CPU do not interleave here, because they run with softirqs off (except test runs
 * on old kernels, hence the order of writes). On PREEMPT_RT they do, and use the maps.
 */
struct bwl_last_dest {
	__be32 addr[4];
	__u32 generation, slot;
	__u32 id;     /* 0: free */
	__u32 family; /* IPv6 has addresses spelled like our IPv4 keys */
};
BWL_ASSERT_SIZE(struct bwl_last_dest, 32);
#define BWL_LAST_DESTS_BITS 12
struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1 << BWL_LAST_DESTS_BITS);
	__type(key, __u32);
	__type(value, struct bwl_last_dest);
} bwl_last_dest SEC(".maps");

static __always_inline __u32 bwl_dest_look(const struct bwl_ctx *c, const __be32 *addr)
{
	return c->pkt.family == 4 ? bwl_dest4(c, addr[3])
				  : bwl_dest6(c->base, c->slot, (const struct bwl_key6 *)addr);
}

static __always_inline __u32 bwl_dest(const struct bwl_ctx *c, const __be32 *addr)
{
	__u32 generation = bwl_read(c->ctl->generation), index, id;
	struct bwl_last_dest *d;

	if (bwl_on_rt())
		return bwl_dest_look(c, addr);
	index = bwl_spread(addr[3] ^ addr[2] ^ addr[1] ^ addr[0], BWL_LAST_DESTS_BITS);
	d = bpf_map_lookup_elem(&bwl_last_dest, &index);
	if (!d)
		return bwl_dest_look(c, addr);
	id = bwl_read(d->id);
	if (id && d->addr[3] == addr[3] && d->generation == generation && d->slot == c->slot &&
	    d->family == c->pkt.family && d->addr[0] == addr[0] && d->addr[1] == addr[1] &&
	    d->addr[2] == addr[2])
		return id;
	id = bwl_dest_look(c, addr);
	if (id) {
		bwl_write(d->id, 0);
		bwl_write(d->addr[0], addr[0]);
		bwl_write(d->addr[1], addr[1]);
		bwl_write(d->addr[2], addr[2]);
		bwl_write(d->addr[3], addr[3]);
		bwl_write(d->generation, generation);
		bwl_write(d->slot, c->slot);
		bwl_write(d->family, c->pkt.family);
		bwl_write(d->id, id);
	}
	return id;
}

/*
 * Prefetches what the packet will need of this peer later: for a peer that is in no cache, each
 * line would otherwise be waited for in turn.
 */
static __always_inline void bwl_fetch(__u32 id)
{
	struct bwl_peer_count *n = bpf_map_lookup_elem(&bwl_peercnt_v1, &id);
	struct bwl_state *s = bwl_state_of(bwl_grant_state(id));

	if (s)
		bwl_read(s->finish_bytes);
	if (n)
		bwl_read(n->frames);
}

/* Fills c->id and c->peer; checks revocation. */
static __always_inline int bwl_granted(struct bwl_ctx *c, __u32 id)
{
	const struct bwl_peer_meta *m;
	struct bwl_peer_ref *g;

	if (!id)
		return BWL_R_NO_PEER;
	g = bpf_map_lookup_elem(&bwl_gate_v1, &id);
	if (!g)
		return BWL_R_NO_PEER;
	c->id = id;
	bwl_fetch(id);
	c->peer = bwl_inner(&bwl_peer_v1, c->slot,
			    bwl_read(*bwl_body_of(g, bwl_mask(c->slot, BWL_GENERATIONS - 1))));
	if (!c->peer)
		return BWL_R_NO_PEER;
	m = &c->peer->meta;
	if (!(m->flags & BWL_PEER_GRANT))
		return BWL_R_NO_GRANT;
	if (bwl_is_revoked_by(m->grant_seq, bwl_read(g->revoked)) ||
	    bwl_is_revoked_by(m->grant_seq, bwl_read(c->ctl->revoked_all)))
		return BWL_R_REVOKED;
	return BWL_R_NONE;
}

/* The same, and expiry, the end of a trial, and silence. */
static __always_inline int bwl_grant(struct bwl_ctx *c, __u32 id)
{
	int r = bwl_granted(c, id);

	if (r != BWL_R_NONE)
		return r;
	if (bwl_likely(!bwl_is_over(&c->w, c->ctl, c->base, c->peer)))
		return BWL_R_NONE;
	bwl_exact(&c->w);
	if (bwl_is_over(&c->w, c->ctl, c->base, c->peer)) {
		c->lapsed = 1;
		if (!c->peer->grant.volume.floor)
			return bwl_over_reason(&c->w, c->ctl, c->peer);
	}
	return BWL_R_NONE;
}

/* The next hop for c->peer: a clear peer's `via`, or an encrypted one's DPU. */
static __always_inline const struct bwl_nexthop *bwl_nexthop_of(const struct bwl_ctx *c)
{
	return &c->base->nexthop[bwl_mask(c->peer->meta.nexthop, BWL_MAX_NEXTHOPS - 1)];
}

#endif
