// SPDX-License-Identifier: GPL-2.0-or-later
/* See bwl/map_once.h. */
#include <pthread.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <bpf/bpf.h>
#include <bwl/err.h>
#include <bwl/map_once.h>

struct once {
	struct once *next;
	void *at;
	uint32_t id; /* the kernel's: no other map gets it while this one is mapped */
	bool writable;
	unsigned users;
};
static struct once *once;
static pthread_mutex_t once_lock = PTHREAD_MUTEX_INITIALIZER;

void *bwl_map_once(int fd, size_t bytes, bool writable)
{
	struct bpf_map_info info = {};
	__u32 len = sizeof(info);
	struct once *o;
	void *m;

	if (bpf_obj_get_info_by_fd(fd, &info, &len))
		return MAP_FAILED;
	pthread_mutex_lock(&once_lock);
	for (o = once; o && (o->id != info.id || o->writable != writable);)
		o = o->next;
	if (o) {
		o->users++;
		m = o->at;
	} else {
		m = mmap(NULL, bytes, PROT_READ | (writable ? PROT_WRITE : 0), MAP_SHARED, fd, 0);
	}
	if (!o && m != MAP_FAILED) {
		o = bwl_must(malloc(sizeof(*o)));
		*o = (struct once){ once, m, info.id, writable, 1 };
		once = o;
	}
	pthread_mutex_unlock(&once_lock);
	return m;
}

void bwl_unmap_once(void *m, size_t bytes)
{
	struct once **at, *o;

	pthread_mutex_lock(&once_lock);
	for (at = &once; *at && (*at)->at != m;)
		at = &(*at)->next;
	o = *at;
	if (o && --o->users == 0)
		*at = o->next;
	if (!o || !o->users)
		munmap(m, bytes);
	if (o && !o->users)
		free(o);
	pthread_mutex_unlock(&once_lock);
}
