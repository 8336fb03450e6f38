// SPDX-License-Identifier: GPL-2.0-or-later
/* The inner maps of one generation. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include <bpf/bpf.h>
#include <bwl/tables.h>
#include <bwl/generation.h>
#include <bwl/group.h>
#include <bwl/inner.h>
#include <bwl/map_io.h>
#include <bwl/pages.h>
#include <bwl/reader.h>
#include "mapped.h"

/* NULL: see errno. */
static void *map_array(const struct bwl_gen *g, size_t bytes, int fd, bool few)
{
	size_t all = bwl_page_round(bytes, bwl_page_bytes());
	void *m = few ? bwl_reserve(all) : bwl_map_array(fd, all, g->writable, g->copied);

	return m == MAP_FAILED ? NULL : m;
}

static int map_arrays(struct bwl_gen *g, struct bwl_err *e)
{
	g->base = map_array(g, sizeof(*g->base), g->base_fd, false);
	g->peer = map_array(g, g->npeers * sizeof(*g->peer), g->peer_fd, g->few);
	g->sub = map_array(g, g->nsubs * sizeof(*g->sub), g->sub_fd, g->few);
	if (!g->base || !g->peer || !g->sub)
		return bwl_fail(e, errno, "cannot map a generation's arrays: %s", strerror(errno));
	return 0;
}

static void clear(struct bwl_gen *g)
{
	memset(g, 0, sizeof(*g));
	g->dst4 = g->dst6 = g->lpm4 = g->lpm6 = g->own = -1;
	g->base_fd = g->peer_fd = g->sub_fd = -1;
}

void bwl_gen_close(struct bwl_gen *g)
{
	int *fds[] = { &g->dst4, &g->dst6,    &g->lpm4,    &g->lpm6,
		       &g->own,  &g->base_fd, &g->peer_fd, &g->sub_fd };
	size_t page = bwl_page_bytes();
	unsigned i;

	if (g->base)
		munmap(g->base, bwl_page_round(sizeof(*g->base), page));
	if (g->peer)
		munmap(g->peer, bwl_page_round(g->npeers * sizeof(*g->peer), page));
	if (g->sub)
		munmap(g->sub, bwl_page_round(g->nsubs * sizeof(*g->sub), page));
	for (i = 0; i < sizeof(fds) / sizeof(fds[0]); i++)
		if (*fds[i] >= 0)
			close(*fds[i]);
	clear(g);
}

static int open_inner(const struct bwl_pins *p, struct bwl_gen *g, struct bwl_err *e)
{
	const struct {
		enum bwl_pin pin;
		int *fd;
	} all[] = {
		{ BWL_PIN_dst4, &g->dst4 },    { BWL_PIN_dst6, &g->dst6 },
		{ BWL_PIN_lpm4, &g->lpm4 },    { BWL_PIN_lpm6, &g->lpm6 },
		{ BWL_PIN_own, &g->own },      { BWL_PIN_base, &g->base_fd },
		{ BWL_PIN_peer, &g->peer_fd }, { BWL_PIN_sub, &g->sub_fd },
	};
	unsigned i;
	int fd;

	for (i = 0; i < sizeof(all) / sizeof(all[0]); i++) {
		fd = bwl_inner_open(p->dir, p->fd[all[i].pin], g->slot, p->copied);
		if (fd == -ENOLINK) {
			bwl_fail(e, ENOLINK, "a map of the policy in force has lost its pin");
			/* A reader's may be gone alone; upgrade pins again, and loses nothing. */
			return p->copied
				       ? bwl_hint(e, "bwlimit-load upgrade, as root")
				       : bwl_hint(
						 e,
						 "bwlimit-load detach, then attach; volumes start spent");
		}
		if (fd < 0) {
			bwl_fail(e, -fd, "cannot open the policy's maps: %s", strerror(-fd));
			if (bwl_map_passes(-fd) && fd != -EAGAIN)
				bwl_map_tried(e);
			return bwl_hint(e, "try again: a policy was being replaced");
		}
		*all[i].fd = fd;
	}
	return 0;
}

static uint32_t entries_of(int fd)
{
	struct bpf_map_info info = {};
	__u32 len = sizeof(info);

	return bpf_obj_get_info_by_fd(fd, &info, &len) ? 0 : info.max_entries;
}

int bwl_gen_open(struct bwl_pins *p, uint32_t slot, struct bwl_gen *ret, struct bwl_err *e)
{
	struct bwl_gen g;
	int r;

	clear(&g);
	if (slot >= BWL_GENERATIONS) {
		bwl_fail(e, ENOENT, "no policy is in force");
		return bwl_hint(e, "bwlimit-ctl policy apply FILE");
	}
	g.slot = slot;
	g.copied = p->copied;
	r = open_inner(p, &g, e);
	if (r) {
		bwl_gen_close(&g);
		return r;
	}
	g.npeers = entries_of(g.peer_fd);
	g.nsubs = entries_of(g.sub_fd);
	g.few = p->few;
	g.writable = p->writable;
	r = map_arrays(&g, e);
	if (r) {
		bwl_gen_close(&g);
		return r;
	}
	*ret = g;
	return 0;
}

static int make(enum bwl_pin pin, uint32_t n, struct bwl_err *e)
{
	struct bwl_shape s;
	char name[BPF_OBJ_NAME_LEN];
	int fd;

	bwl_inner_shape(pin, &s);
	LIBBPF_OPTS(bpf_map_create_opts, o, .map_flags = s.flags);
	snprintf(name, sizeof(name), "%.8s", bwl_pin_name(pin)); /* without the version */
	fd = bwl_map_create(s.type, name, s.key_bytes, s.value_bytes, n ? n : 1, &o);
	if (fd < 0) {
		bwl_fail(e, -fd, "cannot make map %s of %u entries: %s", name, n, strerror(-fd));
		bwl_map_tried(e);
	}
	return fd;
}

int bwl_gen_create(uint32_t slot, const struct bwl_gen_size *n, struct bwl_gen *ret,
		   struct bwl_err *e)
{
	struct bwl_gen g;
	int r = 0;

	clear(&g);
	g.slot = slot;
	g.writable = true;
	g.npeers = n->peers + 1 + BWL_SPARE_PEERS;
	g.nsubs = n->subs + 1;
	if ((g.dst4 = make(BWL_PIN_dst4, n->dst4, e)) < 0 ||
	    (g.dst6 = make(BWL_PIN_dst6, n->dst6, e)) < 0 ||
	    (g.lpm4 = make(BWL_PIN_lpm4, n->lpm4, e)) < 0 ||
	    (g.lpm6 = make(BWL_PIN_lpm6, n->lpm6, e)) < 0 ||
	    (g.own = make(BWL_PIN_own, n->own, e)) < 0 ||
	    (g.base_fd = make(BWL_PIN_base, 1, e)) < 0 ||
	    (g.peer_fd = make(BWL_PIN_peer, g.npeers, e)) < 0 ||
	    (g.sub_fd = make(BWL_PIN_sub, g.nsubs, e)) < 0)
		r = -(e && e->code ? e->code : ENOMEM);
	if (!r)
		r = map_arrays(&g, e);
	if (r) {
		bwl_gen_close(&g);
		return r;
	}
	*ret = g;
	return 0;
}

struct outer {
	enum bwl_pin pin;
	int fd;
};

int bwl_gen_install(struct bwl_pins *p, const struct bwl_gen *g, struct bwl_err *e)
{
	const struct outer all[] = {
		{ BWL_PIN_dst4, g->dst4 },  { BWL_PIN_dst6, g->dst6 },
		{ BWL_PIN_lpm4, g->lpm4 },  { BWL_PIN_lpm6, g->lpm6 },
		{ BWL_PIN_own, g->own },    { BWL_PIN_peer, g->peer_fd },
		{ BWL_PIN_sub, g->sub_fd }, { BWL_PIN_base, g->base_fd },
	};
	struct bwl_map_place at = { .what = "the new policy's",
				    .at = g->slot + 1,
				    .of = BWL_GENERATIONS };
	unsigned i;
	int r = 0;

	for (i = 0; !r && i < sizeof(all) / sizeof(all[0]); i++)
		r = bwl_inner_pin(p->dir, all[i].fd);
	if (r) {
		bwl_fail(e, -r, "cannot pin the policy's maps below %s: %s", p->dir, strerror(-r));
		return bwl_map_passes(-r) ? bwl_map_tried(e) : bwl_group_hint(e);
	}
	for (i = 0; i < sizeof(all) / sizeof(all[0]); i++) {
		at.map = bwl_pin_name(all[i].pin);
		r = bwl_map_put(p->fd[all[i].pin], &g->slot, &all[i].fd, 0);
		if (r)
			return bwl_map_refused(e, -r, &at);
	}
	return 0;
}

int bwl_gen_drop(struct bwl_pins *p, uint32_t slot, struct bwl_err *e)
{
	static const enum bwl_pin all[] = { BWL_PIN_base, BWL_PIN_dst4, BWL_PIN_dst6, BWL_PIN_lpm4,
					    BWL_PIN_lpm6, BWL_PIN_own,  BWL_PIN_peer, BWL_PIN_sub };
	unsigned i;
	int r;

	for (i = 0; i < sizeof(all) / sizeof(all[0]); i++)
		if (bwl_map_delete(p->fd[all[i]], &slot) && errno != ENOENT) {
			bwl_fail(e, errno, "cannot drop a generation of %s: %s",
				 bwl_pin_name(all[i]), strerror(errno));
			return bwl_map_tried(e);
		}
	r = bwl_inner_sweep(p);
	return r ? bwl_fail(e, -r, "cannot unpin a generation's maps below %s: %s", p->dir,
			    strerror(-r))
		 : 0;
}

uint64_t bwl_gen_bytes(const struct bwl_gen *g)
{
	const int fds[] = { g->dst4, g->dst6,    g->lpm4,    g->lpm6,
			    g->own,  g->base_fd, g->peer_fd, g->sub_fd };
	uint64_t sum = 0;
	unsigned i;

	for (i = 0; i < sizeof(fds) / sizeof(fds[0]); i++) {
		char path[64], line[128];
		unsigned long long v;
		FILE *f;

		snprintf(path, sizeof(path), "/proc/self/fdinfo/%d", fds[i]);
		f = fopen(path, "re");
		while (f && fgets(line, sizeof(line), f))
			if (sscanf(line, "memlock: %llu", &v) == 1)
				sum += v;
		if (f)
			fclose(f);
	}
	return sum;
}

/* Walks one table; key_size 4, 16 (hashes), 8 or 20 (tries: prefix length first). */
static int walk(int fd, uint32_t key_size, bwl_dest_fn fn, void *arg)
{
	const bool trie = key_size == 8 || key_size == 20;
	uint8_t key[20], next[20];
	struct bwl_pfx pfx;
	uint32_t id;
	void *at = NULL;
	int r;

	while (!(r = bwl_map_next(fd, at, next))) {
		memcpy(key, next, sizeof(key));
		at = key;
		r = bwl_map_get(fd, key, &id);
		if (r == -ENOENT)
			continue;
		if (r)
			return r;
		memset(&pfx, 0, sizeof(pfx));
		pfx.family = key_size == 4 || key_size == 8 ? 4 : 6;
		pfx.len = pfx.family == 4 ? 32 : 128;
		if (trie) {
			uint32_t len;

			memcpy(&len, key, 4);
			pfx.len = (uint8_t)len;
		}
		memcpy(pfx.addr, key + (trie ? 4 : 0), pfx.family == 4 ? 4 : 16);
		r = fn(&pfx, id, arg);
		if (r)
			return r;
	}
	return r == -ENOENT ? 0 : r;
}

#define WALK_BATCH 4096U

/* Reads hashes in batches: a million single look-ups would take longer than loading a policy. */
static int walk_hash(int fd, uint32_t key_size, bwl_dest_fn fn, void *arg)
{
	uint8_t *keys = calloc(WALK_BATCH, key_size), token[16], *at = NULL;
	uint32_t *ids = calloc(WALK_BATCH, sizeof(*ids)), n, i;
	struct bwl_pfx pfx;
	int r = 0, err = 0;

	if (!keys || !ids)
		err = ENOMEM;
	while (!r && !err) {
		n = WALK_BATCH;
		err = -bwl_map_get_all(fd, at, token, keys, ids, &n);
		if (err && err != ENOENT)
			break;
		at = token;
		for (i = 0; !r && i < n; i++) {
			memset(&pfx, 0, sizeof(pfx));
			pfx.family = key_size == 4 ? 4 : 6;
			pfx.len = key_size == 4 ? 32 : 128;
			memcpy(pfx.addr, keys + (size_t)i * key_size, key_size);
			r = fn(&pfx, ids[i], arg);
		}
	}
	free(keys);
	free(ids);
	return r ? r : (err && err != ENOENT ? -err : 0);
}

int bwl_dest_each(const struct bwl_gen *g, bwl_dest_fn fn, void *arg)
{
	int r = walk_hash(g->dst4, 4, fn, arg);

	if (!r)
		r = walk_hash(g->dst6, 16, fn, arg);
	if (!r)
		r = walk(g->lpm4, 8, fn, arg);
	if (!r)
		r = walk(g->lpm6, 20, fn, arg);
	return r;
}

uint32_t bwl_lookup_dest(const struct bwl_gen *g, uint8_t family, const uint8_t *addr)
{
	uint8_t key[20];
	uint32_t id = 0, len = family == 4 ? 32 : 128;
	size_t n = family == 4 ? 4 : 16;

	if (!bwl_map_get(family == 4 ? g->dst4 : g->dst6, addr, &id))
		return id;
	memcpy(key, &len, 4);
	memcpy(key + 4, addr, n);
	if (!bwl_map_get(family == 4 ? g->lpm4 : g->lpm6, key, &id))
		return id;
	return 0;
}

uint32_t bwl_lookup_pfx(const struct bwl_gen *g, const struct bwl_pfx *q)
{
	uint32_t len = q->len, bits = q->family == 4 ? 32 : 128, id = 0;
	uint8_t key[20] = { 0 };

	if (len == bits)
		return bwl_lookup_dest(g, q->family, q->addr);
	memcpy(key, &len, 4);
	memcpy(key + 4, q->addr, q->family == 4 ? 4 : 16);
	return bwl_map_get(q->family == 4 ? g->lpm4 : g->lpm6, key, &id) ? 0 : id;
}

void bwl_limit_each(const struct bwl_pins *p, const struct bwl_gen *g, bwl_limit_fn fn, void *arg)
{
	const struct bwl_base *base = g->base;
	const struct bwl_peer *body;
	uint32_t i;

	for (i = 1; i < p->schema.max_peers; i++) {
		body = bwl_body(p, g, i);
		if (body)
			fn(&body->grant, bwl_grant_state(i), arg);
	}
	for (i = 1; i < g->nsubs; i++)
		if (g->sub[i].volume.state)
			fn(&g->sub[i], g->sub[i].volume.state, arg);
	for (i = 1; i < BWL_MAX_ZONES; i++)
		if (base->zone[i].name[0])
			fn(&base->zone[i].limit, base->zone[i].limit.volume.state, arg);
	for (i = 0; i < BWL_MAX_PORTS; i++) {
		if (!(base->port[i].flags & (BWL_PORT_HOST | BWL_PORT_UPLINK)))
			continue;
		fn(&base->port[i].limit, base->port[i].limit.volume.state, arg);
		fn(&base->port[i].neighbour, base->port[i].neighbour.volume.state, arg);
	}
	fn(&base->node, base->node.volume.state, arg);
}
