// SPDX-License-Identifier: GPL-2.0-or-later
/* See command.h. */
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
#include "bwl/cleanup.h"
#include "bwl/clock.h"
#include "command.h"

#define WORDS_MAX 24
#define PATIENCE_NS 35000000000ULL /* bwlimit-ctl gives a controller 30 s */
#define STEP 65536

static pid_t start(const char *program, const char *conf, const json_t *argv, int out,
		   struct bwl_err *e)
{
	char *words[WORDS_MAX + 5] = { (char *)(uintptr_t)program, (char *)"--fleet" };
	posix_spawn_file_actions_t f;
	size_t n = 2;
	pid_t pid;
	int r;

	for (size_t i = 0; i < json_array_size(argv) && i < WORDS_MAX; i++)
		words[n++] = (char *)(uintptr_t)json_string_value(json_array_get(argv, i));
	if (conf) {
		words[n++] = (char *)"--conf";
		words[n] = (char *)(uintptr_t)conf;
	}
	posix_spawn_file_actions_init(&f);
	posix_spawn_file_actions_addopen(&f, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
	posix_spawn_file_actions_adddup2(&f, out, STDOUT_FILENO);
	posix_spawn_file_actions_addopen(&f, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
	r = posix_spawn(&pid, program, &f, NULL, words, environ);
	posix_spawn_file_actions_destroy(&f);
	return r ? bwl_fail(e, ENOTCONN, "cannot run %s: %s", program, strerror(r)) : pid;
}

/* Until the command has closed its end, its time is over, or its output is too long. */
static int hear(int fd, size_t most, char **ret, size_t *ret_len, struct bwl_err *e)
{
	uint64_t end_ns = bwl_now_ns() + PATIENCE_NS;
	size_t room = 0, n = 0;

	while (bwl_now_ns() < end_ns) {
		struct pollfd p = { .fd = fd, .events = POLLIN };
		ssize_t got;

		if (poll(&p, 1, 1000) <= 0)
			continue;
		if (room - n < STEP)
			*ret = bwl_must(realloc(*ret, room += STEP + room / 2));
		got = read(fd, *ret + n, room - n - 1);
		if (got < 0 && errno == EINTR)
			continue;
		n += got > 0 ? (size_t)got : 0;
		if (n > most)
			return bwl_fail(e, EFBIG, "the document has more than %zu bytes", most);
		*ret_len = n;
		(*ret)[n] = '\0';
		if (got <= 0)
			return 0;
	}
	return bwl_fail(e, ETIMEDOUT, "bwlimit-ctl --fleet has not answered in time");
}

int command_run(const char *program, const char *conf, const json_t *argv, size_t most, char **ret,
		size_t *ret_len, int *ret_exit, struct bwl_err *e)
{
	BWL_AUTO_CLOSE int in = -1, out = -1;
	BWL_AUTO_FREE char *text = NULL;
	int fds[2], status, r;
	pid_t pid;

	if (pipe2(fds, O_CLOEXEC))
		return bwl_fail(e, errno, "cannot make a pipe: %m");
	in = fds[0];
	out = fds[1];
	pid = start(program, conf, argv, out, e);
	close(bwl_take_fd(&out));
	if (pid < 0)
		return pid;
	r = hear(in, most, &text, ret_len, e);
	if (r)
		kill(pid, SIGKILL);
	while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	if (r)
		return r;
	*ret_exit = WIFEXITED(status) ? WEXITSTATUS(status) : 1;
	*ret = bwl_take_ptr(&text);
	return 0;
}
