// SPDX-License-Identifier: GPL-2.0-or-later
/* See bwl/output.h. */
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include "bwl/output.h"

static int lost; /* errno of the first loss; 0: none */
static bool done;

/*
 * A descriptor that fails in the direction in which it would be used: what is printed is lost then,
 * and nobody takes it for success. open() returns the lowest that is free, so fd.
 */
static void hold(int fd, int flags)
{
	if (fcntl(fd, F_GETFD) < 0 && errno == EBADF)
		(void)!open("/dev/null", flags);
}

void bwl_output_begin(const char *program)
{
	hold(STDIN_FILENO, O_WRONLY);
	hold(STDOUT_FILENO, O_RDONLY);
	hold(STDERR_FILENO, O_RDONLY);
	signal(SIGPIPE, SIG_IGN);
	signal(SIGXFSZ, SIG_IGN);
	bwl_log_program(program);
}

void bwl_output_signals(sigset_t *ret)
{
	sigemptyset(ret);
	sigaddset(ret, SIGPIPE);
	sigaddset(ret, SIGXFSZ);
}

void bwl_output_lost(int error)
{
	if (!lost)
		lost = error ? error : EIO;
}

void bwl_output_done(void)
{
	done = true;
}

/* Some file systems (NFS, quotas) report a write that failed only when the file is closed. */
static int close_a_copy(int fd)
{
	int copy = fcntl(fd, F_DUPFD_CLOEXEC, 0);

	return copy < 0 ? 0 : close(copy);
}

static void flush(FILE *f)
{
	errno = 0;
	if (fflush(f) || ferror(f))
		bwl_output_lost(errno);
	else if (close_a_copy(fileno(f)) && errno != EINTR)
		bwl_output_lost(errno);
}

int bwl_output_flush(struct bwl_err *e)
{
	flush(stdout);
	flush(stderr);
	if (!lost)
		return 0;
	return bwl_fail(e, lost, "cannot write the output: %s", strerror(lost));
}

int bwl_output_end(int code)
{
	bool succeeded = done && !code;
	struct bwl_err e = { 0 };
	int r = bwl_output_flush(&e);

	if (r && (r != -EPIPE || succeeded))
		bwl_info("%s%s", e.text, succeeded ? "; the command itself was done" : "");
	return r && !code ? 1 : code;
}
