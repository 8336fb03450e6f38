// SPDX-License-Identifier: GPL-2.0-or-later
/* See plain.h. Linked with --wrap for the functions of the C library in here. */
#include <dirent.h>
#include <errno.h>
#include <linux/bpf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/sysinfo.h>
#include <unistd.h>
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <bwl/maps.h>
#include "plain.h"

#define MAPS_MAX 256
#define FDS_MAX 512
#define FIRST_FD 0x40000000
#define LARGE 262144U /* above, unused pages are likely: the kernel forgets them faster */

/*
 * self is first, because the programs' map definitions and the entries of an array of maps point
 * there.
 */
struct map {
	struct map *self;
	uint32_t type, flags, key_bytes, value_bytes, entries;
	uint32_t id, users; /* descriptors, arrays of maps, and pins of the list */
	uint32_t step;      /* bytes from entry to entry */
	uint32_t used;      /* hashes: so many entries, without order */
	size_t bytes;
	uint8_t *data, *keys;
};

static struct map maps[MAPS_MAX], *pinned[_BWL_PIN_MAX], *fds[FDS_MAX];
static uint32_t last_id;
/* As bwl_pin_name(), which would count as the writer's own (writers.h). */
static const char *const names[_BWL_PIN_MAX] = {
#define X(name, ...) "bwl_" #name "_v1",
	BWL_MAPS(X)
#undef X
};
/* What a process has taken that may be killed: see below. */
static bool is_process;
static struct map *mapped[MAPS_MAX];
static unsigned nmapped;
void (*plain_on_grace)(void);

void *__real_mmap(void *at, size_t n, int prot, int flags, int fd, off_t off);
int __real_munmap(void *at, size_t n);
int __real_close(int fd);

static _Noreturn void die(const char *what)
{
	fprintf(stderr, "plain: %s\n", what);
	abort();
}

/* --- memory: whole pages, which are used again */

static struct block {
	struct block *next;
	size_t bytes;
} * unused;

static uint8_t *take(size_t bytes)
{
	struct block **at, *b;
	void *new;

	for (at = &unused; (b = *at); at = &b->next)
		if (b->bytes == bytes) {
			*at = b->next;
			memset(b, 0, sizeof(*b));
			return (uint8_t *)b;
		}
	new = __real_mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (new == MAP_FAILED)
		die("no memory");
	return new;
}

static void wipe(uint8_t *data, size_t bytes)
{
	if (bytes <= LARGE || madvise(data, bytes, MADV_DONTNEED))
		memset(data, 0, bytes);
}

static void give(uint8_t *data, size_t bytes)
{
	struct block *b = (struct block *)data;

	wipe(data, bytes);
	*b = (struct block){ unused, bytes };
	unused = b;
}

/* --- maps */

static bool is_hash(const struct map *m)
{
	return m->type == BPF_MAP_TYPE_HASH || m->type == BPF_MAP_TYPE_LPM_TRIE;
}

static struct map *make(uint32_t type, uint32_t flags, uint32_t key, uint32_t value, uint32_t n)
{
	struct map *m = maps;
	size_t keys;

	while (m < maps + MAPS_MAX && m->self)
		m++;
	if (m == maps + MAPS_MAX)
		die("too many maps");
	*m = (struct map){ .self = m,
			   .type = type,
			   .flags = flags,
			   .key_bytes = key,
			   .value_bytes = value,
			   .entries = n,
			   .id = ++last_id,
			   .users = 1 };
	m->step = type == BPF_MAP_TYPE_ARRAY_OF_MAPS ? sizeof(m) : (value + 7) / 8 * 8;
	if (type == BPF_MAP_TYPE_RINGBUF)
		return m;
	keys = is_hash(m) ? (size_t)n * key : 0;
	m->bytes = ((size_t)n * m->step + keys + 4095) / 4096 * 4096;
	m->data = take(m->bytes);
	m->keys = m->data + (size_t)n * m->step;
	return m;
}

static void drop(struct map *m)
{
	if (!m || --m->users)
		return;
	if (m->type == BPF_MAP_TYPE_ARRAY_OF_MAPS)
		for (uint32_t i = 0; i < m->entries; i++)
			drop(((struct map **)m->data)[i]);
	if (m->data)
		give(m->data, m->bytes);
	m->self = NULL;
}

static struct map *hold(struct map *m)
{
	m->users++;
	return m;
}

static bool matches(const uint8_t *prefix, const uint8_t *key, uint32_t bits)
{
	uint32_t whole = bits / 8;

	return !memcmp(prefix, key, whole) &&
	       (bits % 8 == 0 || !((prefix[whole] ^ key[whole]) >> (8 - bits % 8)));
}

/* The position in a hash; -1: none. exact: a prefix itself, not the longest one around it. */
static int64_t search(const struct map *m, const void *key, bool exact)
{
	uint32_t best = 0, len, want;
	int64_t found = -1;

	for (uint32_t i = 0; i < m->used; i++) {
		const uint8_t *k = m->keys + (size_t)i * m->key_bytes;

		if (m->type == BPF_MAP_TYPE_HASH || exact) {
			if (!memcmp(k, key, m->key_bytes))
				return i;
			continue;
		}
		memcpy(&len, k, 4);
		memcpy(&want, key, 4);
		if (len <= want && (found < 0 || len > best) &&
		    matches(k + 4, (const uint8_t *)key + 4, len)) {
			best = len;
			found = i;
		}
	}
	return found;
}

static void *find(const struct map *m, const void *key, bool exact)
{
	int64_t at;
	uint32_t i;

	if (is_hash(m)) {
		at = search(m, key, exact);
		return at < 0 ? NULL : m->data + (size_t)at * m->step;
	}
	memcpy(&i, key, 4);
	if (i >= m->entries || !m->data)
		return NULL;
	if (m->type == BPF_MAP_TYPE_ARRAY_OF_MAPS)
		return ((struct map **)m->data)[i];
	return m->data + (size_t)i * m->step;
}

void *plain_find(void *map, const void *key)
{
	return find(*(struct map **)map, key, false);
}

void *plain_value(int pin, uint32_t index)
{
	return find(pinned[pin], &index, false);
}

/* --- all maps */

static size_t count_bound(void)
{
	size_t n = 0;

	while (plain_bound[n].at)
		n++;
	return n;
}

static void bind(size_t i, struct map *m)
{
	*(struct map **)plain_bound[i].at = m;
}

void plain_new_own(void)
{
	for (size_t i = _BWL_PIN_MAX; i < count_bound(); i++) {
		const struct plain_bound *b = &plain_bound[i];
		struct map *m = *(struct map **)b->at;

		if (m)
			wipe(m->data, m->bytes);
		else
			bind(i, make(b->type, 0, b->key_bytes, b->value_bytes, b->entries));
	}
}

void plain_new(const struct bwl_schema *s)
{
	for (int i = 0; i < _BWL_PIN_MAX; i++) {
		struct bwl_shape n = bwl_pin_shape((enum bwl_pin)i, s);

		drop(pinned[i]);
		pinned[i] = make(n.type, n.flags, n.key_bytes, n.value_bytes, n.entries);
		bind((size_t)i, pinned[i]);
	}
	*(struct bwl_schema *)plain_value(BWL_PIN_schema, 0) = *s;
	plain_new_own();
}

/* --- descriptors */

static int open_fd(struct map *m)
{
	for (int i = 0; i < FDS_MAX; i++)
		if (!fds[i]) {
			fds[i] = m;
			return FIRST_FD + i;
		}
	die("too many descriptors");
}

static struct map *map_of(int fd)
{
	int i = fd - FIRST_FD;

	if (i < 0 || i >= FDS_MAX || !fds[i])
		die("no such descriptor");
	return fds[i];
}

int __wrap_close(int fd);
int __wrap_close(int fd)
{
	if (fd < FIRST_FD)
		return __real_close(fd);
	drop(map_of(fd));
	fds[fd - FIRST_FD] = NULL;
	return 0;
}

static const struct map *map_at(const void *p)
{
	for (const struct map *m = maps; m < maps + MAPS_MAX; m++)
		if (m->self && m->data == p)
			return m;
	return NULL;
}

void *__wrap_mmap(void *at, size_t n, int prot, int flags, int fd, off_t off);
void *__wrap_mmap(void *at, size_t n, int prot, int flags, int fd, off_t off)
{
	if (fd < FIRST_FD)
		return __real_mmap(at, n, prot, flags, fd, off);
	if (at || off || n > map_of(fd)->bytes)
		die("a mapping that it does not know");
	if (is_process)
		mapped[nmapped++ % MAPS_MAX] = map_of(fd);
	return hold(map_of(fd))->data; /* until it is unmapped */
}

int __wrap_munmap(void *at, size_t n);
int __wrap_munmap(void *at, size_t n)
{
	const struct map *m = map_at(at);

	if (!m)
		return __real_munmap(at, n);
	for (unsigned i = 0; is_process && i < nmapped; i++)
		if (mapped[i] == m) {
			mapped[i] = mapped[--nmapped];
			break;
		}
	drop(m->self);
	return 0;
}

/* --- a process that is killed */

#define TAKEN_MAX 4096
static void *taken[TAKEN_MAX];
static unsigned ntaken;
static struct map *fds_before[FDS_MAX];

void *__real_malloc(size_t n);
void *__real_calloc(size_t n, size_t size);
void *__real_realloc(void *p, size_t n);
void *__real_reallocarray(void *p, size_t n, size_t size);
void __real_free(void *p);

static void *note(void *p)
{
	if (is_process && p) {
		if (ntaken == TAKEN_MAX)
			die("too much memory taken");
		taken[ntaken++] = p;
	}
	return p;
}

static void forget(const void *p)
{
	for (unsigned i = ntaken; is_process && p && i-- > 0;)
		if (taken[i] == p) {
			taken[i] = taken[--ntaken];
			return;
		}
}

void *__wrap_malloc(size_t n);
void *__wrap_malloc(size_t n)
{
	return note(__real_malloc(n));
}

void *__wrap_calloc(size_t n, size_t size);
void *__wrap_calloc(size_t n, size_t size)
{
	return note(__real_calloc(n, size));
}

void *__wrap_realloc(void *p, size_t n);
void *__wrap_realloc(void *p, size_t n)
{
	forget(p);
	return note(__real_realloc(p, n));
}

void *__wrap_reallocarray(void *p, size_t n, size_t size);
void *__wrap_reallocarray(void *p, size_t n, size_t size)
{
	forget(p);
	return note(__real_reallocarray(p, n, size));
}

void __wrap_free(void *p);
void __wrap_free(void *p)
{
	forget(p);
	__real_free(p);
}

/* There is one at a time. */
static DIR *folder;

DIR *__real_opendir(const char *path);
int __real_closedir(DIR *d);

DIR *__wrap_opendir(const char *path);
DIR *__wrap_opendir(const char *path)
{
	return folder = __real_opendir(path);
}

int __wrap_closedir(DIR *d);
int __wrap_closedir(DIR *d)
{
	folder = NULL;
	return __real_closedir(d);
}

void plain_process_begins(void)
{
	memcpy(fds_before, fds, sizeof(fds));
	ntaken = nmapped = 0;
	is_process = true;
}

void plain_process_returns(void)
{
	is_process = false;
}

void plain_process_ends(void)
{
	is_process = false;
	while (ntaken)
		__real_free(taken[--ntaken]);
	for (int i = 0; i < FDS_MAX; i++)
		if (fds[i] && fds[i] != fds_before[i])
			__wrap_close(FIRST_FD + i);
	while (nmapped)
		drop(mapped[--nmapped]);
	if (folder)
		__wrap_closedir(folder);
}

/* --- libbpf */

static int failed(int err)
{
	errno = err;
	return -err;
}

int libbpf_num_possible_cpus(void)
{
	static int n;

	return n ? n : (n = get_nprocs_conf());
}

int bpf_map_create(enum bpf_map_type type, const char *name, __u32 key, __u32 value, __u32 n,
		   const struct bpf_map_create_opts *o)
{
	(void)name;
	return open_fd(make(type, o ? o->map_flags : 0, key, value, n));
}

int bpf_obj_pin(int fd, const char *path)
{
	(void)path; /* what an array of maps leads to is found by its id */
	return map_of(fd) ? 0 : -1;
}

int bpf_obj_get(const char *path)
{
	const char *file = strrchr(path, '/') + 1;
	uint32_t id = (uint32_t)strtoul(file, NULL, 10);

	for (int i = 0; i < _BWL_PIN_MAX; i++)
		if (!strcmp(file, names[i]))
			return open_fd(hold(pinned[i]));
	for (struct map *m = maps; id && m < maps + MAPS_MAX; m++)
		if (m->self && m->id == id)
			return open_fd(hold(m));
	return failed(ENOENT);
}

int bpf_obj_get_info_by_fd(int fd, void *info, __u32 *len)
{
	const struct map *m = map_of(fd);

	(void)len;
	*(struct bpf_map_info *)info = (struct bpf_map_info){ .type = m->type,
							      .id = m->id,
							      .key_size = m->key_bytes,
							      .value_size = m->value_bytes,
							      .max_entries = m->entries,
							      .map_flags = m->flags };
	return 0;
}

/* To user space a per-CPU entry is one value for each CPU, and a map its id. */
static void copy_out(const struct map *m, const void *v, void *to)
{
	if (m->type == BPF_MAP_TYPE_ARRAY_OF_MAPS) {
		memcpy(to, &((const struct map *)v)->id, 4);
		return;
	}
	if (m->type == BPF_MAP_TYPE_PERCPU_ARRAY)
		memset(to, 0, (size_t)m->step * (size_t)libbpf_num_possible_cpus());
	memcpy(to, v, m->value_bytes);
}

int bpf_map_lookup_elem(int fd, const void *key, void *value)
{
	const struct map *m = map_of(fd);
	const void *v = find(m, key, false);

	if (!v)
		return failed(ENOENT);
	copy_out(m, v, value);
	return 0;
}

static int install(struct map *outer, uint32_t slot, struct map *inner)
{
	struct map **at = &((struct map **)outer->data)[slot];

	if (*at == inner && plain_on_grace)
		plain_on_grace(); /* see bwl_grace() */
	hold(inner);
	drop(*at);
	*at = inner;
	return 0;
}

/*
 * In the order of their bytes, as promises_test.c has real maps: whoever is killed in a walk has
 * come as far on both.
 */
static void *insert(struct map *m, const void *key)
{
	size_t at = 0, more;

	while (at < m->used && memcmp(m->keys + at * m->key_bytes, key, m->key_bytes) < 0)
		at++;
	more = m->used++ - at;
	memmove(m->keys + (at + 1) * m->key_bytes, m->keys + at * m->key_bytes,
		more * m->key_bytes);
	memmove(m->data + (at + 1) * m->step, m->data + at * m->step, more * m->step);
	memcpy(m->keys + at * m->key_bytes, key, m->key_bytes);
	return m->data + at * m->step;
}

int bpf_map_update_elem(int fd, const void *key, const void *value, __u64 flags)
{
	struct map *m = map_of(fd);
	void *v;

	if (m->type == BPF_MAP_TYPE_ARRAY_OF_MAPS)
		return *(const uint32_t *)key < m->entries
			       ? install(m, *(const uint32_t *)key, map_of(*(const int *)value))
			       : failed(E2BIG);
	v = find(m, key, true);
	if (v && flags == BPF_NOEXIST)
		return failed(EEXIST);
	if (!v && flags == BPF_EXIST)
		return failed(ENOENT);
	if (!v && (!is_hash(m) || m->used == m->entries))
		return failed(E2BIG);
	if (!v)
		v = insert(m, key);
	memcpy(v, value, m->value_bytes);
	return 0;
}

int bpf_map_delete_elem(int fd, const void *key)
{
	struct map *m = map_of(fd);
	size_t from, more;
	int64_t at;

	if (m->type == BPF_MAP_TYPE_ARRAY_OF_MAPS) {
		struct map **slot = &((struct map **)m->data)[*(const uint32_t *)key];

		if (!*slot)
			return failed(ENOENT);
		drop(*slot);
		*slot = NULL;
		return 0;
	}
	at = search(m, key, true);
	if (at < 0)
		return failed(ENOENT);
	/* The others keep their order, as in the kernel, for who walks meanwhile. */
	from = (size_t)at + 1;
	more = m->used-- - from;
	memmove(m->keys + (from - 1) * m->key_bytes, m->keys + from * m->key_bytes,
		more * m->key_bytes);
	memmove(m->data + (from - 1) * m->step, m->data + from * m->step, more * m->step);
	return 0;
}

int bpf_map_get_next_key(int fd, const void *key, void *next)
{
	const struct map *m = map_of(fd);
	int64_t at = key ? search(m, key, true) : -1;

	if (!is_hash(m))
		die("the next key of an array");
	/* As the kernel does: after a key that is not there, the first. */
	if (at + 1 >= m->used)
		return failed(ENOENT);
	memcpy(next, m->keys + (size_t)(at + 1) * m->key_bytes, m->key_bytes);
	return 0;
}

/* All that there is, or what fits. */
int bpf_map_lookup_batch(int fd, void *in, void *out, void *keys, void *values, __u32 *count,
			 const struct bpf_map_batch_opts *opts)
{
	const struct map *m = map_of(fd);
	uint32_t from = 0, n = 0, all = is_hash(m) ? m->used : m->entries;
	size_t step = m->type == BPF_MAP_TYPE_PERCPU_ARRAY
			      ? (size_t)m->step * (size_t)libbpf_num_possible_cpus()
			      : m->value_bytes;

	(void)opts;
	if (in)
		memcpy(&from, in, 4);
	from += in != NULL;
	for (; n < *count && from + n < all; n++) {
		uint32_t i = from + n;

		if (is_hash(m))
			memcpy((uint8_t *)keys + (size_t)n * m->key_bytes,
			       m->keys + (size_t)i * m->key_bytes, m->key_bytes);
		else
			memcpy((uint8_t *)keys + (size_t)n * 4, &i, 4);
		copy_out(m, m->data + (size_t)i * m->step, (uint8_t *)values + n * step);
		memcpy(out, &i, 4);
	}
	*count = n;
	return from + n == all ? failed(ENOENT) : 0;
}

int bpf_map_update_batch(int fd, const void *keys, const void *values, __u32 *count,
			 const struct bpf_map_batch_opts *opts)
{
	const struct map *m = map_of(fd);

	(void)opts;
	for (uint32_t i = 0; i < *count; i++)
		if (bpf_map_update_elem(fd, (const uint8_t *)keys + (size_t)i * m->key_bytes,
					(const uint8_t *)values + (size_t)i * m->value_bytes, 0))
			return -errno;
	return 0;
}
