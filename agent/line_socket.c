// SPDX-License-Identifier: GPL-2.0-or-later
/* See line_socket.h. */
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/stat.h>
#include <unistd.h>
#include "bwl/door.h"
#include "line_porter.h"
#include "line_socket.h"

#define BASE LINE_RIGHTS /* the socket without an ending, for everybody who may */

#define LEFT_MAX 64
#define CLOSE_MS 2000 /* how long a process may take to start when all ends */

/* A connection that is given back as soon as no process is being started. */
struct left {
	enum line_right right;
	int fd;
};

struct line_socket {
	const struct line_rule *rule;
	void *arg;
	int poll;
	struct line_who who;
	struct line_pool *alone;                     /* NULL: there are porters */
	struct line_porter *porter[LINE_RIGHTS + 1]; /* NULL: no such door */
	struct left left[LEFT_MAX];
	unsigned nleft;
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

static int watch(struct line_socket *s, int fd, struct bwl_err *e)
{
	struct epoll_event ev = { .events = EPOLLIN };

	if (!epoll_ctl(s->poll, EPOLL_CTL_ADD, fd, &ev))
		return 0;
	return bwl_fail(e, errno, "cannot watch a socket: %s", strerror(errno));
}

static int start(struct line_socket *s, unsigned door, const char *path, unsigned mode, gid_t gid,
		 struct bwl_err *e)
{
	struct line_who *who = calloc(1, sizeof(*who));
	const struct line_pool_conf c = { .path = path,
					  .mode = mode,
					  .gid = gid,
					  .documents = s->rule->documents,
					  .one_line = !s->rule->stays };
	int r;

	if (!who)
		return bwl_fail(e, ENOMEM, "out of memory");
	*who = s->who;
	r = line_porter_start(&c, who, &s->porter[door], e);
	if (r) {
		free(who);
		return r;
	}
	return watch(s, line_porter_fd(s->porter[door]), e);
}

/*
 * Who has a right but no door of its own, because its group is not there or bwlimitd may not give
 * files to it, comes by the base.
 */
static void start_door(struct line_socket *s, enum line_right right, const char *base)
{
	static const char *const endings[LINE_RIGHTS] = { [LINE_ROOT] = BWL_DOOR_ROOT,
							  [LINE_OPERATE] = BWL_DOOR_OPERATE,
							  [LINE_READ] = BWL_DOOR_READ,
							  [LINE_SYNC] = BWL_DOOR_SYNC };
	char path[sizeof(((struct sockaddr_un *)0)->sun_path)];

	if ((size_t)snprintf(path, sizeof(path), "%s%s", base, endings[right]) >= sizeof(path))
		return;
	unlink(path); /* of a process that had the group */
	if (right == LINE_ROOT)
		start(s, right, path, 0600, (gid_t)-1, NULL);
	else if (s->who.has[right])
		start(s, right, path, 0660, s->who.gid[right], NULL);
}

static int open_alone(struct line_socket *s, const char *path, struct bwl_err *e)
{
	const struct line_pool_conf c = { .path = path,
					  .mode = s->rule->mode,
					  .gid = (gid_t)-1,
					  .documents = s->rule->documents,
					  .who = &s->who,
					  .said = s->rule->said,
					  .arg = s->arg };
	int r;

	r = line_pool_open(&c, &s->alone, e);
	return r ? r : watch(s, line_pool_fd(s->alone), e);
}

int line_socket_open(const char *path, const struct line_rule *rule, const struct line_who *who,
		     void *arg, struct line_socket **ret, struct bwl_err *e)
{
	struct line_socket *s = calloc(1, sizeof(*s));
	int r = 0;

	*ret = NULL;
	if (!s)
		return bwl_fail(e, ENOMEM, "out of memory");
	s->rule = rule;
	s->who = *who;
	s->arg = arg;
	s->poll = epoll_create1(EPOLL_CLOEXEC);
	if (s->poll < 0)
		r = bwl_fail(e, errno, "cannot watch a socket: %s", strerror(errno));
	else
		r = rule->alone ? open_alone(s, path, e)
				: start(s, BASE, path, rule->mode, (gid_t)-1, e);
	for (unsigned i = 0; !r && !rule->alone && i < LINE_RIGHTS; i++)
		if (who->may & 1U << i)
			start_door(s, i, path);
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

void line_socket_sync(struct line_socket *s, uid_t uid)
{
	for (unsigned i = 0; i <= LINE_RIGHTS; i++)
		if (s->porter[i])
			__atomic_store_n(&line_porter_who(s->porter[i])->sync, uid,
					 __ATOMIC_RELAXED);
}

/* By the porter of its right if there is one: then it hangs nobody else. */
static bool is_given_back(const struct line_socket *s, const struct left *l)
{
	struct line_porter *t = s->porter[l->right] ? s->porter[l->right] : s->porter[BASE];

	return t ? line_porter_take_back(t, l->fd) : !close(l->fd);
}

static void give_back(struct line_socket *s)
{
	while (s->nleft && is_given_back(s, &s->left[s->nleft - 1]))
		s->nleft--;
}

void line_hang_up(struct line_socket *s, enum line_right right, int fd)
{
	give_back(s);
	if (s->nleft < LEFT_MAX)
		s->left[s->nleft++] = (struct left){ right, fd };
	else
		close(fd);
	give_back(s);
}

/* Who has more right is heard first. */
void line_socket_run(struct line_socket *s, uint64_t now_ns)
{
	if (!s)
		return;
	give_back(s);
	if (s->alone)
		line_pool_run(s->alone, now_ns);
	for (unsigned i = 0; i <= LINE_RIGHTS; i++)
		if (s->porter[i])
			line_porter_run(s->porter[i], s->rule->said, s->arg);
}

void line_socket_close(struct line_socket *s)
{
	if (!s)
		return;
	for (unsigned i = 0; s->nleft && i < CLOSE_MS; i++) {
		give_back(s);
		if (s->nleft)
			poll(NULL, 0, 1);
	}
	for (unsigned i = 0; i <= LINE_RIGHTS; i++)
		line_porter_stop(s->porter[i]);
	if (s->alone)
		line_pool_unlink(s->alone);
	line_pool_close(s->alone);
	if (s->poll >= 0)
		close(s->poll);
	free(s);
}

bool line_has_gone(int fd)
{
	struct pollfd p = { .fd = fd };

	return poll(&p, 1, 0) > 0 && (p.revents & (POLLHUP | POLLERR));
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
