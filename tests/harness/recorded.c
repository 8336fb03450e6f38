// SPDX-License-Identifier: GPL-2.0-or-later
/* See recorded.h. */
#include <dirent.h>
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <bwl/inner.h>
#include "recorded.h"

#define GAP 8 /* so many zeros begin another piece */

static int failed(const char *what, const char *name)
{
	int err = errno ? errno : EBADMSG;

	fprintf(stderr, "%s %s: %s\n", what, name, strerror(err));
	return -err;
}

static bool is_percpu(uint32_t type)
{
	return type == BPF_MAP_TYPE_PERCPU_ARRAY || type == BPF_MAP_TYPE_PERCPU_HASH;
}

static bool is_array(uint32_t type)
{
	return type == BPF_MAP_TYPE_ARRAY || type == BPF_MAP_TYPE_PERCPU_ARRAY;
}

static int cpus_of(const struct bwl_shape *s)
{
	return is_percpu(s->type) ? libbpf_num_possible_cpus() : 1;
}

static size_t step_of(const struct bwl_shape *s)
{
	return (s->value_bytes + 7) / 8 * 8;
}

static void put_hex(FILE *to, const uint8_t *at, size_t n)
{
	while (n--)
		fprintf(to, "%02x", *at++);
}

/* The end of the piece that begins at i: before the next GAP zeros. */
static size_t piece_end(const uint8_t *v, size_t i, size_t n)
{
	size_t end = i;

	for (; i < n && i < end + GAP; i++)
		if (v[i])
			end = i + 1;
	return end;
}

static void put_value(FILE *to, const uint8_t *key, size_t key_bytes, int cpu, const uint8_t *v,
		      size_t n)
{
	size_t i, end;
	bool begun = false;

	for (i = 0; i < n; i = end) {
		end = i + 1;
		if (!v[i])
			continue;
		end = piece_end(v, i, n);
		if (!begun) {
			fputs("e ", to);
			put_hex(to, key, key_bytes);
			if (cpu >= 0)
				fprintf(to, " c%d", cpu);
		}
		begun = true;
		fprintf(to, " %zu:", i);
		put_hex(to, v + i, end - i);
	}
	if (begun)
		fputc('\n', to);
}

static void put_entry(FILE *to, int fd, const struct bwl_shape *s, const uint8_t *key, uint8_t *v)
{
	int i, n = cpus_of(s);

	if (bpf_map_lookup_elem(fd, key, v))
		return;
	for (i = 0; i < n; i++)
		put_value(to, key, s->key_bytes, is_percpu(s->type) ? i : -1,
			  v + (size_t)i * step_of(s), s->value_bytes);
}

static int put_entries(FILE *to, int fd, const struct bwl_shape *s)
{
	uint8_t *v = calloc((size_t)cpus_of(s), step_of(s)), *key = calloc(2, s->key_bytes);
	uint8_t *at = NULL;
	uint32_t i;

	if (!v || !key)
		abort();
	for (i = 0; is_array(s->type) && i < s->entries; i++)
		put_entry(to, fd, s, (uint8_t *)&i, v);
	while (!is_array(s->type) && !bpf_map_get_next_key(fd, at, key + s->key_bytes)) {
		memcpy(key, key + s->key_bytes, s->key_bytes);
		at = key;
		put_entry(to, fd, s, key, v);
	}
	free(v);
	free(key);
	return 0;
}

static void put_shape(FILE *to, const struct bwl_shape *s)
{
	fprintf(to, " %u %u %u %u %u\n", s->type, s->flags, s->key_bytes, s->value_bytes,
		s->entries);
}

static int put_map(FILE *to, const char *dir, const char *name)
{
	struct bwl_shape s, in;
	char path[600];
	uint32_t slot;
	int fd, inner;

	snprintf(path, sizeof(path), "%s/maps/%s", dir, name);
	fd = bpf_obj_get(path);
	if (fd < 0 || bwl_shape_of(fd, &s))
		return failed("cannot open", path);
	fprintf(to, "map %s", name);
	put_shape(to, &s);
	for (slot = 0; s.type == BPF_MAP_TYPE_ARRAY_OF_MAPS && slot < s.entries; slot++) {
		inner = bwl_inner_open(dir, fd, slot, false);
		if (inner == -ENOENT)
			continue;
		if (inner < 0 || bwl_shape_of(inner, &in))
			return failed("cannot open a map of", path);
		fprintf(to, "inner %u", slot);
		put_shape(to, &in);
		put_entries(to, inner, &in);
		close(inner);
	}
	if (s.type != BPF_MAP_TYPE_ARRAY_OF_MAPS && s.type != BPF_MAP_TYPE_RINGBUF)
		put_entries(to, fd, &s);
	close(fd);
	return 0;
}

int recorded_write(const char *dir, FILE *to)
{
	struct dirent **f;
	struct timespec t;
	char path[300];
	int i, n, r = 0;

	snprintf(path, sizeof(path), "%s/maps", dir);
	n = scandir(path, &f, NULL, alphasort);
	if (n < 0)
		return failed("cannot read", path);
	clock_gettime(CLOCK_BOOTTIME, &t);
	fprintf(to, "time %llu\n",
		(unsigned long long)t.tv_sec * 1000000000ULL + (unsigned long long)t.tv_nsec);
	for (i = 0; i < n; i++) {
		if (!r && f[i]->d_name[0] != '.')
			r = put_map(to, dir, f[i]->d_name);
		free(f[i]);
	}
	free(f);
	return r;
}

/* A map that is being read: the pinned one, and if that is an array of maps, an inner one. */
struct reading {
	const char *dir;
	char name[64];
	struct bwl_shape outer, in;
	uint32_t slot;
	int fd, inner; /* -1: none yet */
};

static int create(const char *name, const struct bwl_shape *s, int inner)
{
	LIBBPF_OPTS(bpf_map_create_opts, o, .map_flags = s->flags,
		    .inner_map_fd = inner < 0 ? 0 : (uint32_t)inner);

	return bpf_map_create(s->type, name, s->key_bytes, s->value_bytes, s->entries, &o);
}

static int end_inner(struct reading *x)
{
	int r;

	if (x->inner < 0)
		return 0;
	if (x->fd < 0)
		x->fd = create(x->name, &x->outer, x->inner);
	if (x->fd < 0)
		return failed("cannot make", x->name);
	r = bwl_inner_pin(x->dir, x->inner);
	if (r || bpf_map_update_elem(x->fd, &x->slot, &x->inner, 0))
		return failed("cannot fill", x->name);
	close(x->inner);
	x->inner = -1;
	return 0;
}

static int end_map(struct reading *x)
{
	char path[600];
	int r = end_inner(x);

	if (r || !x->name[0])
		return r;
	snprintf(path, sizeof(path), "%s/maps/%s", x->dir, x->name);
	if (x->fd < 0 || bpf_obj_pin(x->fd, path))
		return failed("cannot pin", path);
	close(x->fd);
	x->fd = -1;
	x->name[0] = '\0';
	return 0;
}

static int take_shape(const char *at, struct bwl_shape *ret)
{
	return sscanf(at, "%u %u %u %u %u", &ret->type, &ret->flags, &ret->key_bytes,
		      &ret->value_bytes, &ret->entries) == 5
		       ? 0
		       : -EBADMSG;
}

static int begin_map(struct reading *x, const char *line)
{
	int r = end_map(x), at = 0;

	if (r)
		return r;
	if (sscanf(line, "map %63s %n", x->name, &at) != 1 || take_shape(line + at, &x->outer))
		return -EBADMSG;
	if (x->outer.type != BPF_MAP_TYPE_ARRAY_OF_MAPS)
		x->fd = create(x->name, &x->outer, -1);
	return x->fd < 0 && x->outer.type != BPF_MAP_TYPE_ARRAY_OF_MAPS
		       ? failed("cannot make", x->name)
		       : 0;
}

static int begin_inner(struct reading *x, const char *line)
{
	int r = end_inner(x), at = 0;

	if (r)
		return r;
	if (sscanf(line, "inner %u %n", &x->slot, &at) != 1 || take_shape(line + at, &x->in))
		return -EBADMSG;
	x->inner = create("recorded", &x->in, -1);
	return x->inner < 0 ? failed("cannot make a map of", x->name) : 0;
}

static const char *take_hex(const char *at, uint8_t *to, size_t room)
{
	unsigned byte;

	for (; room && sscanf(at, "%2x", &byte) == 1 && *at != ' '; at += 2, room--)
		*to++ = (uint8_t)byte;
	return at;
}

static int take_entry(struct reading *x, const char *line)
{
	const struct bwl_shape *s = x->inner < 0 ? &x->outer : &x->in;
	int fd = x->inner < 0 ? x->fd : x->inner, cpu = 0, n, cpus = cpus_of(s), r = 0;
	uint8_t key[64] = { 0 }, *v, *one;
	size_t offset;

	if (fd < 0 || s->key_bytes > sizeof(key))
		return -EBADMSG;
	v = calloc((size_t)cpus, step_of(s));
	if (!v)
		abort();
	line = take_hex(line + 2, key, s->key_bytes);
	if (is_percpu(s->type) && sscanf(line, " c%d%n", &cpu, &n) == 1)
		line += n;
	if (cpu >= 0 && cpu < cpus) {
		bpf_map_lookup_elem(fd, key, v); /* of the CPUs before */
		one = v + (size_t)cpu * step_of(s);
		while (!r && sscanf(line, " %zu:%n", &offset, &n) == 1) {
			r = offset < s->value_bytes ? 0 : -EBADMSG;
			if (!r)
				line = take_hex(line + n, one + offset, s->value_bytes - offset);
		}
		if (!r && bpf_map_update_elem(fd, key, v, 0))
			r = failed("cannot fill", x->name);
	}
	free(v);
	return r;
}

int recorded_read(const char *dir, FILE *from, uint64_t *ret_ns)
{
	struct reading x = { .dir = dir, .fd = -1, .inner = -1 };
	unsigned long long ns = 0;
	char *line = NULL;
	size_t room = 0;
	int r = 0;

	while (!r && getline(&line, &room, from) > 0) {
		if (!strncmp(line, "map ", 4))
			r = begin_map(&x, line);
		else if (!strncmp(line, "inner ", 6))
			r = begin_inner(&x, line);
		else if (!strncmp(line, "e ", 2))
			r = take_entry(&x, line);
		else if (*line != '#' && *line != '\n' && sscanf(line, "time %llu", &ns) != 1)
			r = -EBADMSG;
	}
	free(line);
	if (!r)
		r = end_map(&x);
	*ret_ns = ns;
	return r;
}
