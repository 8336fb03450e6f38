// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Keeps a socket open after the process that sent orders has gone. charon 5.9.8 forgets a
 * connection's pending orders as soon as it cannot write an answer: of all orders written into the
 * socket of a hanging charon it would perform only the first.
 */
#include "hold_socket.h"
#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#define UNTIL_FIRST_MS 3600000
#define UNTIL_NEXT_MS 60000

/* Runs after fork() in a process with threads: only system calls are allowed. */
static void stay(int fd)
{
	struct pollfd p = { .fd = fd, .events = POLLIN };
	int patience = UNTIL_FIRST_MS;
	char buf[4096];
	sigset_t none;

	setsid();
	sigemptyset(&none);
	signal(SIGTERM, SIG_DFL);
	sigprocmask(SIG_SETMASK, &none, NULL);
	/* its output, too: whoever waits for the end of that must not wait for us */
	if (fd > 0)
		close_range(0, (unsigned)fd - 1, 0);
	close_range((unsigned)fd + 1, UINT_MAX, 0);
	while (poll(&p, 1, patience) > 0) {
		ssize_t n = read(fd, buf, sizeof(buf));

		if (!n || (n < 0 && errno != EAGAIN && errno != EINTR))
			break;
		patience = UNTIL_NEXT_MS;
	}
}

int bwl_linger(int fd)
{
	pid_t pid = fork();
	int status = 0;

	if (pid < 0)
		return -errno;
	if (pid) {
		while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
			;
		return status ? -EAGAIN : 0;
	}
	/* an orphan, so that nobody has to wait for its end */
	pid = fork();
	if (!pid)
		stay(fd);
	_exit(pid < 0);
}
