/* SPDX-License-Identifier: GPL-2.0-or-later */
/* See line_socket.h. */
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/stat.h>
#include <unistd.h>
#include "line_socket.h"

#define BACKLOG 128
#define AT_ONCE 64 /* connections taken in one call */

struct conn {
	int fd;  /* -1: free */
	int doc; /* the document's descriptor that came with it; -1: none */
	uint64_t since_ns;
	size_t n;
	char in[BWL_AGENT_LINE];
};

struct line_socket {
	const struct line_rule *rule;
	void *arg;
	int listener, poll;
	char path[sizeof(((struct sockaddr_un *)0)->sun_path)];
	struct stat bound; /* the socket file that we made at path; st_ino 0: none */
	struct conn conn[LINE_CONNS];
};

int line_socket_address(const char *pin_dir, const char *ending, struct sockaddr_un *ret,
			struct bwl_err *e)
{
	int r = bwl_agent_address(pin_dir, ending, ret, e);

	/* Members of the groups may traverse to their socket; each socket checks its clients. */
	if (!r && ((mkdir(BWL_RUN_DIR, 0700) && errno != EEXIST) || chmod(BWL_RUN_DIR, 0711)))
		r = bwl_fail(e, errno, "cannot make %s: %s", BWL_RUN_DIR, strerror(errno));
	return r;
}

static int listen_at(struct line_socket *s, struct bwl_err *e)
{
	struct sockaddr_un at = { .sun_family = AF_UNIX };
	struct epoll_event ev = { .events = EPOLLIN };

	memcpy(at.sun_path, s->path, sizeof(at.sun_path));
	s->listener = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	s->poll = epoll_create1(EPOLL_CLOEXEC);
	if (s->listener >= 0)
		unlink(s->path); /* of a killed process: the state directory is locked */
	if (s->listener < 0 || s->poll < 0 ||
	    bind(s->listener, (struct sockaddr *)&at, sizeof(at)) || lstat(s->path, &s->bound) ||
	    chmod(s->path, s->rule->mode) || listen(s->listener, BACKLOG) ||
	    epoll_ctl(s->poll, EPOLL_CTL_ADD, s->listener, &ev))
		return bwl_fail(e, errno, "cannot listen at %s: %s", s->path, strerror(errno));
	return 0;
}

int line_socket_open(const char *path, const struct line_rule *rule, void *arg,
		     struct line_socket **ret, struct bwl_err *e)
{
	struct line_socket *s = calloc(1, sizeof(*s));
	int r;

	*ret = NULL;
	if (!s)
		return bwl_fail(e, ENOMEM, "out of memory");
	s->rule = rule;
	s->arg = arg;
	s->listener = s->poll = -1;
	for (unsigned i = 0; i < LINE_CONNS; i++)
		s->conn[i].fd = s->conn[i].doc = -1;
	r = (size_t)snprintf(s->path, sizeof(s->path), "%s", path) < sizeof(s->path)
		    ? listen_at(s, e)
		    : bwl_fail(e, ENAMETOOLONG, "%.200s: too long for a socket", path);
	if (r)
		line_socket_close(s);
	else
		*ret = s;
	return r;
}

int line_socket_fd(const struct line_socket *s)
{
	return s ? s->poll : -1;
}

static void drop(struct conn *c)
{
	if (c->fd >= 0)
		close(c->fd); /* removes it from the epoll set, too */
	if (c->doc >= 0)
		close(c->doc);
	c->fd = c->doc = -1;
}

/*
 * While our listener is open its inode is not reused: if path has another inode, it is another
 * agent's socket.
 */
static bool is_ours(const struct line_socket *s)
{
	struct stat st;

	return s->bound.st_ino && !lstat(s->path, &st) && st.st_ino == s->bound.st_ino &&
	       st.st_dev == s->bound.st_dev;
}

void line_socket_close(struct line_socket *s)
{
	if (!s)
		return;
	for (unsigned i = 0; i < LINE_CONNS; i++)
		drop(&s->conn[i]);
	if (is_ours(s))
		unlink(s->path);
	if (s->listener >= 0)
		close(s->listener);
	if (s->poll >= 0)
		close(s->poll);
	free(s);
}

/* A free place; if there is none, that of the connection that has been silent longest. */
static struct conn *room(struct line_socket *s)
{
	struct conn *c = &s->conn[0];

	for (unsigned i = 0; i < LINE_CONNS; i++) {
		if (s->conn[i].fd < 0)
			return &s->conn[i];
		if (s->conn[i].since_ns < c->since_ns)
			c = &s->conn[i];
	}
	drop(c);
	return c;
}

bool line_has_gone(int fd)
{
	struct pollfd p = { .fd = fd, .events = POLLRDHUP };

	return poll(&p, 1, 0) > 0 && (p.revents & (POLLHUP | POLLERR | POLLRDHUP));
}

static void say(int fd, json_t *o, size_t most)
{
	char buf[BWL_AGENT_STATUS];
	size_t n = json_dumpb(o, buf, most - 1, JSON_COMPACT);

	if (n >= most)
		n = (size_t)snprintf(buf, sizeof(buf) - 1,
				     "{\"error\":\"the answer is too long\"}");
	buf[n++] = '\n';
	/* a client that does not wait needs no answer */
	while (send(fd, buf, n, MSG_DONTWAIT | MSG_NOSIGNAL) < 0 && errno == EINTR)
		;
	json_decref(o);
}

void line_say(int fd, json_t *o)
{
	say(fd, o, BWL_AGENT_LINE);
}

void line_say_long(int fd, json_t *o)
{
	say(fd, o, BWL_AGENT_STATUS);
}

void line_refuse(int fd, const char *why, const char *todo)
{
	line_say(fd, json_pack("{s:s, s:s*}", "error", why, "todo", todo));
}

/* A whole line, or too much, has arrived: the connection is handed over. */
static void hand_on(struct line_socket *s, struct conn *c, const char *end)
{
	size_t len = end ? (size_t)(end - c->in) : 0;
	const char *wrong = !end              ? "the request is too long"
			    : c->n == len + 1 ? NULL
					      : "more than one request";
	int fd = c->fd, doc = c->doc;

	epoll_ctl(s->poll, EPOLL_CTL_DEL, fd, NULL);
	c->fd = c->doc = -1;
	s->rule->said(s->arg, fd, doc, wrong ? NULL : c->in, len, wrong);
}

/* Keeps one descriptor and closes all others. -1: there was more than one. */
static int take_doc(struct conn *c, struct msghdr *m)
{
	int fd, r = m->msg_flags & MSG_CTRUNC ? -1 : 0;

	for (struct cmsghdr *h = CMSG_FIRSTHDR(m); h; h = CMSG_NXTHDR(m, h)) {
		if (h->cmsg_level != SOL_SOCKET || h->cmsg_type != SCM_RIGHTS)
			continue;
		for (size_t at = 0; at + sizeof(fd) <= h->cmsg_len - CMSG_LEN(0);
		     at += sizeof(fd)) {
			memcpy(&fd, CMSG_DATA(h) + at, sizeof(fd));
			if (c->doc < 0) {
				c->doc = fd;
				continue;
			}
			close(fd);
			r = -1;
		}
	}
	return r;
}

static ssize_t receive(const struct line_socket *s, struct conn *c)
{
	union {
		char room[CMSG_SPACE(2 * sizeof(int))]; /* more is cut off, which is noticed */
		struct cmsghdr align;
	} ctl;
	struct iovec iov = { c->in + c->n, sizeof(c->in) - c->n };
	struct msghdr m = { .msg_iov = &iov, .msg_iovlen = 1 };
	ssize_t n;

	if (s->rule->documents) { /* otherwise the kernel closes descriptors that arrive */
		m.msg_control = ctl.room;
		m.msg_controllen = sizeof(ctl.room);
	}
	n = recvmsg(c->fd, &m, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
	if (n >= 0 && s->rule->documents && take_doc(c, &m)) {
		errno = EBADMSG;
		return -1;
	}
	return n;
}

static void hear(struct line_socket *s, struct conn *c)
{
	ssize_t n = receive(s, c);
	const char *end;

	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	if (n <= 0) { /* an incomplete line does not count */
		drop(c);
		return;
	}
	c->n += (size_t)n;
	end = memchr(c->in, '\n', c->n);
	if (end || c->n == sizeof(c->in))
		hand_on(s, c, end);
}

static void take(struct line_socket *s, uint64_t now_ns)
{
	for (unsigned i = 0; i < AT_ONCE; i++) {
		int fd = accept4(s->listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
		struct epoll_event ev = { .events = EPOLLIN };
		struct conn *c;

		if (fd < 0 && (errno == ECONNABORTED || errno == EINTR))
			continue;
		if (fd < 0)
			return;
		if (!s->rule->may(s->arg, fd)) {
			close(fd);
			continue;
		}
		c = room(s);
		c->fd = fd;
		c->n = 0;
		c->since_ns = now_ns;
		epoll_ctl(s->poll, EPOLL_CTL_ADD, fd, &ev);
		hear(s, c); /* the line has usually arrived already: nobody can evict it then */
	}
}

void line_socket_run(struct line_socket *s, uint64_t now_ns)
{
	if (!s)
		return;
	for (unsigned i = 0; i < LINE_CONNS; i++) {
		struct conn *c = &s->conn[i];

		if (c->fd >= 0)
			hear(s, c);
		if (c->fd >= 0 && now_ns - c->since_ns > LINE_NS)
			drop(c);
	}
	take(s, now_ns);
}
