// SPDX-License-Identifier: GPL-2.0-or-later
/* See subscribers.h. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>
#include "line_socket.h"
#include "subscribers.h"

struct subscriber {
	int fd;                     /* -1: free */
	struct line_socket *socket; /* by which it came */
	enum line_right right;
	uid_t uid;
	struct bwl_event_filter filter;
	uint64_t lost, behind; /* not reported yet; behind: those that did not fit the socket */
	uint64_t stuck_ns;     /* since when nothing fits; 0: it fits */
	uint64_t ends_ns; /* until then a reader that has ended its side gets the rest; 0: no */
	size_t nrest;     /* of a line that was sent in part */
	char rest[BWL_AGENT_LINE];
};

struct subscribers {
	const struct subscribers_rule *rule;
	struct line_socket *socket;
	struct bwl_event_losses losses;
	uint64_t now_ns, looked_ns;
	struct subscriber one[SUBSCRIBERS];
};

static void drop(struct subscriber *u)
{
	if (u->fd >= 0)
		line_hang_up(u->socket, u->right, u->fd);
	u->fd = -1;
}

/* Returns the bytes sent; -1: the subscriber has gone, and is dropped. */
static ssize_t push(struct subscriber *u, const char *buf, size_t n)
{
	ssize_t w;

	do
		w = send(u->fd, buf, n, MSG_DONTWAIT | MSG_NOSIGNAL);
	while (w < 0 && errno == EINTR);
	if (w < 0 && (errno == EAGAIN || errno == ENOBUFS))
		w = 0;
	if (w < 0)
		drop(u);
	return w;
}

/* false: there is no room. A line is taken whole; its unsent rest goes before anything else. */
static bool put(struct subscriber *u, const char *line, size_t n)
{
	ssize_t w = u->nrest ? push(u, u->rest, u->nrest) : 0;

	if (w < 0)
		return true;
	u->nrest -= (size_t)w;
	memmove(u->rest, u->rest + w, u->nrest);
	if (u->nrest)
		return false;
	w = n ? push(u, line, n) : 0;
	if (w <= 0)
		return w < 0 || !n;
	u->nrest = n - (size_t)w;
	memcpy(u->rest, line + w, u->nrest);
	return true;
}

/* Returns the length with the newline; 0: failure. Takes the reference. */
static size_t line_of(json_t *o, char buf[static BWL_AGENT_LINE])
{
	size_t n = json_dumpb(o, buf, BWL_AGENT_LINE - 1, JSON_COMPACT);

	json_decref(o);
	if (!n || n >= BWL_AGENT_LINE)
		return 0;
	buf[n++] = '\n';
	return n;
}

static bool put_doc(struct subscriber *u, json_t *o)
{
	char line[BWL_AGENT_LINE];

	return put(u, line, line_of(o, line));
}

/* Sends the rest of the last line, and what was lost. true: nothing of either is left. */
static bool catch_up(struct subscriber *u)
{
	if (!put(u, "", 0))
		return false;
	if (u->fd < 0 || !u->lost)
		return true;
	if (!put_doc(u, bwl_event_lost_doc(u->lost, u->behind)))
		return false;
	u->lost = u->behind = 0;
	return true;
}

void subscribers_event(struct subscribers *s, const struct bwl_event *e, uint64_t now_ns)
{
	char line[BWL_AGENT_LINE];
	size_t n = 0;

	for (unsigned i = 0; s && i < SUBSCRIBERS; i++) {
		struct subscriber *u = &s->one[i];

		if (u->fd < 0 || u->ends_ns || !bwl_filter_matches(&u->filter, s->rule->pins, e))
			continue;
		if (!n)
			n = line_of(bwl_event_doc(s->rule->pins, e), line);
		if (!n)
			return;
		if (catch_up(u) && (u->fd < 0 || put(u, line, n))) {
			u->stuck_ns = 0;
			continue;
		}
		u->lost++;
		u->behind++;
		if (!u->stuck_ns)
			u->stuck_ns = now_ns;
	}
}

/*
 * Adds to each subscriber what the data plane lost since the last look, of the events it asked for.
 */
static int look(struct subscribers *s, struct bwl_err *e)
{
	struct bwl_event_losses now;
	int r = s->rule->losses(s->rule->pins, &now, e);

	s->looked_ns = s->now_ns;
	if (r)
		return r;
	for (unsigned i = 0; i < SUBSCRIBERS; i++) {
		struct subscriber *u = &s->one[i];

		if (u->fd >= 0 && !u->ends_ns)
			u->lost += bwl_event_lost_between(&u->filter, s->rule->pins, &s->losses,
							  &now);
	}
	s->losses = now;
	return 0;
}

/* Places of who has more right are no place for who has less: the last are root's. */
static unsigned places_of(enum line_right right)
{
	return right == LINE_ROOT      ? SUBSCRIBERS
	       : right == LINE_OPERATE ? SUBSCRIBERS - SUBSCRIBERS_ROOT
				       : SUBSCRIBERS - SUBSCRIBERS_ROOT - SUBSCRIBERS_OPERATE;
}

static bool has_enough(const struct subscribers *s, uid_t uid)
{
	unsigned n = 0;

	for (unsigned i = 0; i < SUBSCRIBERS; i++)
		n += s->one[i].fd >= 0 && s->one[i].uid == uid;
	return uid && n >= SUBSCRIBERS_OF_ONE;
}

static struct subscriber *room(struct subscribers *s, enum line_right right, uid_t uid)
{
	struct subscriber *stuck = NULL;

	if (has_enough(s, uid))
		return NULL;
	for (unsigned i = places_of(right); i > 0;
	     i--) { /* its own first: they are the last ones */
		struct subscriber *u = &s->one[i - 1];

		if (u->fd < 0)
			return u;
		if (u->right >= right && u->stuck_ns && (!stuck || u->stuck_ns < stuck->stuck_ns))
			stuck = u;
	}
	if (!stuck || s->now_ns - stuck->stuck_ns < SUBSCRIBER_STUCK_NS)
		return NULL;
	drop(stuck);
	return stuck;
}

static void subscribe(void *arg, enum line_right right, int fd, int doc, const char *line,
		      size_t len, const char *wrong)
{
	const int bytes = SUBSCRIBER_BYTES;
	struct subscribers *s = arg;
	struct ucred who = { .uid = (uid_t)-1 };
	socklen_t n = sizeof(who);
	struct bwl_event_filter f;
	struct bwl_err e = { 0 };
	struct subscriber *u;

	(void)doc; /* the rule does not allow any */
	/* what was lost before it subscribed does not count as lost */
	if (!line || bwl_filter_parse(line, len, &f, &e) ||
	    bwl_filter_check(&f, s->rule->pins, &e) || look(s, &e)) {
		line_refuse(fd, line ? e.text : wrong, "bwlimit-ctl watch --help");
		line_hang_up(s->socket, right, fd);
		return;
	}
	getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &who, &n);
	u = room(s, right, who.uid);
	if (!u) {
		line_refuse(fd, "too many programs are reading the events", "end one of them");
		line_hang_up(s->socket, right, fd);
		return;
	}
	setsockopt(fd, SOL_SOCKET, SO_SNDBUF, &bytes, sizeof(bytes));
	*u = (struct subscriber){
		.fd = fd, .socket = s->socket, .right = right, .uid = who.uid, .filter = f
	};
	line_say(u->fd, json_pack("{s:s}", "by", "bwlimitd"));
}

/*
 * A subscriber sends nothing more: only its end can arrive. Anything else is not taken out of its
 * connection: there may be a descriptor with it, which who drops it has to close (line_porter.h).
 */
static void hear(struct subscribers *s, struct subscriber *u)
{
	char c;
	ssize_t n = u->ends_ns ? 0 : recv(u->fd, &c, 1, MSG_DONTWAIT | MSG_PEEK);

	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	if (n) {
		drop(u);
		return;
	}
	if (!u->ends_ns) {
		look(s, NULL);
		u->ends_ns = s->now_ns + LINE_NS;
	}
	if (catch_up(u) || s->now_ns >= u->ends_ns)
		drop(u);
}

void subscribers_run(struct subscribers *s, uint64_t now_ns)
{
	bool any = false;

	if (!s)
		return;
	s->now_ns = now_ns;
	line_socket_run(s->socket, now_ns);
	for (unsigned i = 0; i < SUBSCRIBERS; i++)
		any |= s->one[i].fd >= 0;
	if (any && now_ns - s->looked_ns >= SUBSCRIBERS_LOOK_NS)
		look(s, NULL);
	for (unsigned i = 0; i < SUBSCRIBERS; i++) {
		struct subscriber *u = &s->one[i];

		if (u->fd >= 0)
			hear(s, u);
		if (u->fd >= 0 && catch_up(u))
			u->stuck_ns = 0;
	}
}

/*
 * Two groups may connect, but a file has only one group, which a process without CAP_CHOWN cannot
 * even choose: so everybody may connect if there is such a group, and clients are then checked. Who
 * is in one has a door as well.
 */
static const struct line_rule rules[2][2] = {
	{ { .mode = 0600, .alone = true, .stays = true, .said = subscribe },
	  { .mode = 0600, .alone = true, .stays = true, .said = subscribe } },
	{ { .mode = 0666, .stays = true, .said = subscribe },
	  { .mode = 0666, .alone = true, .stays = true, .said = subscribe } },
};

int subscribers_open(const char *path, const struct subscribers_rule *rule,
		     struct subscribers **ret, struct bwl_err *e)
{
	bool groups = rule->who.has[LINE_OPERATE] || rule->who.has[LINE_READ];
	struct subscribers *s = calloc(1, sizeof(*s));
	int r;

	*ret = NULL;
	if (!s)
		return bwl_fail(e, ENOMEM, "out of memory");
	s->rule = rule;
	for (unsigned i = 0; i < SUBSCRIBERS; i++)
		s->one[i].fd = -1;
	r = line_socket_open(path, &rules[groups][rule->alone], &rule->who, s, &s->socket, e);
	if (r)
		subscribers_close(s);
	else
		*ret = s;
	return r;
}

int subscribers_fd(const struct subscribers *s)
{
	return s ? line_socket_fd(s->socket) : -1;
}

void subscribers_close(struct subscribers *s)
{
	if (!s)
		return;
	for (unsigned i = 0; i < SUBSCRIBERS; i++)
		drop(&s->one[i]);
	line_socket_close(s->socket);
	free(s);
}
