/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The running kernel's BTF, changed to look like a PREEMPT_RT kernel's: a spinlock is a mutex. An
 * object that is relocated against it behaves as on such a kernel (bwl_on_rt()).
 */
#ifndef BWL_TEST_REALTIME_BTF_H
#define BWL_TEST_REALTIME_BTF_H

#include <bpf/btf.h>
#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>

/* path: of the BTF, valid while this process lives; empty on failure. */
static inline int realtime_btf(char path[32])
{
	struct btf *btf = btf__load_vmlinux_btf();
	int fd = memfd_create("realtime-btf", MFD_CLOEXEC), lock, r = -1;
	const void *raw;
	__u32 size = 0;

	*path = 0;
	lock = btf ? btf__add_struct(btf, "rt_mutex_base", 4) : -1;
	if (lock > 0 && btf__add_struct(btf, "spinlock", 4) > 0 &&
	    !btf__add_field(btf, "lock", lock, 0, 0)) {
		raw = btf__raw_data(btf, &size);
		if (raw && fd >= 0 && write(fd, raw, size) == (ssize_t)size)
			r = snprintf(path, 32, "/proc/self/fd/%d", fd) < 0;
	}
	btf__free(btf);
	return r;
}

#endif
