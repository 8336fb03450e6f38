// SPDX-License-Identifier: GPL-2.0-or-later
/* Copies one map's content into a map of another shape: see relayout.h. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <bwl/inner.h>
#include <bwl/map_io.h>
#include "relayout.h"

static bool is_percpu(uint32_t type)
{
	return type == BPF_MAP_TYPE_PERCPU_ARRAY || type == BPF_MAP_TYPE_PERCPU_HASH;
}

struct copy {
	int from, to;
	struct bwl_shape a, b;
	uint8_t *had, *has;    /* one value of each map; for per-CPU maps of all CPUs */
	size_t a_step, b_step; /* bytes per CPU */
	int cpus;
};

static int copy_entry(const struct copy *c, const void *key)
{
	size_t n = c->a.value_bytes < c->b.value_bytes ? c->a.value_bytes : c->b.value_bytes;
	int i;

	if (bwl_map_get(c->from, key, c->had))
		return errno == ENOENT ? 0 : -errno;
	for (i = 0; i < c->cpus; i++)
		memcpy(c->has + (size_t)i * c->b_step, c->had + (size_t)i * c->a_step, n);
	return bwl_map_put(c->to, key, c->has, 0) ? -errno : 0;
}

static int copy_keys(const struct copy *c)
{
	uint8_t *key = calloc(2, c->a.key_bytes), *at = NULL;
	int r = key ? 0 : -ENOMEM;

	while (!r && !(r = bwl_map_next(c->from, at, key + c->a.key_bytes))) {
		at = key;
		memcpy(key, key + c->a.key_bytes, c->a.key_bytes);
		r = copy_entry(c, key);
	}
	free(key);
	return r == -ENOENT ? 0 : r;
}

static int copy_values(struct copy *c)
{
	uint32_t i, n = c->a.entries < c->b.entries ? c->a.entries : c->b.entries;
	bool array = c->a.type == BPF_MAP_TYPE_ARRAY || c->a.type == BPF_MAP_TYPE_PERCPU_ARRAY;
	int r = 0;

	c->cpus = is_percpu(c->a.type) ? libbpf_num_possible_cpus() : 1;
	c->a_step = (c->a.value_bytes + 7) / 8 * 8;
	c->b_step = (c->b.value_bytes + 7) / 8 * 8;
	if (c->cpus < 1)
		return c->cpus ? c->cpus : -EINVAL;
	c->had = calloc((size_t)c->cpus, c->a_step);
	c->has = calloc((size_t)c->cpus, c->b_step);
	if (!c->had || !c->has)
		r = -ENOMEM;
	else if (!array)
		r = copy_keys(c);
	else
		for (i = 0; !r && i < n; i++)
			r = copy_entry(c, &i);
	free(c->had);
	free(c->has);
	return r;
}

static int copy_inner(const char *dir, int from, int to, uint32_t slot,
		      const struct bwl_shape *inner)
{
	LIBBPF_OPTS(bpf_map_create_opts, o, .map_flags = inner->flags);
	struct bwl_shape a;
	int fd, r = bwl_shape_of(from, &a);

	if (r)
		return r;
	fd = bwl_map_create(inner->type, "bwl_inner", inner->key_bytes, inner->value_bytes,
			    a.entries, &o);
	if (fd < 0)
		return -errno;
	r = bwl_relayout_copy(dir, from, fd, NULL);
	if (!r)
		r = bwl_inner_pin(dir, fd);
	if (!r && bwl_map_put(to, &slot, &fd, 0))
		r = -errno;
	close(fd);
	return r;
}

static int copy_generations(const char *dir, int from, int to, const struct bwl_shape *inner)
{
	uint32_t slot;
	int fd, r = 0;

	for (slot = 0; !r && slot < BWL_GENERATIONS; slot++) {
		fd = bwl_inner_open(dir, from, slot, false);
		if (fd == -ENOENT)
			continue;
		if (fd < 0)
			return fd;
		r = copy_inner(dir, fd, to, slot, inner);
		close(fd);
	}
	return r;
}

int bwl_relayout_copy(const char *dir, int from, int to, const struct bwl_shape *inner)
{
	struct copy c = { .from = from, .to = to };
	int r = bwl_shape_of(from, &c.a);

	if (!r)
		r = bwl_shape_of(to, &c.b);
	if (r)
		return r;
	if (c.a.type != c.b.type || c.a.key_bytes != c.b.key_bytes)
		return -EINVAL;
	if (c.a.type == BPF_MAP_TYPE_RINGBUF)
		return 0;
	if (c.a.type == BPF_MAP_TYPE_ARRAY_OF_MAPS)
		return inner ? copy_generations(dir, from, to, inner) : -EINVAL;
	return copy_values(&c);
}
