// SPDX-License-Identifier: GPL-2.0-or-later
/* See line_porter.h. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>
#include "bwl/agent.h"
#include "bwl/cleanup.h"
#include "bwl/clock.h"
#include "bwl/fds.h"
#include "line_porter.h"

#define EVERY_MS 200 /* looks for clients whose time is over */
#define STOP_MS 2000 /* how long a process may take to start when all ends */
#define STACK_BYTES (256 * 1024)
#define HANDED_MAX 64 /* of one porter in one call: others have their turn */

struct line_porter {
	atomic_uint users; /* this thread, and the one that is handed what arrives */
	struct line_pool *pool;
	struct line_who *who;
	int ours, its; /* the two ends of the way between both */
};

/* One message: the head, the line, and the descriptors: the connection, and a document or none. */
struct handed {
	enum line_right right;
	char wrong[60]; /* empty: nothing is */
	char line[BWL_AGENT_LINE];
};
#define HEAD offsetof(struct handed, line)

static pthread_mutex_t spawning = PTHREAD_MUTEX_INITIALIZER;

void line_spawn_begin(void)
{
	pthread_mutex_lock(&spawning);
}

void line_spawn_end(void)
{
	pthread_mutex_unlock(&spawning);
}

/* fd[0] and fd[1]: -1 where there is none. */
static ssize_t receive_fds(int from, void *buf, size_t len, int fd[2])
{
	union {
		char room[CMSG_SPACE(2 * sizeof(int))];
		struct cmsghdr align;
	} ctl;
	struct iovec iov = { buf, len };
	struct msghdr m = { .msg_iov = &iov,
			    .msg_iovlen = 1,
			    .msg_control = ctl.room,
			    .msg_controllen = sizeof(ctl.room) };
	ssize_t n = recvmsg(from, &m, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
	struct cmsghdr *h = n < 0 ? NULL : CMSG_FIRSTHDR(&m);

	fd[0] = fd[1] = -1;
	if (h && h->cmsg_type == SCM_RIGHTS)
		memcpy(fd, CMSG_DATA(h), h->cmsg_len - CMSG_LEN(0));
	return n;
}

/* In the porter. It waits while nobody takes: so does who comes next, by the same door. */
static void hand_on(void *arg, enum line_right right, int fd, int doc, const char *line, size_t len,
		    const char *wrong)
{
	struct line_porter *t = arg;
	const int fds[2] = { fd, doc };
	struct handed h = { .right = right };

	snprintf(h.wrong, sizeof(h.wrong), "%s", wrong ? wrong : "");
	if (line)
		memcpy(h.line, line, len);
	bwl_send_fds(t->its, &h, HEAD + (line ? len : 0), fds, doc >= 0 ? 2 : 1, 0);
	close(fd);
	if (doc >= 0)
		close(doc);
}

static void let_go(struct line_porter *t)
{
	if (atomic_fetch_sub(&t->users, 1) != 1)
		return;
	free(t->who);
	free(t);
}

/*
 * The descriptors of this thread are now its own, and only those that it needs. false: the kernel
 * refuses that. What hangs it then is in the table of all, but hangs it alone.
 */
static bool is_apart(const struct line_porter *t)
{
	const int keep[] = { t->its, line_pool_listener(t->pool), line_pool_fd(t->pool) };
	unsigned at = STDERR_FILENO + 1;

	if (unshare(CLONE_FILES))
		return false;
	for (;;) {
		unsigned next = ~0U;

		for (unsigned i = 0; i < 3; i++)
			if ((unsigned)keep[i] >= at && (unsigned)keep[i] < next)
				next = (unsigned)keep[i];
		if (next > at)
			close_range(at, next == ~0U ? next : next - 1, 0);
		if (next == ~0U)
			return true;
		at = next + 1;
	}
}

static void *run(void *arg)
{
	struct line_porter *t = arg;
	struct pollfd p[2];
	int back[2];
	char c;

	c = is_apart(t) ? 'y' : 'n';
	send(t->its, &c, 1, MSG_NOSIGNAL);
	p[0] = (struct pollfd){ .fd = line_pool_fd(t->pool), .events = POLLIN };
	p[1] = (struct pollfd){ .fd = t->its, .events = POLLIN };
	for (;;) {
		poll(p, 2, line_pool_is_empty(t->pool) ? -1 : EVERY_MS);
		while (receive_fds(t->its, &c, 1, back) > 0)
			if (back[0] >= 0)
				close(back[0]);
		if (p[1].revents & POLLHUP)
			break;
		line_pool_run(t->pool, bwl_now_ns());
	}
	line_pool_close(t->pool);
	close(t->its);
	let_go(t);
	return NULL;
}

static int begin(struct line_porter *t, struct bwl_err *e)
{
	pthread_attr_t attr;
	pthread_t thread;
	char apart = 'n';
	int r;

	pthread_attr_init(&attr);
	pthread_attr_setstacksize(&attr, STACK_BYTES);
	pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED);
	r = pthread_create(&thread, &attr, run, t);
	pthread_attr_destroy(&attr);
	if (r)
		return bwl_fail(e, r, "cannot start a thread: %s", strerror(r));
	while (recv(t->ours, &apart, 1, 0) < 0 && errno == EINTR)
		;
	if (apart == 'y') { /* these numbers are the porter's from now on */
		close(t->its);
		line_pool_leave(t->pool);
	}
	return 0;
}

int line_porter_start(const struct line_pool_conf *c, struct line_who *who,
		      struct line_porter **ret, struct bwl_err *e)
{
	struct line_porter *t = calloc(1, sizeof(*t));
	struct line_pool_conf conf = *c;
	int pair[2], r = 0;

	if (!t)
		return bwl_fail(e, ENOMEM, "out of memory");
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair)) {
		free(t);
		return bwl_fail(e, errno, "cannot make a socket pair: %s", strerror(errno));
	}
	t->ours = pair[0];
	t->its = pair[1];
	t->who = who;
	atomic_init(&t->users, 2);
	conf.who = who;
	conf.said = hand_on;
	conf.arg = t;
	r = line_pool_open(&conf, &t->pool, e);
	if (!r)
		r = begin(t, e);
	if (!r) {
		*ret = t;
		return 0;
	}
	if (t->pool)
		line_pool_unlink(t->pool);
	line_pool_close(t->pool);
	close(t->ours);
	close(t->its);
	free(t);
	return r;
}

int line_porter_fd(const struct line_porter *t)
{
	return t->ours;
}

struct line_who *line_porter_who(struct line_porter *t)
{
	return t->who;
}

void line_porter_run(struct line_porter *t, line_said said, void *arg)
{
	for (unsigned i = 0; i < HANDED_MAX; i++) {
		struct handed h;
		int fd[2];
		ssize_t n = receive_fds(t->ours, &h, sizeof(h), fd);

		if (n < (ssize_t)HEAD || fd[0] < 0)
			return;
		said(arg, h.right, fd[0], fd[1], *h.wrong ? NULL : h.line, (size_t)n - HEAD,
		     *h.wrong ? h.wrong : NULL);
	}
}

bool line_porter_take_back(struct line_porter *t, int fd)
{
	if (pthread_mutex_trylock(&spawning))
		return false; /* its disk may hang */
	bwl_send_fds(t->ours, "", 1, &fd, 1, MSG_DONTWAIT);
	close(fd);
	line_spawn_end();
	return true;
}

/* What is on its way here goes back, too. */
void line_porter_stop(struct line_porter *t)
{
	struct handed h;
	int fd[2];

	if (!t)
		return;
	line_pool_unlink(t->pool);
	shutdown(t->ours, SHUT_RD);
	while (receive_fds(t->ours, &h, sizeof(h), fd) > 0) {
		for (unsigned i = 0; fd[0] >= 0 && !line_porter_take_back(t, fd[0]); i++) {
			if (i == STOP_MS / 10) {
				close(fd[0]);
				break;
			}
			poll(NULL, 0, 10);
		}
		if (fd[1] >= 0)
			close(fd[1]);
	}
	close(t->ours);
	let_go(t);
}
