// SPDX-License-Identifier: GPL-2.0-or-later
/* A question to the running bwlimitd: see bwl/agent.h. */
#include <errno.h>
#include <poll.h>
#include <string.h>
#include <unistd.h>
#include "bwl/agent.h"
#include "ctl.h"

static int left_ms(uint64_t end_ns)
{
	uint64_t now = bwl_now_ns();

	return now < end_ns ? (int)((end_ns - now) / 1000000) + 1 : 0;
}

/* 0: there is room, or something to read. */
static int await(int fd, short events, uint64_t end_ns)
{
	struct pollfd p = { .fd = fd, .events = events };
	int r;

	do
		r = poll(&p, 1, left_ms(end_ns));
	while (r < 0 && errno == EINTR);
	return r == 1 ? 0 : -1;
}

/* A queue that is full (EAGAIN) tells nobody when there is room. */
static int reach(int fd, const struct sockaddr_un *at, uint64_t end_ns)
{
	while (connect(fd, (const struct sockaddr *)at, sizeof(*at))) {
		if ((errno != EAGAIN && errno != EINTR) || !left_ms(end_ns))
			return -1;
		poll(NULL, 0, 5);
	}
	return 0;
}

static int tell(int fd, const char *buf, size_t n, uint64_t end_ns)
{
	while (n) {
		ssize_t w = send(fd, buf, n, MSG_NOSIGNAL);

		if (w < 0 && errno == EAGAIN && !await(fd, POLLOUT, end_ns))
			continue;
		if (w <= 0)
			return -1;
		buf += w;
		n -= (size_t)w;
	}
	return 0;
}

/* Its length without the newline, or -1. */
static ssize_t hear(int fd, char *buf, size_t size, uint64_t end_ns)
{
	size_t n = 0;

	while (n < size && !await(fd, POLLIN, end_ns)) {
		ssize_t r = recv(fd, buf + n, size - n, 0);
		char *end;

		if (r < 0 && (errno == EAGAIN || errno == EINTR))
			continue;
		if (r <= 0)
			return -1;
		end = memchr(buf + n, '\n', (size_t)r);
		if (end)
			return end - buf;
		n += (size_t)r;
	}
	return -1;
}

int ctl_say_to_agent(const struct ctl *c, const char *ending, const json_t *what, uint64_t end_ns)
{
	BWL_AUTO_CLOSE int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	char buf[BWL_AGENT_LINE];
	struct sockaddr_un at;
	size_t len = what ? json_dumpb(what, buf, sizeof(buf) - 1, JSON_COMPACT) : 0;

	if (fd < 0 || (what && !len) || len >= sizeof(buf) - 1 ||
	    bwl_agent_address(c->pin_dir, ending, &at, NULL) || reach(fd, &at, end_ns))
		return -1;
	buf[len] = '\n';
	if (what && tell(fd, buf, len + 1, end_ns))
		return -1;
	return bwl_take_fd(&fd);
}

json_t *ctl_ask_agent(const struct ctl *c, const json_t *what, unsigned wait_s)
{
	uint64_t end = bwl_now_ns() + wait_s * 1000000000ULL;
	BWL_AUTO_CLOSE int fd = ctl_say_to_agent(c, BWL_AGENT_ORDERS, what, end);
	char buf[BWL_AGENT_LINE];
	ssize_t n = fd < 0 ? -1 : hear(fd, buf, sizeof(buf), end);

	return n > 0 ? json_loadb(buf, (size_t)n, 0, NULL) : NULL;
}
