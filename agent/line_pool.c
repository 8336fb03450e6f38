// SPDX-License-Identifier: GPL-2.0-or-later
/* See line_pool.h. */
#include <errno.h>
#include <linux/sockios.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>
#include "bwl/agent.h"
#include "bwl/cleanup.h"
#include "bwl/group.h"
#include "line_pool.h"

#define BACKLOG 128
#define AT_ONCE 64        /* connections taken in one call */
#define FDS_MAX 253       /* descriptors of one message: SCM_MAX_FD */
#define DOC_MAX (1 << 30) /* bytes; freeing the memory of a larger one takes long */

struct conn {
	int fd;  /* -1: free */
	int doc; /* the document's descriptor that came with it; -1: none */
	uid_t uid;
	uint64_t since_ns;
	size_t n;
	char in[BWL_AGENT_LINE];
};

struct line_pool {
	struct line_pool_conf conf;
	char path[sizeof(((struct sockaddr_un *)0)->sun_path)];
	struct stat bound; /* the socket file that we made at path; st_ino 0: none */
	int listener, poll;
	struct conn conn[LINE_RIGHTS][LINE_CONNS];
};

void line_who_find(struct line_who *w, unsigned may)
{
	static const char *const groups[LINE_RIGHTS] = { [LINE_OPERATE] = BWL_GROUP,
							 [LINE_READ] = BWL_GROUP_READ,
							 [LINE_SYNC] = BWL_GROUP_SYNC };

	*w = (struct line_who){ .may = may, .sync = (uid_t)-1 };
	for (unsigned i = 0; i < LINE_RIGHTS; i++)
		w->has[i] = groups[i] && (may & 1U << i) && bwl_group_id(groups[i], &w->gid[i]);
}

enum line_right line_right_of(const struct line_who *w, int fd)
{
	socklen_t len = sizeof(struct ucred);
	uid_t sync = __atomic_load_n(&w->sync, __ATOMIC_RELAXED);
	struct ucred who;

	if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &who, &len))
		return LINE_NOBODY;
	if (!who.uid || who.uid == geteuid())
		return LINE_ROOT;
	if (w->by_user)
		return sync != (uid_t)-1 && who.uid == sync ? LINE_SYNC : LINE_NOBODY;
	for (unsigned i = 0; i < LINE_RIGHTS; i++)
		if (w->has[i] && bwl_is_of_groups(fd, &w->gid[i], 1))
			return i;
	return LINE_NOBODY;
}

static int listen_at(struct line_pool *p, struct bwl_err *e)
{
	struct sockaddr_un at = { .sun_family = AF_UNIX };
	struct epoll_event ev = { .events = EPOLLIN };
	gid_t gid = p->conf.gid;

	memcpy(at.sun_path, p->path, sizeof(at.sun_path));
	p->listener = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	p->poll = epoll_create1(EPOLL_CLOEXEC);
	if (p->listener >= 0)
		unlink(p->path); /* of a killed process: the state directory is locked */
	if (p->listener < 0 || p->poll < 0 ||
	    bind(p->listener, (struct sockaddr *)&at, sizeof(at)) || lstat(p->path, &p->bound) ||
	    (gid != (gid_t)-1 && chown(p->path, (uid_t)-1, gid)) || chmod(p->path, p->conf.mode) ||
	    listen(p->listener, BACKLOG) || epoll_ctl(p->poll, EPOLL_CTL_ADD, p->listener, &ev))
		return bwl_fail(e, errno, "cannot listen at %s: %s", p->path, strerror(errno));
	return 0;
}

int line_pool_open(const struct line_pool_conf *c, struct line_pool **ret, struct bwl_err *e)
{
	struct line_pool *p = calloc(1, sizeof(*p));
	int r;

	*ret = NULL;
	if (!p)
		return bwl_fail(e, ENOMEM, "out of memory");
	p->conf = *c;
	p->listener = p->poll = -1;
	for (unsigned i = 0; i < LINE_RIGHTS; i++)
		for (unsigned k = 0; k < LINE_CONNS; k++)
			p->conn[i][k].fd = p->conn[i][k].doc = -1;
	r = (size_t)snprintf(p->path, sizeof(p->path), "%s", c->path) < sizeof(p->path)
		    ? listen_at(p, e)
		    : bwl_fail(e, ENAMETOOLONG, "%.200s: too long for a socket", c->path);
	if (!r) {
		*ret = p;
		return 0;
	}
	line_pool_unlink(p);
	line_pool_close(p);
	return r;
}

int line_pool_listener(const struct line_pool *p)
{
	return p->listener;
}

int line_pool_fd(const struct line_pool *p)
{
	return p->poll;
}

static void drop(struct conn *c)
{
	if (c->fd >= 0)
		close(c->fd); /* removes it from the epoll set, too */
	if (c->doc >= 0)
		close(c->doc);
	c->fd = c->doc = -1;
}

bool line_pool_is_empty(const struct line_pool *p)
{
	for (unsigned i = 0; i < LINE_RIGHTS; i++)
		for (unsigned k = 0; k < LINE_CONNS; k++)
			if (p->conn[i][k].fd >= 0)
				return false;
	return true;
}

/*
 * While our listener is open its inode is not reused: if path has another inode, it is another
 * agent's socket.
 */
void line_pool_unlink(const struct line_pool *p)
{
	struct stat st;

	if (p->bound.st_ino && !lstat(p->path, &st) && st.st_ino == p->bound.st_ino &&
	    st.st_dev == p->bound.st_dev)
		unlink(p->path);
}

void line_pool_close(struct line_pool *p)
{
	if (!p)
		return;
	for (unsigned i = 0; i < LINE_RIGHTS; i++)
		for (unsigned k = 0; k < LINE_CONNS; k++)
			drop(&p->conn[i][k]);
	if (p->listener >= 0)
		close(p->listener);
	if (p->poll >= 0)
		close(p->poll);
	free(p);
}

void line_pool_leave(const struct line_pool *p)
{
	close(p->listener);
	close(p->poll);
}

static unsigned taken_by(const struct conn *of, uid_t uid)
{
	unsigned n = 0;

	for (unsigned i = 0; i < LINE_CONNS; i++)
		n += of[i].fd >= 0 && of[i].uid == uid;
	return n;
}

/*
 * A free place among those of the right; if there is none, that of the client of the user who has
 * most of them that has been there longest.
 */
static struct conn *room(struct conn *of)
{
	struct conn *c = NULL;
	unsigned most = 0;

	for (unsigned i = 0; i < LINE_CONNS; i++) {
		unsigned n;

		if (of[i].fd < 0)
			return &of[i];
		n = taken_by(of, of[i].uid);
		if (!c || n > most || (n == most && of[i].since_ns < c->since_ns)) {
			c = &of[i];
			most = n;
		}
	}
	drop(c);
	return c;
}

/* Only a sealed memfd: closing or reading anything else takes as long as who made it likes. */
static bool is_document(int doc)
{
	struct stat st;

	return bwl_agent_is_sealed(doc) && !fstat(doc, &st) && st.st_size <= DOC_MAX &&
	       st.st_blocks <= DOC_MAX / 512;
}

static bool has_unread(int fd)
{
	int n = 0;

	return ioctl(fd, SIOCINQ, &n) || n;
}

/* A whole line, or too much, has arrived: the connection is handed over. */
static void hand_on(struct line_pool *p, enum line_right right, struct conn *c, const char *end)
{
	size_t len = end ? (size_t)(end - c->in) : 0;
	bool more = end && c->n != len + 1;
	const char *wrong;
	int fd = c->fd, doc = c->doc;

	epoll_ctl(p->poll, EPOLL_CTL_DEL, fd, NULL);
	c->fd = c->doc = -1;
	if (p->conf.one_line)
		shutdown(fd, SHUT_RD); /* from here on the client cannot send */
	if (p->conf.one_line && has_unread(fd)) {
		/* What is unread may hang who closes it: that must not be who is handed it. */
		close(fd);
		if (doc >= 0)
			close(doc);
		return;
	}
	wrong = !end                            ? "the request is too long"
		: more                          ? "more than one request"
		: doc >= 0 && !is_document(doc) ? "the data must be a sealed memfd of at most 1 GiB"
						: NULL;
	if (doc >= 0 && wrong) {
		close(doc);
		doc = -1;
	}
	p->conf.said(p->conf.arg, right, fd, doc, wrong ? NULL : c->in, len, wrong);
}

/*
 * Keeps one descriptor and closes all others: where documents are not expected, all. -1: there was
 * more than one.
 */
static int take_doc(const struct line_pool *p, struct conn *c, struct msghdr *m)
{
	int fd, r = m->msg_flags & MSG_CTRUNC ? -1 : 0;

	for (struct cmsghdr *h = CMSG_FIRSTHDR(m); h; h = CMSG_NXTHDR(m, h)) {
		if (h->cmsg_level != SOL_SOCKET || h->cmsg_type != SCM_RIGHTS)
			continue;
		for (size_t at = 0; at + sizeof(fd) <= h->cmsg_len - CMSG_LEN(0);
		     at += sizeof(fd)) {
			memcpy(&fd, CMSG_DATA(h) + at, sizeof(fd));
			if (p->conf.documents && c->doc < 0) {
				c->doc = fd;
				continue;
			}
			close(fd);
			r = p->conf.documents ? -1 : r;
		}
	}
	return r;
}

static ssize_t receive(const struct line_pool *p, struct conn *c)
{
	union {
		char room[CMSG_SPACE(FDS_MAX * sizeof(int))];
		struct cmsghdr align;
	} ctl;
	struct iovec iov = { c->in + c->n, sizeof(c->in) - c->n };
	struct msghdr m = { .msg_iov = &iov,
			    .msg_iovlen = 1,
			    .msg_control = ctl.room,
			    .msg_controllen = sizeof(ctl.room) };
	ssize_t n = recvmsg(c->fd, &m, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);

	if (n >= 0 && take_doc(p, c, &m)) {
		errno = EBADMSG;
		return -1;
	}
	return n;
}

static void hear(struct line_pool *p, enum line_right right, struct conn *c)
{
	ssize_t n = receive(p, c);
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
		hand_on(p, right, c, end);
}

static void come(struct line_pool *p, int fd, uint64_t now_ns)
{
	enum line_right right = line_right_of(p->conf.who, fd);
	struct epoll_event ev = { .events = EPOLLIN };
	struct ucred who = { .uid = (uid_t)-1 };
	socklen_t len = sizeof(who);
	const int one = 1;
	struct conn *c;

	if (right == LINE_NOBODY || !(p->conf.who->may & 1U << right)) {
		close(fd);
		return;
	}
	/* Out-of-band data would be thrown away in the kernel, with the descriptors at it. */
	setsockopt(fd, SOL_SOCKET, SO_OOBINLINE, &one, sizeof(one));
	getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &who, &len);
	c = room(p->conn[right]);
	c->fd = fd;
	c->uid = who.uid;
	c->n = 0;
	c->since_ns = now_ns;
	epoll_ctl(p->poll, EPOLL_CTL_ADD, fd, &ev);
	hear(p, right, c); /* the line has usually arrived already: nobody can evict it then */
}

static void take(struct line_pool *p, uint64_t now_ns)
{
	for (unsigned i = 0; i < AT_ONCE; i++) {
		int fd = accept4(p->listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);

		if (fd < 0 && (errno == ECONNABORTED || errno == EINTR))
			continue;
		if (fd < 0)
			return;
		come(p, fd, now_ns);
	}
}

/* Who has more right is heard first. */
void line_pool_run(struct line_pool *p, uint64_t now_ns)
{
	for (unsigned right = 0; right < LINE_RIGHTS; right++) {
		for (unsigned i = 0; i < LINE_CONNS; i++) {
			struct conn *c = &p->conn[right][i];

			if (c->fd >= 0)
				hear(p, right, c);
			if (c->fd >= 0 && now_ns - c->since_ns > LINE_NS)
				drop(c);
		}
	}
	take(p, now_ns);
}
