// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * VICI over charon's socket. Nothing here waits without a deadline: a hanging (or stopped) charon
 * must not block a revocation.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>
#include "ipsec/vici.h"
#include "hold_socket.h"

struct bwl_vici {
	int fd;
	bool broken;
	uint64_t timeout_ns;
	char path[sizeof(((struct sockaddr_un *)0)->sun_path)];
	uint8_t *in; /* received bytes of the current packet, with its length in front */
	size_t have, room;
	uint8_t *out; /* commands to post */
	size_t out_len;
};

static uint64_t mono_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000ULL + (uint64_t)t.tv_nsec;
}

/* Waits until the socket is ready (1) or the deadline is over (0); or -errno. */
static int ready(struct bwl_vici *v, short events, uint64_t deadline)
{
	struct pollfd p = { .fd = v->fd, .events = events };
	uint64_t now = mono_ns(), left = deadline > now ? deadline - now : 0;
	struct timespec t = { (time_t)(left / 1000000000ULL), (long)(left % 1000000000ULL) };
	int r;

	do
		r = ppoll(&p, 1, &t, NULL);
	while (r < 0 && errno == EINTR && mono_ns() < deadline);
	if (r < 0)
		return errno == EINTR ? 0 : -errno;
	return r;
}

static int lost(struct bwl_vici *v, int code, const char *what, struct bwl_err *e)
{
	int r;

	v->broken = true;
	if (code == ETIMEDOUT) {
		r = bwl_fail(e, code, "%s: charon does not answer (%s)", v->path, what);
		bwl_hint(
			e,
			"it hangs or is stopped: systemctl restart strongswan (this ends its SAs)");
	} else {
		r = bwl_fail(e, code, "%s: %s: %s", v->path, what, strerror(code));
		bwl_hint(e, "systemctl status strongswan");
	}
	return r;
}

static int connect_by(struct bwl_vici *v, uint64_t deadline)
{
	struct sockaddr_un a = { .sun_family = AF_UNIX };

	memcpy(a.sun_path, v->path, sizeof(a.sun_path));
	while (connect(v->fd, (struct sockaddr *)&a, sizeof(a))) {
		/*
		 * EAGAIN: charon accepts nothing and its queue is full; poll cannot wait for that
		 */
		if (errno != EAGAIN && errno != EINTR)
			return errno;
		if (mono_ns() >= deadline)
			return ETIMEDOUT;
		nanosleep(&(struct timespec){ .tv_nsec = 5000000 }, NULL);
	}
	return 0;
}

int bwl_vici_open(const char *socket_path, uint64_t timeout_ns, struct bwl_vici **ret,
		  struct bwl_err *e)
{
	const char *path = socket_path ? socket_path : BWL_VICI_SOCKET;
	struct bwl_vici *v;
	int r;

	/* swanctl's notation */
	if (!strncmp(path, "unix://", 7))
		path += 7;
	if (strlen(path) >= sizeof(v->path))
		return bwl_fail(e, ENAMETOOLONG,
				"'%.64s…' is too long for a socket: at most %zu characters", path,
				sizeof(v->path) - 1);
	v = calloc(1, sizeof(*v));
	if (!v)
		return bwl_fail(e, ENOMEM, "out of memory");
	strcpy(v->path, path);
	v->timeout_ns = timeout_ns;
	v->fd = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	r = v->fd < 0 ? errno : connect_by(v, mono_ns() + timeout_ns);
	if (!r) {
		*ret = v;
		return 0;
	}
	if (r == ETIMEDOUT) {
		lost(v, r, "connecting", e);
	} else {
		bwl_fail(e, r, "cannot reach charon at %s: %s", path, strerror(r));
		if (r == EACCES || r == EPERM)
			bwl_hint(e, "run as root");
		else
			bwl_hint(
				e,
				"systemctl start strongswan, or --vici SOCKET if its socket is elsewhere");
	}
	bwl_vici_close(v);
	return -r;
}

void bwl_vici_close(struct bwl_vici *v)
{
	if (!v)
		return;
	if (v->fd >= 0)
		close(v->fd);
	free(v->in);
	free(v->out);
	free(v);
}

void bwl_vici_set_timeout(struct bwl_vici *v, uint64_t timeout_ns)
{
	v->timeout_ns = timeout_ns;
}

int bwl_vici_add(struct bwl_vici *v, const char *command, json_t *args)
{
	uint8_t *data = NULL, *grown;
	size_t len = 0;
	int r = bwl_vici_encode(BWL_VICI_REQUEST, command, args, &data, &len, NULL);

	if (r)
		return r;
	grown = realloc(v->out, v->out_len + len);
	if (grown) {
		v->out = grown;
		memcpy(v->out + v->out_len, data, len);
		v->out_len += len;
	}
	free(data);
	return grown ? 0 : -ENOMEM;
}

/*
 * Sends everything at once, with room for everything: a small packet occupies far more of a
 * socket's buffer than its length; of a thousand that are sent one by one some 250 fit (Linux
 * 6.18).
 */
int bwl_vici_post(struct bwl_vici *v)
{
	int room = v->out_len < INT_MAX / 2 ? (int)v->out_len + 65536 : INT_MAX / 2;
	ssize_t n;

	v->broken = true;
	if (setsockopt(v->fd, SOL_SOCKET, SO_SNDBUFFORCE, &room, sizeof(room)))
		setsockopt(v->fd, SOL_SOCKET, SO_SNDBUF, &room, sizeof(room));
	n = send(v->fd, v->out, v->out_len, MSG_NOSIGNAL | MSG_DONTWAIT);
	if (n < 0)
		return -errno;
	if ((size_t)n == v->out_len)
		return bwl_linger(v->fd);
	/* half a command would become the beginning of the next one */
	shutdown(v->fd, SHUT_WR);
	return -EAGAIN;
}

static int send_by(struct bwl_vici *v, enum bwl_vici_op op, const char *name, json_t *msg,
		   uint64_t deadline, struct bwl_err *e)
{
	uint8_t *data = NULL;
	size_t len = 0;
	int r;

	if (v->broken)
		return bwl_fail(e, ENOTCONN, "%s: lost the connection to charon", v->path);
	r = bwl_vici_encode(op, name, msg, &data, &len, e);
	for (size_t done = 0; !r && done < len;) {
		ssize_t n = send(v->fd, data + done, len - done, MSG_NOSIGNAL);

		if (n >= 0) {
			done += (size_t)n;
		} else if (errno == EAGAIN) {
			int p = ready(v, POLLOUT, deadline);

			r = p > 0 ? 0 : lost(v, p ? -p : ETIMEDOUT, name, e);
		} else if (errno != EINTR) {
			r = lost(v, errno, name, e);
		}
	}
	free(data);
	return r;
}

/* Makes room for `want` bytes from the packet's start. */
static int make_room(struct bwl_vici *v, size_t want, struct bwl_err *e)
{
	uint8_t *grown;

	if (want <= v->room)
		return 0;
	grown = realloc(v->in, want);
	if (!grown)
		return bwl_fail(e, ENOMEM, "out of memory");
	v->in = grown;
	v->room = want;
	return 0;
}

/*
 * After -ETIMEDOUT the connection can still be used, and what was received is kept for the next
 * call.
 */
static int receive_by(struct bwl_vici *v, const char *what, uint64_t deadline,
		      struct bwl_vici_packet *ret, struct bwl_err *e)
{
	size_t want = 4;
	ssize_t n;
	int r;

	if (v->broken)
		return bwl_fail(e, ENOTCONN, "%s: lost the connection to charon", v->path);
	for (;;) {
		if (v->have >= 4) {
			want = (size_t)v->in[0] << 24 | v->in[1] << 16 | v->in[2] << 8 | v->in[3];
			if (want > BWL_VICI_MAX)
				return lost(v, EBADMSG, what, e);
			want += 4;
			if (v->have == want)
				break;
		}
		r = make_room(v, want, e);
		if (r)
			return r;
		n = recv(v->fd, v->in + v->have, want - v->have, 0);
		if (n > 0) {
			v->have += (size_t)n;
			continue;
		}
		if (!n)
			return lost(v, ECONNRESET, what, e);
		if (errno == EINTR)
			continue;
		if (errno != EAGAIN)
			return lost(v, errno, what, e);
		r = ready(v, POLLIN, deadline);
		if (r < 0)
			return lost(v, -r, what, e);
		if (!r)
			return -ETIMEDOUT;
	}
	v->have = 0;
	r = bwl_vici_decode(v->in + 4, want - 4, ret, e);
	if (r)
		v->broken = true;
	return r;
}

/* Waits for the answer to a request or registration. Events before it go to fn, or are dropped. */
static int answer_by(struct bwl_vici *v, const char *what, const char *event,
		     int (*fn)(void *arg, json_t *msg), void *arg, uint64_t deadline,
		     struct bwl_vici_packet *ret, struct bwl_err *e)
{
	int r, stopped = 0;

	for (;;) {
		r = receive_by(v, what, deadline, ret, e);
		if (r == -ETIMEDOUT)
			r = lost(v, ETIMEDOUT, what, e);
		if (r)
			return r;
		if (ret->op != BWL_VICI_EVENT)
			break;
		if (fn && !stopped && !strcmp(ret->name, event))
			stopped = fn(arg, ret->msg);
		json_decref(ret->msg);
	}
	if (!stopped)
		return 0;
	json_decref(ret->msg);
	return stopped;
}

static int registration(struct bwl_vici *v, enum bwl_vici_op op, const char *event,
			uint64_t deadline, struct bwl_err *e)
{
	struct bwl_vici_packet p;
	int r;

	r = send_by(v, op, event, NULL, deadline, e);
	if (!r)
		r = answer_by(v, event, NULL, NULL, NULL, deadline, &p, e);
	if (r)
		return r;
	json_decref(p.msg);
	if (p.op != BWL_VICI_CONFIRM)
		return bwl_fail(e, EOPNOTSUPP, "charon knows no event '%s'", event);
	return 0;
}

int bwl_vici_register(struct bwl_vici *v, const char *event, struct bwl_err *e)
{
	return registration(v, BWL_VICI_REGISTER, event, mono_ns() + v->timeout_ns, e);
}

static int command_by(struct bwl_vici *v, const char *command, json_t *args, const char *event,
		      int (*fn)(void *arg, json_t *msg), void *arg, uint64_t deadline, json_t **ret,
		      struct bwl_err *e)
{
	struct bwl_vici_packet p;
	int r;

	r = send_by(v, BWL_VICI_REQUEST, command, args, deadline, e);
	if (!r)
		r = answer_by(v, command, event, fn, arg, deadline, &p, e);
	if (r)
		return r;
	if (p.op == BWL_VICI_UNKNOWN_COMMAND)
		r = bwl_fail(e, EOPNOTSUPP, "this charon knows no command '%s'", command);
	else if (p.op != BWL_VICI_RESPONSE)
		r = lost(v, EBADMSG, command, e);
	else if (!strcmp(bwl_vici_text(p.msg, "success"), "no"))
		r = bwl_fail(e, EREMOTEIO, "charon refuses %s: %s", command,
			     *bwl_vici_text(p.msg, "errmsg") ? bwl_vici_text(p.msg, "errmsg")
							     : "no reason given");
	if (!r && ret)
		*ret = json_incref(p.msg);
	json_decref(p.msg);
	return r;
}

int bwl_vici_call(struct bwl_vici *v, const char *command, json_t *args, json_t **ret,
		  struct bwl_err *e)
{
	return command_by(v, command, args, NULL, NULL, NULL, mono_ns() + v->timeout_ns, ret, e);
}

int bwl_vici_stream(struct bwl_vici *v, const char *command, const char *event, json_t *args,
		    int (*fn)(void *arg, json_t *msg), void *arg, struct bwl_err *e)
{
	uint64_t deadline = mono_ns() + v->timeout_ns;
	int r, r2;

	r = registration(v, BWL_VICI_REGISTER, event, deadline, e);
	if (r)
		return r;
	r = command_by(v, command, args, event, fn, arg, deadline, NULL, e);
	if (v->broken)
		return r;
	r2 = registration(v, BWL_VICI_UNREGISTER, event, deadline, r ? NULL : e);
	return r ? r : r2;
}

int bwl_vici_wait(struct bwl_vici *v, uint64_t timeout_ns, char name[static 256], json_t **ret,
		  struct bwl_err *e)
{
	uint64_t deadline = mono_ns() + timeout_ns;
	struct bwl_vici_packet p = { 0 };
	int r;

	r = receive_by(v, "waiting for events", deadline, &p, e);
	if (r == -ETIMEDOUT)
		return bwl_fail(e, ETIMEDOUT, "no event yet");
	if (r)
		return r;
	if (p.op != BWL_VICI_EVENT) {
		json_decref(p.msg);
		return lost(v, EBADMSG, "waiting for events", e);
	}
	memcpy(name, p.name, sizeof(p.name));
	*ret = p.msg;
	return 0;
}
