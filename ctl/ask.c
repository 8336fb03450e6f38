// SPDX-License-Identifier: GPL-2.0-or-later
/* Asks the running bwlimitd: see bwl/agent.h. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include "bwl/agent.h"
#include "bwl/bytes.h"
#include "bwl/door.h"
#include "bwl/fds.h"
#include "bwl/map_io.h"
#include "ctl.h"

#define SECOND_NS 1000000000ULL
#define FOREVER UINT64_MAX

static int left_ms(uint64_t end_ns)
{
	uint64_t now = bwl_now_ns();

	if (end_ns == FOREVER)
		return -1;
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

/* A full queue (EAGAIN) gives no notification when there is room. */
static int reach(const struct sockaddr_un *at, uint64_t end_ns)
{
	int fd;

	while ((fd = bwl_door_connect(at->sun_path, SOCK_NONBLOCK, 0)) < 0) {
		if (fd != -EAGAIN || !left_ms(end_ns)) {
			errno = -fd;
			return -1;
		}
		poll(NULL, 0, 5);
	}
	return fd;
}

/* doc is sent with the first bytes; -1: none. */
static int tell(int fd, const char *buf, size_t n, int doc, uint64_t end_ns)
{
	while (n) {
		ssize_t w = bwl_send_fds(fd, buf, n, &doc, doc >= 0, 0);

		if (w < 0 && (errno == EINTR || (errno == EAGAIN && !await(fd, POLLOUT, end_ns))))
			continue;
		if (w <= 0)
			return -1;
		doc = -1;
		buf += w;
		n -= (size_t)w;
	}
	return 0;
}

/* A connection, and answers that have arrived but were not read yet. */
struct talk {
	int fd;
	size_t n;
	char buf[2 * BWL_AGENT_LINE];
};

/* The next line; NULL: none in time, or the other side has hung up. */
static json_t *hear(struct talk *t, uint64_t end_ns)
{
	json_t *o;

	for (;;) {
		char *end = memchr(t->buf, '\n', t->n);
		ssize_t r;

		if (end) {
			o = json_loadb(t->buf, (size_t)(end - t->buf), 0, NULL);
			t->n -= (size_t)(end + 1 - t->buf);
			memmove(t->buf, end + 1, t->n);
			return o;
		}
		if (t->n == sizeof(t->buf) || await(t->fd, POLLIN, end_ns))
			return NULL;
		r = recv(t->fd, t->buf + t->n, sizeof(t->buf) - t->n, 0);
		if (r < 0 && (errno == EAGAIN || errno == EINTR))
			continue;
		if (r <= 0)
			return NULL;
		t->n += (size_t)r;
	}
}

int ctl_sealed(const char *bytes, size_t len)
{
	BWL_AUTO_CLOSE int fd = memfd_create("bwlimit", MFD_CLOEXEC | MFD_ALLOW_SEALING);

	if (fd < 0 || bwl_bytes_write(fd, bytes, len) || lseek(fd, 0, SEEK_SET) ||
	    fcntl(fd, F_ADD_SEALS, BWL_AGENT_SEALS))
		return -1;
	return bwl_take_fd(&fd);
}

int ctl_say_to_agent(const struct ctl *c, const char *ending, const json_t *what, int doc,
		     uint64_t end_ns)
{
	BWL_AUTO_CLOSE int fd = -1;
	char buf[BWL_AGENT_LINE];
	struct sockaddr_un at;
	size_t len = what ? json_dumpb(what, buf, sizeof(buf) - 1, JSON_COMPACT) : 0;

	if ((what && !len) || len >= sizeof(buf) - 1 ||
	    bwl_agent_address(c->pin_dir, ending, &at, NULL))
		return -1;
	fd = reach(&at, end_ns);
	if (fd < 0)
		return -1;
	buf[len] = '\n';
	if (what && tell(fd, buf, len + 1, doc, end_ns)) {
		errno = ETIMEDOUT;
		return -1;
	}
	return bwl_take_fd(&fd);
}

json_t *ctl_ask_agent(const struct ctl *c, const json_t *what, unsigned wait_s)
{
	return ctl_ask_at(c, BWL_AGENT_ORDERS, what, -1, wait_s);
}

json_t *ctl_ask_at(const struct ctl *c, const char *ending, const json_t *what, int doc,
		   unsigned wait_s)
{
	uint64_t end_ns = bwl_now_ns() + wait_s * SECOND_NS;
	struct talk t = { .fd = ctl_say_to_agent(c, ending, what, doc, end_ns) };
	json_t *answer;

	if (t.fd < 0)
		return NULL;
	answer = hear(&t, end_ns);
	close(t.fd);
	if (!answer)
		errno = ETIMEDOUT;
	return answer;
}

bool ctl_order_document(const struct ctl *c, const json_t *what, int doc, unsigned wait_s,
			json_t **ret)
{
	uint64_t end_ns = bwl_now_ns() + wait_s * SECOND_NS;
	struct talk t = { .fd = ctl_say_to_agent(c, BWL_AGENT_ORDERS, what, doc, end_ns) };
	json_t *first = t.fd < 0 ? NULL : hear(&t, end_ns);
	bool taken = first;

	*ret = first;
	if (json_is_true(json_object_get(first, "taken"))) {
		json_decref(first);
		*ret = hear(&t, FOREVER);
	}
	if (t.fd >= 0)
		/*
		 * not accepted, and now it never will be: nothing opens for a client that has hung
		 * up
		 */
		close(t.fd);
	return taken;
}

int ctl_answer_err(struct ctl *c, const json_t *answer)
{
	const char *error = json_string_value(json_object_get(answer, "error"));
	const char *todo = json_string_value(json_object_get(answer, "todo"));
	const char *file = json_string_value(json_object_get(answer, "file"));
	const char *id = json_string_value(json_object_get(answer, "id"));
	json_int_t code = json_integer_value(json_object_get(answer, "code"));

	if (!error)
		return 0;
	bwl_fail(&c->err, code > 0 && code < 4096 ? (int)code : EINVAL, "%s", error);
	snprintf(c->err.file, sizeof(c->err.file), "%s", file ? file : "");
	c->err.line = (unsigned)json_integer_value(json_object_get(answer, "line"));
	c->err.column = (unsigned)json_integer_value(json_object_get(answer, "column"));
	if (todo && *todo)
		bwl_hint(&c->err, "%s", todo);
	if (id && !strcmp(id, BWL_ENROLLED_WIDENS)) /* those that orders are refused with */
		c->err.id = BWL_ENROLLED_WIDENS;
	if (id && !strcmp(id, BWL_MAP_REFUSED))
		c->err.id = BWL_MAP_REFUSED;
	return -c->err.code;
}
