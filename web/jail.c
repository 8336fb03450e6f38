// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * See jail.h. A list of allowed system calls; everything else is forbidden, including what later
 * kernels add.
 */
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include "jail.h"

#if defined(__x86_64__)
#define ARCH AUDIT_ARCH_X86_64
#elif defined(__aarch64__)
#define ARCH AUDIT_ARCH_AARCH64
#else
#error "bwlimit runs on x86-64 and arm64"
#endif

#define AT(member) offsetof(struct seccomp_data, member)
#define LOAD(member) BPF_STMT(BPF_LD | BPF_W | BPF_ABS, AT(member))
#define RETURN(what) BPF_STMT(BPF_RET | BPF_K, what)
#define NO (SECCOMP_RET_ERRNO | (EPERM & SECCOMP_RET_DATA))
/* Keeps the number loaded if it does not match. */
#define ALLOW(name) BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_##name, 0, 1), RETURN(SECCOMP_RET_ALLOW)
/* The third argument is a protection: executable memory is refused. Little-endian. */
#define ALLOW_DATA(name)                                                                           \
	BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_##name, 0, 4), LOAD(args[2]),                      \
		BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, PROT_EXEC, 0, 1), RETURN(NO),                 \
		RETURN(SECCOMP_RET_ALLOW)

static const struct sock_filter allowed[] = {
	LOAD(arch),
	BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, ARCH, 1, 0),
	RETURN(SECCOMP_RET_KILL_PROCESS),
	LOAD(nr),
	/* clients, and the askers */
	ALLOW(accept4),
	ALLOW(recvfrom),
	ALLOW(recvmsg),
	ALLOW(sendto),
	ALLOW(sendmsg),
	ALLOW(read),
	ALLOW(write),
	ALLOW(readv),
	ALLOW(writev),
	ALLOW(shutdown),
	ALLOW(close),
	ALLOW(getsockopt),
	ALLOW(setsockopt),
	ALLOW(getsockname),
	ALLOW(getpeername),
	ALLOW(fcntl),
	ALLOW(fstat),
	ALLOW(newfstatat), /* fstat(3) */
	/* waiting */
	ALLOW(ppoll),
	ALLOW(epoll_ctl),
	ALLOW(epoll_pwait),
	ALLOW(futex),
	ALLOW(clock_gettime),
	ALLOW(clock_nanosleep),
	ALLOW(restart_syscall),
	ALLOW(rt_sigreturn),
	ALLOW(rt_sigprocmask),
	ALLOW(sigaltstack), /* sanitizers use it */
#ifdef SYS_poll             /* x86-64 also has the older ones */
	ALLOW(poll),
	ALLOW(epoll_wait),
#endif
	/* memory */
	ALLOW(brk),
	ALLOW(munmap),
	ALLOW(mremap),
	ALLOW(madvise),
	ALLOW_DATA(mmap),
	ALLOW_DATA(mprotect),
	ALLOW(getrandom),
	/* the end */
	ALLOW(exit),
	ALLOW(exit_group),
	RETURN(NO),
};

int jail_seal(struct bwl_err *e)
{
	const struct sock_fprog prog = { .len = sizeof(allowed) / sizeof(*allowed),
					 .filter = (struct sock_filter *)(uintptr_t)allowed };

	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) ||
	    prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &prog))
		return bwl_fail(e, errno, "the kernel refuses the list of system calls: %m");
	return 0;
}
