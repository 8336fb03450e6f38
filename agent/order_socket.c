/* SPDX-License-Identifier: GPL-2.0-or-later */
/* See order_socket.h. The folder is root's alone; who connects is looked at all the same. */
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/stat.h>
#include <unistd.h>
#include "bwl/cleanup.h"
#include "order_socket.h"

#define BACKLOG 128
#define AT_ONCE 64 /* connections taken in one call, at most */

struct conn {
	int fd; /* -1: free */
	uint64_t since_ns;
	size_t n;
	char in[BWL_AGENT_LINE];
};

struct orders {
	const struct order_verb *verbs;
	void *arg;
	int listener, poll;
	char path[sizeof(((struct sockaddr_un *)0)->sun_path)];
	struct stat bound; /* of what we made at path; st_ino 0: nothing */
	struct conn conn[ORDER_CONNS];
};

const struct order_verb *order_parse(const struct order_verb *verbs, const char *line, size_t len,
				     json_t **ret, const char **ret_why)
{
	const char *name;

	*ret_why = "not understood";
	*ret = json_loadb(line, len, JSON_REJECT_DUPLICATES, NULL);
	name = json_string_value(json_object_get(*ret, "verb"));
	for (; name && verbs->name; verbs++)
		if (!strcmp(verbs->name, name))
			return verbs;
	if (name)
		*ret_why = "bwlimitd knows no such order: is it of another version?";
	json_decref(*ret);
	*ret = NULL;
	return NULL;
}

static int listen_at(struct orders *o, struct bwl_err *e)
{
	struct sockaddr_un at = { .sun_family = AF_UNIX };
	struct epoll_event ev = { .events = EPOLLIN };

	memcpy(at.sun_path, o->path, sizeof(at.sun_path));
	o->listener = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	o->poll = epoll_create1(EPOLL_CLOEXEC);
	if (o->listener >= 0)
		unlink(o->path); /* of one that was killed: the state directory is locked */
	if (o->listener < 0 || o->poll < 0 ||
	    bind(o->listener, (struct sockaddr *)&at, sizeof(at)) || lstat(o->path, &o->bound) ||
	    chmod(o->path, 0600) || listen(o->listener, BACKLOG) ||
	    epoll_ctl(o->poll, EPOLL_CTL_ADD, o->listener, &ev))
		return bwl_fail(e, errno, "cannot listen at %s: %s", o->path, strerror(errno));
	return 0;
}

int orders_open(const char *path, const struct order_verb *verbs, void *arg, struct orders **ret,
		struct bwl_err *e)
{
	struct orders *o = calloc(1, sizeof(*o));
	int r;

	*ret = NULL;
	if (!o)
		return bwl_fail(e, ENOMEM, "out of memory");
	o->verbs = verbs;
	o->arg = arg;
	o->listener = o->poll = -1;
	for (unsigned i = 0; i < ORDER_CONNS; i++)
		o->conn[i].fd = -1;
	r = (size_t)snprintf(o->path, sizeof(o->path), "%s", path) < sizeof(o->path)
		    ? listen_at(o, e)
		    : bwl_fail(e, ENAMETOOLONG, "%.200s: too long for a socket", path);
	if (r)
		orders_close(o);
	else
		*ret = o;
	return r;
}

int orders_fd(const struct orders *o)
{
	return o ? o->poll : -1;
}

static void drop(struct conn *c)
{
	if (c->fd >= 0)
		close(c->fd); /* which takes it out of the epoll set too */
	c->fd = -1;
}

/* While the listener is open its inode is not used again: another one there is another agent's. */
static bool is_ours(const struct orders *o)
{
	struct stat st;

	return o->bound.st_ino && !lstat(o->path, &st) && st.st_ino == o->bound.st_ino &&
	       st.st_dev == o->bound.st_dev;
}

void orders_close(struct orders *o)
{
	if (!o)
		return;
	for (unsigned i = 0; i < ORDER_CONNS; i++)
		drop(&o->conn[i]);
	if (is_ours(o))
		unlink(o->path);
	if (o->listener >= 0)
		close(o->listener);
	if (o->poll >= 0)
		close(o->poll);
	free(o);
}

/* root, or whoever this process is. */
static bool may_order(int fd)
{
	struct ucred who;
	socklen_t len = sizeof(who);

	return !getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &who, &len) &&
	       (!who.uid || who.uid == geteuid());
}

/* A free one; else the one that has been silent the longest. */
static struct conn *room(struct orders *o)
{
	struct conn *c = &o->conn[0];

	for (unsigned i = 0; i < ORDER_CONNS; i++) {
		if (o->conn[i].fd < 0)
			return &o->conn[i];
		if (o->conn[i].since_ns < c->since_ns)
			c = &o->conn[i];
	}
	drop(c);
	return c;
}

static bool has_gone(int fd)
{
	struct pollfd p = { .fd = fd, .events = POLLRDHUP };

	return poll(&p, 1, 0) > 0 && (p.revents & (POLLHUP | POLLERR | POLLRDHUP));
}

static void say(int fd, json_t *o)
{
	char buf[BWL_AGENT_LINE];
	size_t n = json_dumpb(o, buf, sizeof(buf) - 1, JSON_COMPACT);

	if (n >= sizeof(buf))
		n = (size_t)snprintf(buf, sizeof(buf) - 1,
				     "{\"error\":\"the answer is too long\"}");
	buf[n++] = '\n';
	/* what was never written to has room for it; who does not wait for it needs none */
	while (send(fd, buf, n, MSG_DONTWAIT | MSG_NOSIGNAL) < 0 && errno == EINTR)
		;
}

BWL_AUTO_DEFINE(json_decref, json_t *)

static void answer(struct orders *o, struct conn *c, size_t len)
{
	const char *why = "more than one request";
	const struct order_verb *v = NULL;
	BWL_AUTO(json_decref) json_t *ask = NULL, *said = NULL;

	if (c->n == len + 1)
		v = order_parse(o->verbs, c->in, len, &ask, &why);
	if (v && !v->closes && has_gone(c->fd))
		return;
	said = v ? v->run(o->arg, ask) : json_pack("{s:s}", "error", why);
	say(c->fd, said);
}

/* true: it has ended, one way or the other. */
static bool hear(struct orders *o, struct conn *c)
{
	ssize_t n = recv(c->fd, c->in + c->n, sizeof(c->in) - c->n, MSG_DONTWAIT);
	const char *end;
	json_t *full;

	if (n < 0)
		return errno != EAGAIN && errno != EINTR;
	if (!n)
		return true; /* half a request is none */
	c->n += (size_t)n;
	end = memchr(c->in, '\n', c->n);
	if (end) {
		answer(o, c, (size_t)(end - c->in));
	} else if (c->n == sizeof(c->in)) {
		full = json_pack("{s:s}", "error", "the request is too long");
		say(c->fd, full);
		json_decref(full);
	}
	return end || c->n == sizeof(c->in);
}

static void take(struct orders *o, uint64_t now_ns)
{
	for (unsigned i = 0; i < AT_ONCE; i++) {
		int fd = accept4(o->listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
		struct epoll_event ev = { .events = EPOLLIN };
		struct conn *c;

		if (fd < 0 && (errno == ECONNABORTED || errno == EINTR))
			continue;
		if (fd < 0)
			return;
		if (!may_order(fd)) {
			close(fd);
			continue;
		}
		c = room(o);
		c->fd = fd;
		c->n = 0;
		c->since_ns = now_ns;
		epoll_ctl(o->poll, EPOLL_CTL_ADD, fd, &ev);
		if (hear(o, c)) /* it has mostly been said already: then nobody can push it out */
			drop(c);
	}
}

void orders_run(struct orders *o, uint64_t now_ns)
{
	if (!o)
		return;
	for (unsigned i = 0; i < ORDER_CONNS; i++) {
		struct conn *c = &o->conn[i];

		if (c->fd >= 0 && (hear(o, c) || now_ns - c->since_ns > ORDER_NS))
			drop(c);
	}
	take(o, now_ns);
}
