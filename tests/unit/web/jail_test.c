// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * What a sealed process cannot do, and that it can do what it needs. A child tries, and writes the
 * results.
 */
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>
#include "web/jail.h"
#include "../test.h"

static int got; /* a socket opened before the seal */

static long unix_socket(void)
{
	return syscall(SYS_socket, AF_UNIX, SOCK_STREAM, 0);
}
static long tcp_socket(void)
{
	return syscall(SYS_socket, AF_INET, SOCK_STREAM, 0);
}
static long connects(void)
{
	struct sockaddr_un at = { .sun_family = AF_UNIX, .sun_path = "/run/none" };

	return syscall(SYS_connect, got, &at, sizeof(at)) && errno == ENOENT ? 0 : -errno;
}
static long opens(void)
{
	return syscall(SYS_openat, AT_FDCWD, "/dev/null", O_RDONLY, 0);
}
static long forks(void)
{
	long pid = syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0);

	if (!pid)
		_exit(0);
	if (pid > 0)
		waitpid((pid_t)pid, NULL, 0); /* its SIGCHLD would stop who is traced (watches()) */
	return pid;
}
static long execs(void)
{
	return syscall(SYS_execve, "/none", NULL, NULL) && errno == ENOENT ? 0 : -errno;
}
/* Only EPERM counts as the seal's answer: EFAULT and EINVAL are the call's own. */
static long bpf(void)
{
	return syscall(SYS_bpf, 9999, NULL, 0) && errno == EPERM ? -EPERM : 0;
}
static long signals(void)
{
	return syscall(SYS_kill, getppid(), 0);
}
static long pastes_code(void)
{
	return syscall(SYS_mmap, NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1,
		       0);
}
static long watches(void)
{
	return syscall(SYS_ptrace, 0, 0, 0, 0);
}

static long maps_data(void)
{
	return syscall(SYS_mmap, NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
		       -1, 0) == -1
		       ? -errno
		       : 0;
}
static long writes(void)
{
	return write(got, "", 0) < 0 ? -errno : 0;
}
static long waits(void)
{
	return usleep(1) ? -errno : 0;
}
static long draws(void)
{
	char c;

	return syscall(SYS_getrandom, &c, 1, 0);
}

static long (*const denied[])(void) = { unix_socket, tcp_socket, connects,    opens,   forks,
					execs,       signals,    pastes_code, watches, bpf };
static long (*const allowed[])(void) = { maps_data, writes, waits, draws };
#define DENIED (sizeof(denied) / sizeof(*denied))
#define ALLOWED (sizeof(allowed) / sizeof(*allowed))

struct result {
	bool denied[DENIED], allowed[ALLOWED];
};

static struct result try_all(bool sealed)
{
	struct result r = { .denied = { false } };
	struct bwl_err e = { 0 };
	int pair[2], status;
	pid_t pid;

	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, pair), 0);
	got = socket(AF_UNIX, SOCK_STREAM, 0);
	pid = fork();
	if (!pid) {
		if (sealed && jail_seal(&e))
			_exit(3);
		got = got >= 0 ? got : 0;
		for (size_t i = 0; i < ALLOWED; i++)
			r.allowed[i] = allowed[i] == writes ? write(pair[1], "", 0) >= 0
							    : allowed[i]() >= 0;
		for (size_t i = 0; i < DENIED; i++) {
			errno = 0;
			r.denied[i] = denied[i]() < 0 && errno == EPERM;
		}
		_exit(write(pair[1], &r, sizeof(r)) != sizeof(r));
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFEXITED(status));
	assert_int_equal(WEXITSTATUS(status), 0);
	assert_int_equal(read(pair[0], &r, sizeof(r)), sizeof(r));
	close(pair[0]);
	close(pair[1]);
	close(got);
	return r;
}

static void a_sealed_process_gets_no_socket_file_process_or_map(void **state)
{
	struct result r = try_all(true);

	(void)state;
	for (size_t i = 0; i < DENIED; i++)
		if (!r.denied[i])
			fail_msg("attempt %zu", i);
	for (size_t i = 0; i < ALLOWED; i++)
		if (!r.allowed[i])
			fail_msg("need %zu", i);
}

static void control_one_that_is_not_sealed_does(void **state)
{
	struct result r = try_all(false);

	(void)state;
	for (size_t i = 0; i < DENIED; i++)
		if (r.denied[i])
			fail_msg("attempt %zu", i);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(control_one_that_is_not_sealed_does),
		cmocka_unit_test(a_sealed_process_gets_no_socket_file_process_or_map),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
