// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * LD_PRELOAD: bpf(2) of a kernel without multi-buffer XDP, whose verifier gives up on the program
 * BWL_REFUSE; if that is unset, on none. BWL_REFUSE_USERS: also as on a kernel before 5.19, where
 * only root may call it. BWL_REFUSE_MAP: the first BWL_REFUSE_TIMES entries that are written into
 * maps of that name find no memory.
 */
#include <dlfcn.h>
#include <errno.h>
#include <linux/bpf.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

/* Reports why, as the verifier does. */
static long refuse(const union bpf_attr *a, const char *why, int code)
{
	if (a->log_level && a->log_size)
		snprintf((char *)(unsigned long)a->log_buf, a->log_size, "%s\n", why);
	errno = code;
	return -1;
}

static bool is_of(int fd, const char *map)
{
	struct bpf_map_info info = { 0 };
	union bpf_attr a;

	memset(&a, 0, sizeof(a));
	a.info.bpf_fd = (unsigned)fd;
	a.info.info_len = sizeof(info);
	a.info.info = (unsigned long)&info;
	return !syscall(SYS_bpf, BPF_OBJ_GET_INFO_BY_FD, &a, sizeof(a)) && !strcmp(info.name, map);
}

static bool no_memory(const union bpf_attr *a)
{
	const char *map = getenv("BWL_REFUSE_MAP"), *times = getenv("BWL_REFUSE_TIMES");
	static long so_far;

	if (!map || !times || so_far == atol(times) || !is_of((int)a->map_fd, map))
		return false;
	so_far++;
	return true;
}

long syscall(long number, ...)
{
	long (*real)(long, ...) = (long (*)(long, ...))dlsym(RTLD_NEXT, "syscall");
	const char *name = getenv("BWL_REFUSE");
	const union bpf_attr *a;
	long arg[6];
	va_list args;
	int i;

	va_start(args, number);
	for (i = 0; i < 6; i++)
		arg[i] = va_arg(args, long);
	va_end(args);
	if (number == SYS_bpf && getenv("BWL_REFUSE_USERS") && geteuid()) {
		errno = EPERM;
		return -1;
	}
	a = (const union bpf_attr *)arg[1];
	if (number == SYS_bpf && arg[0] == BPF_MAP_UPDATE_ELEM && no_memory(a)) {
		errno = ENOMEM;
		return -1;
	}
	if (number == SYS_bpf && arg[0] == BPF_PROG_LOAD) {
		if (a->prog_flags & BPF_F_XDP_HAS_FRAGS)
			return refuse(a, "multi-buffer XDP is not known here", EINVAL);
		if (name && *name && !strncmp(a->prog_name, name, sizeof(a->prog_name) - 1))
			return refuse(a, "BPF program is too large. Processed 1000001 insn", E2BIG);
	}
	return real(number, arg[0], arg[1], arg[2], arg[3], arg[4], arg[5]);
}
