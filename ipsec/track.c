// SPDX-License-Identifier: GPL-2.0-or-later
/* The table of what the kernel holds for each peer, and the writer of bwl_tunnel_v1. */
#include <errno.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>
#include "track.h"

struct peer_sas {
	uint32_t id;
	struct bwl_xfrm_sa *sa;
	struct bwl_xfrm_policy *policy;
	uint32_t nsa, npolicy;
	struct bwl_xfrm_addr remote;
	uint32_t uplink; /* ifindex */
	struct bwl_track_way way;
	bool encrypted, dirty;
	struct bwl_track_verdict now, next;
};

struct bwl_track {
	uint32_t max_peers;
	struct bwl_tunnel *map;
	bwl_track_fn fn;
	void *arg;
	struct peer_sas **by_id;          /* [max_peers] */
	struct peer_sas **peers, **dirty; /* [room] */
	uint32_t npeers, ndirty, room;
	struct bwl_xfrm_policy
		*dev; /* policies in a device that drop everything, or let cleartext out */
	uint32_t ndev;
	uint32_t stamp; /* of the current or last dump */
	bool unsure;
};

static void set_dirty(struct bwl_track *t, struct peer_sas *s)
{
	if (!s->dirty)
		t->dirty[t->ndirty++] = s;
	s->dirty = true;
}

static int grow(struct bwl_track *t)
{
	uint32_t room = t->room ? 2 * t->room : 64;
	struct peer_sas **a = reallocarray(t->peers, room, sizeof(*a)), **b;

	if (!a)
		return -ENOMEM;
	t->peers = a;
	b = reallocarray(t->dirty, room, sizeof(*b));
	if (!b)
		return -ENOMEM;
	t->dirty = b;
	t->room = room;
	return 0;
}

/* *ret is NULL, and the result 0, for an id that belongs to no peer. */
static int peer_of(struct bwl_track *t, uint32_t id, struct peer_sas **ret)
{
	*ret = id && id < t->max_peers ? t->by_id[id] : NULL;
	if (*ret || !id || id >= t->max_peers)
		return 0;
	if (t->npeers == t->room && grow(t))
		return -ENOMEM;
	*ret = calloc(1, sizeof(**ret));
	if (!*ret)
		return -ENOMEM;
	(*ret)->id = id;
	(*ret)->now.why = BWL_TRACK_NO_SA;
	t->by_id[id] = t->peers[t->npeers++] = *ret;
	return 0;
}

int bwl_track_new(uint32_t max_peers, struct bwl_tunnel *map, bwl_track_fn fn, void *arg,
		  struct bwl_track **ret)
{
	struct bwl_track *t = calloc(1, sizeof(*t));
	struct peer_sas *s;
	int r = 0;

	if (!t)
		return -ENOMEM;
	*t = (struct bwl_track){ .max_peers = max_peers, .map = map, .fn = fn, .arg = arg };
	t->by_id = calloc(max_peers, sizeof(struct peer_sas *));
	if (!t->by_id)
		r = -ENOMEM;
	/* also check what another tracker left open */
	for (uint32_t id = 1; !r && map && id < max_peers; id++) {
		if (!map[id].flags && !map[id].offload)
			continue;
		r = peer_of(t, id, &s);
		if (!r)
			set_dirty(t, s);
	}
	if (r) {
		bwl_track_free(t);
		return r;
	}
	*ret = t;
	return 0;
}

void bwl_track_free(struct bwl_track *t)
{
	if (!t)
		return;
	for (uint32_t i = 0; i < t->npeers; i++) {
		free(t->peers[i]->sa);
		free(t->peers[i]->policy);
		free(t->peers[i]);
	}
	free(t->peers);
	free(t->dirty);
	free(t->by_id);
	free(t->dev);
	free(t);
}

int bwl_track_peer(struct bwl_track *t, uint32_t id, const struct bwl_xfrm_addr *remote,
		   uint32_t uplink)
{
	struct peer_sas *s;
	int r;

	if (!remote && (id >= t->max_peers || !t->by_id[id]))
		return 0;
	r = peer_of(t, id, &s);
	if (r || !s)
		return r;
	if (s->encrypted == (remote != NULL) && s->uplink == uplink &&
	    (!remote || bwl_xfrm_addr_is(&s->remote, remote)))
		return 0;
	s->encrypted = remote;
	s->uplink = uplink;
	if (remote)
		s->remote = *remote;
	set_dirty(t, s);
	return 0;
}

int bwl_track_way(struct bwl_track *t, uint32_t id, const struct bwl_track_way *way)
{
	struct peer_sas *s;
	int r = peer_of(t, id, &s);

	if (r || !s)
		return r;
	if (s->way.wanted == way->wanted && s->way.host == way->host &&
	    s->way.uplink == way->uplink && s->way.next_mac == way->next_mac)
		return 0;
	s->way = *way;
	set_dirty(t, s);
	return 0;
}

void bwl_track_recheck(struct bwl_track *t)
{
	for (uint32_t i = 0; i < t->npeers; i++)
		set_dirty(t, t->peers[i]);
}

static struct bwl_xfrm_sa *find_sa(const struct peer_sas *s, const struct bwl_xfrm_sa *sa)
{
	for (uint32_t i = 0; i < s->nsa; i++)
		if (s->sa[i].spi == sa->spi && s->sa[i].proto == sa->proto &&
		    bwl_xfrm_addr_is(&s->sa[i].dst, &sa->dst))
			return &s->sa[i];
	return NULL;
}

static int add_sa(struct bwl_track *t, struct peer_sas *s, const struct bwl_xfrm_sa *sa)
{
	struct bwl_xfrm_sa *at = find_sa(s, sa), *more;

	if (!at) {
		more = reallocarray(s->sa, s->nsa + 1, sizeof(*more));
		if (!more)
			return -ENOMEM;
		s->sa = more;
		at = &more[s->nsa++];
	}
	*at = *sa;
	at->stamp = t->stamp;
	return 0;
}

static struct bwl_xfrm_policy *find_policy(struct bwl_xfrm_policy *all, uint32_t n, uint32_t index)
{
	for (uint32_t i = 0; i < n; i++)
		if (all[i].index == index)
			return &all[i];
	return NULL;
}

static int add_policy(struct bwl_xfrm_policy **all, uint32_t *n, const struct bwl_xfrm_policy *p,
		      uint32_t stamp)
{
	struct bwl_xfrm_policy *at = find_policy(*all, *n, p->index), *more;

	if (!at) {
		more = reallocarray(*all, *n + 1, sizeof(*more));
		if (!more)
			return -ENOMEM;
		*all = more;
		at = &more[(*n)++];
	}
	*at = *p;
	at->stamp = stamp;
	return 0;
}

static void remove_policy(struct bwl_xfrm_policy *all, uint32_t *n, uint32_t index)
{
	struct bwl_xfrm_policy *p = find_policy(all, *n, index);

	if (!p)
		return;
	(*n)--;
	*p = p[*n - (p - all)]; /* the last one takes its place */
}

/* A device does not know if_id, so it does not matter whose policy it is. */
static int device_news(struct bwl_track *t, const struct bwl_xfrm_msg *m)
{
	const struct bwl_xfrm_policy *p = &m->policy;

	bool matters = bwl_xfrm_is_device_block(p) || bwl_xfrm_is_device_leak(p);

	if (!find_policy(t->dev, t->ndev, p->index) && !matters)
		return 0;
	bwl_track_recheck(t);
	if (m->kind == BWL_XFRM_POLICY && matters)
		return add_policy(&t->dev, &t->ndev, p, t->stamp);
	remove_policy(t->dev, &t->ndev, p->index);
	return 0;
}

static bool drops_rest(const struct bwl_track *t, uint32_t ifindex)
{
	bool has[2] = { false, false };

	for (uint32_t i = 0; i < t->ndev; i++) {
		if (t->dev[i].offload_ifindex != ifindex)
			continue;
		if (!t->dev[i].block)
			return false; /* whether it comes before or after them does not matter */
		has[t->dev[i].sel_src.family == AF_INET6] = true;
	}
	return has[0] && has[1];
}

static void flush(struct bwl_track *t, bool sas, uint8_t proto)
{
	if (!sas)
		t->ndev = 0;
	for (uint32_t i = 0; i < t->npeers; i++) {
		struct peer_sas *s = t->peers[i];

		if (!(sas ? s->nsa : s->npolicy))
			continue;
		set_dirty(t, s);
		if (!sas)
			s->npolicy = 0;
		for (uint32_t k = s->nsa; sas && k-- > 0;)
			if (!proto || s->sa[k].proto == proto)
				s->sa[k] = s->sa[--s->nsa];
	}
}

/* Returns 0 also if the object does not exist (any more). */
static int one_news(struct bwl_track *t, struct peer_sas *s, const struct bwl_xfrm_msg *m)
{
	struct bwl_xfrm_sa *sa;

	set_dirty(t, s);
	switch (m->kind) {
	case BWL_XFRM_SA:
		return add_sa(t, s, &m->sa);
	case BWL_XFRM_SA_GONE:
		sa = find_sa(s, &m->sa);
		if (sa) {
			s->nsa--;
			*sa = sa[s->nsa - (sa - s->sa)]; /* the last one takes its place */
		}
		return 0;
	case BWL_XFRM_POLICY:
		return add_policy(&s->policy, &s->npolicy, &m->policy, t->stamp);
	default:
		remove_policy(s->policy, &s->npolicy, m->policy.index);
		return 0;
	}
}

int bwl_track_news(struct bwl_track *t, const struct bwl_xfrm_msg *m)
{
	struct peer_sas *s;
	uint32_t id;
	int r = 0;

	switch (m->kind) {
	case BWL_XFRM_OTHER:
		return 0;
	case BWL_XFRM_UNCLEAR:
		bwl_track_lost(t);
		return 0;
	case BWL_XFRM_SA_FLUSH:
		flush(t, true, m->proto);
		return 0;
	case BWL_XFRM_POLICY_FLUSH:
		flush(t, false, 0);
		bwl_track_lost(t); /* only one type was flushed: the dump shows the rest */
		return 0;
	case BWL_XFRM_SA:
	case BWL_XFRM_SA_GONE:
		if (!m->sa.spi) /* the kernel's own request for an SA */
			return 0;
		id = m->sa.peer;
		break;
	default:
		id = m->policy.peer;
		r = device_news(t, m);
	}
	/*
	 * With a plain interface the message about the end of an inbound SA does not say whose it
	 * was.
	 */
	if (!id && m->kind == BWL_XFRM_SA_GONE && m->sa.if_id == BWL_TUN_IF_ID)
		bwl_track_lost(t);
	if (!r)
		r = peer_of(t, id, &s);
	if (!r && s)
		r = one_news(t, s, m);
	if (r)
		bwl_track_lost(t);
	return r;
}

bool bwl_track_is_unsure(const struct bwl_track *t)
{
	return t->unsure;
}

void bwl_track_lost(struct bwl_track *t)
{
	t->unsure = true;
	for (uint32_t i = 0; i < t->npeers; i++)
		if (t->peers[i]->now.offload == BWL_OFFLOAD_PACKET)
			set_dirty(t, t->peers[i]);
}

void bwl_track_dump_begin(struct bwl_track *t)
{
	t->stamp++;
}

void bwl_track_dump_end(struct bwl_track *t)
{
	for (uint32_t k = t->ndev; k-- > 0;)
		if (t->dev[k].stamp != t->stamp)
			t->dev[k] = t->dev[--t->ndev];
	for (uint32_t i = 0; i < t->npeers; i++) {
		struct peer_sas *s = t->peers[i];

		for (uint32_t k = s->nsa; k-- > 0;)
			if (s->sa[k].stamp != t->stamp)
				s->sa[k] = s->sa[--s->nsa];
		for (uint32_t k = s->npolicy; k-- > 0;)
			if (s->policy[k].stamp != t->stamp)
				s->policy[k] = s->policy[--s->npolicy];
		set_dirty(t, s);
	}
	t->unsure = false;
}

/* When closing, the flags are written first, in one store. When opening, they are written last. */
static void close_entry(struct bwl_tunnel *e, const struct bwl_track_verdict *v)
{
	if (e->flags & ~v->flags)
		__atomic_store_n(&e->flags, e->flags & v->flags, __ATOMIC_SEQ_CST);
	if (e->offload > v->offload)
		__atomic_store_n(&e->offload, v->offload, __ATOMIC_SEQ_CST);
}

static void write_entry(struct bwl_tunnel *e, const struct bwl_track_verdict *v)
{
	e->overhead = v->overhead;
	e->spi_out = v->spi_out;
	e->spi_in = v->spi_in;
	e->out = v->ifindex;
	e->carried_by = v->carried_by;
	e->changes++;
	__atomic_store_n(&e->next_mac, v->next_mac, __ATOMIC_SEQ_CST);
	__atomic_store_n(&e->offload, v->offload, __ATOMIC_SEQ_CST);
	__atomic_store_n(&e->flags, v->flags, __ATOMIC_SEQ_CST);
}

static bool is_entry(const struct bwl_tunnel *e, const struct bwl_track_verdict *v)
{
	return e->flags == v->flags && e->offload == v->offload && e->overhead == v->overhead &&
	       e->spi_out == v->spi_out && e->spi_in == v->spi_in && e->out == v->ifindex &&
	       e->carried_by == v->carried_by && e->next_mac == v->next_mac;
}

static bool is_same(const struct bwl_track_verdict *a, const struct bwl_track_verdict *b)
{
	return a->flags == b->flags && a->offload == b->offload && a->overhead == b->overhead &&
	       a->spi_out == b->spi_out && a->spi_in == b->spi_in && a->why == b->why &&
	       a->alarm == b->alarm && a->carried_by == b->carried_by &&
	       bwl_xfrm_addr_is(&a->other, &b->other);
}

/* What depends on the device and the ports. */
static void judge_device(const struct bwl_track *t, const struct peer_sas *s,
			 struct bwl_track_verdict *v)
{
	bool packet = v->offload == BWL_OFFLOAD_PACKET;

	if (t->unsure && packet)
		v->offload = BWL_OFFLOAD_NONE;
	if (v->offload == BWL_OFFLOAD_PACKET && s->uplink && v->ifindex == s->uplink &&
	    drops_rest(t, s->uplink))
		v->flags |= BWL_TUN_BENEATH;
	if (!s->encrypted || !s->way.wanted)
		return;
	v->next_mac = s->way.next_mac;
	v->carried_by = !(v->flags & BWL_TUN_SA)                ? BWL_CARRIED_NO_SA
			: !packet                               ? BWL_CARRIED_NOT_PACKET
			: t->unsure                             ? BWL_CARRIED_UNSURE
			: !s->uplink || v->ifindex != s->uplink ? BWL_CARRIED_OTHER_DEV
			: !(v->flags & BWL_TUN_BENEATH)         ? BWL_CARRIED_NO_BENEATH
			: !s->way.uplink                        ? BWL_CARRIED_UPLINK
			: !s->way.host                          ? BWL_CARRIED_HOST
			: !s->way.next_mac                      ? BWL_CARRIED_NEIGHBOUR
								: BWL_CARRIED_XDP;
	if (v->carried_by == BWL_CARRIED_XDP)
		v->flags |= BWL_TUN_XDP;
}

uint32_t bwl_track_settle(struct bwl_track *t, uint64_t now_s)
{
	uint32_t i, written = 0;

	for (i = 0; i < t->ndirty; i++) {
		struct peer_sas *s = t->dirty[i];
		struct bwl_track_found f = { s->sa, s->policy, s->nsa, s->npolicy };

		bwl_track_judge(&f, s->encrypted ? &s->remote : NULL, now_s, &s->next);
		judge_device(t, s, &s->next);
		if (t->map)
			close_entry(&t->map[s->id], &s->next);
	}
	for (i = 0; i < t->ndirty; i++) {
		struct peer_sas *s = t->dirty[i];
		bool changed = !is_same(&s->now, &s->next);

		s->dirty = false;
		s->now = s->next;
		if (t->map && !is_entry(&t->map[s->id], &s->now)) {
			write_entry(&t->map[s->id], &s->now);
			written++;
		}
		if (changed && t->fn)
			t->fn(s->id, &s->now, t->arg);
	}
	t->ndirty = 0;
	return written;
}

bool bwl_track_get(const struct bwl_track *t, uint32_t id, struct bwl_track_verdict *ret)
{
	const struct peer_sas *s = id && id < t->max_peers ? t->by_id[id] : NULL;

	if (!s || !(s->encrypted || s->nsa || s->npolicy))
		return false;
	*ret = s->now;
	return true;
}
