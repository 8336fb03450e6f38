// SPDX-License-Identifier: GPL-2.0-or-later
/* See bwl/reader.h. */
#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>
#include <bpf/bpf.h>
#include <bwl/map_io.h>
#include <bwl/maps.h>
#include <bwl/reader.h>

#define COPY_BATCH 4096U

int bwl_pin_get(const char *path, bool reader)
{
	union bpf_attr a;
	int fd;

	if (reader) { /* libbpf supports flags since 1.2 */
		memset(&a, 0, sizeof(a));
		a.pathname = (uintptr_t)path;
		a.file_flags = BPF_F_RDONLY;
		fd = (int)syscall(SYS_bpf, BPF_OBJ_GET, &a, sizeof(a));
	} else {
		fd = bpf_obj_get(path);
	}
	return fd < 0 ? -errno : fd;
}

/* In batches (kernel 5.6): 65536 single calls would take longer than the whole query should. */
static int copy(int fd, const struct bwl_shape *s, char *to)
{
	uint32_t *keys = calloc(COPY_BATCH, sizeof(*keys)), in, out, n, i;
	char *values = calloc(COPY_BATCH, s->value_bytes);
	size_t step = (s->value_bytes + 7) / 8 * 8;
	int err = keys && values ? 0 : ENOMEM;
	void *at = NULL;

	while (!err) {
		n = COPY_BATCH;
		err = -bwl_map_get_all(fd, at, &out, keys, values, &n);
		if (err && err != ENOENT)
			break;
		for (i = 0; i < n; i++)
			if (keys[i] < s->entries)
				memcpy(to + keys[i] * step, values + (size_t)i * s->value_bytes,
				       s->value_bytes);
		in = out;
		at = &in;
	}
	free(keys);
	free(values);
	return err == ENOENT ? 0 : err; /* ENOENT: the end */
}

void *bwl_map_array(int fd, size_t bytes, bool writable, bool copied)
{
	struct bwl_shape s;
	void *m;
	int err;

	/*
	 * Mapped shared and read-only if nothing is written. The descriptor is writable
	 * nevertheless: the kernel (6.18) maps no array through one that was opened with
	 * BPF_F_RDONLY.
	 */
	if (!copied)
		return mmap(NULL, bytes, PROT_READ | (writable ? PROT_WRITE : 0), MAP_SHARED, fd,
			    0);
	err = -bwl_shape_of(fd, &s);
	m = err ? MAP_FAILED
		: mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (m != MAP_FAILED && (size_t)s.entries * ((s.value_bytes + 7) / 8 * 8) <= bytes)
		err = copy(fd, &s, m);
	else if (m != MAP_FAILED)
		err = EPROTO;
	if (m != MAP_FAILED && err) {
		munmap(m, bytes);
		m = MAP_FAILED;
	}
	if (m == MAP_FAILED && err)
		errno = err;
	return m;
}
