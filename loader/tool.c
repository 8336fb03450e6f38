// SPDX-License-Identifier: GPL-2.0-or-later
/* See tool.h. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>
#include <bwl/clock.h>
#include <bwl/output.h>
#include "tool.h"

/* The tool gets its own process group, so that whatever it starts ends with it. */
static int start(const char *const argv[], int out, pid_t *ret)
{
	posix_spawn_file_actions_t f;
	posix_spawnattr_t attr;
	sigset_t ignored;
	int r;

	bwl_output_signals(&ignored);
	posix_spawn_file_actions_init(&f);
	posix_spawn_file_actions_addopen(&f, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
	posix_spawn_file_actions_adddup2(&f, out, STDOUT_FILENO);
	posix_spawn_file_actions_addopen(&f, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
	posix_spawnattr_init(&attr);
	posix_spawnattr_setflags(&attr, POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGDEF);
	posix_spawnattr_setsigdefault(&attr, &ignored);
	posix_spawnattr_setpgroup(&attr, 0);
	r = posix_spawnp(ret, argv[0], &f, &attr, (char *const *)(uintptr_t)argv, environ);
	posix_spawnattr_destroy(&attr);
	posix_spawn_file_actions_destroy(&f);
	return r;
}

/* true once the tool has closed its end. false: it ran out of time, or printed too much. */
static bool hear(int fd, uint64_t end_ns, struct tool_answer *ret)
{
	uint64_t now;
	size_t n = 0;

	while ((now = bwl_now_ns()) < end_ns) {
		struct pollfd p = { .fd = fd, .events = POLLIN };
		ssize_t got;

		if (poll(&p, 1, (int)((end_ns - now) / 1000000 + 1)) <= 0)
			continue;
		got = read(fd, ret->text + n, sizeof(ret->text) - 1 - n);
		if (got < 0 && errno == EINTR)
			continue;
		n += got > 0 ? (size_t)got : 0;
		ret->text[n] = '\0';
		ret->cut = n == sizeof(ret->text) - 1;
		if (got <= 0)
			return true;
		if (ret->cut)
			return false;
	}
	return false;
}

/* A tool that has closed its end but keeps running is late. */
static bool wait_until(pid_t pid, uint64_t end_ns, int *status)
{
	pid_t r;

	while (!(r = waitpid(pid, status, WNOHANG)) || (r < 0 && errno == EINTR)) {
		if (bwl_now_ns() >= end_ns)
			return false;
		poll(NULL, 0, 5);
	}
	return true;
}

void tool_ask(const char *const argv[], uint64_t patience_ns, struct tool_answer *ret)
{
	uint64_t end_ns = bwl_now_ns() + patience_ns;
	int fds[2], r, status = 0;
	bool ended;
	pid_t pid;

	ret->end = TOOL_FAILED;
	ret->cut = false;
	*ret->text = '\0';
	if (pipe2(fds, O_CLOEXEC))
		return;
	r = start(argv, fds[1], &pid);
	close(fds[1]);
	if (r) {
		ret->end = r == ENOENT ? TOOL_ABSENT : TOOL_FAILED;
		close(fds[0]);
		return;
	}
	ended = hear(fds[0], end_ns, ret) && wait_until(pid, end_ns, &status);
	close(fds[0]);
	if (ended) {
		ret->end = WIFEXITED(status) && !WEXITSTATUS(status) ? TOOL_SAID : TOOL_FAILED;
		return;
	}
	ret->end = ret->cut ? TOOL_SAID : TOOL_LATE;
	kill(-pid, SIGKILL);
	while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
}
