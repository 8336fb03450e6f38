// SPDX-License-Identifier: GPL-2.0-or-later
/* See handover.h. Nothing here waits, except for connect(2) to a socket of this machine. */
#include <fcntl.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>
#include "bwl/agent.h"
#include "bwl/bytes.h"
#include "bwl/cleanup.h"
#include "bwl/clock.h"
#include "bwl/door.h"
#include "bwl/fds.h"
#include "handover.h"

#define ANSWER_NS (120 * SYNC_S) /* a large policy is put in force before the answer */
#define STATUS LANE_COUNT

BWL_AUTO_DEFINE(json_decref, json_t *)

struct talk {
	int fd; /* -1: none */
	uint64_t end_ns;
	size_t n;
	char line[BWL_AGENT_STATUS];
};

struct handover {
	const char *path;
	struct talk talk[HANDOVER_FDS];
};

struct handover *handover_new(const char *path)
{
	struct handover *h = bwl_must(calloc(1, sizeof(*h)));

	h->path = path;
	for (unsigned i = 0; i < HANDOVER_FDS; i++)
		h->talk[i].fd = -1;
	return h;
}

static void hang_up(struct talk *t)
{
	if (t->fd >= 0)
		close(t->fd);
	t->fd = -1;
	t->n = 0;
}

void handover_free(struct handover *h)
{
	if (!h)
		return;
	for (unsigned i = 0; i < HANDOVER_FDS; i++)
		hang_up(&h->talk[i]);
	free(h);
}

static int reach(const struct handover *h, struct bwl_err *e)
{
	BWL_AUTO_CLOSE int fd = -1;

	if (strlen(h->path) >= sizeof(((struct sockaddr_un *)0)->sun_path))
		return bwl_fail(e, ENAMETOOLONG, "'%.100s…' is too long for the path of a socket",
				h->path);
	fd = bwl_door_connect(h->path, SOCK_NONBLOCK, 0);
	if (fd < 0) {
		errno = -fd;
		bwl_fail(e, errno, "cannot hand documents to bwlimitd at '%s': %m", h->path);
		return bwl_hint(
			e,
			"systemctl status bwlimitd; check that this user is in group bwlimit-sync");
	}
	return bwl_take_fd(&fd);
}

/* The process that owns the socket: a restarted bwlimitd is a different one. */
static long who(void *arg)
{
	BWL_AUTO_CLOSE int fd = reach(arg, NULL);
	struct ucred peer;
	socklen_t len = sizeof(peer);

	if (fd < 0 || getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &len))
		return 0;
	return peer.pid;
}

/* One message to the kernel: the line fits into an empty buffer. */
static int say(int fd, const json_t *what, int doc)
{
	char line[BWL_AGENT_LINE];
	size_t len = json_dumpb(what, line, sizeof(line) - 1, JSON_COMPACT);

	if (!len || len >= sizeof(line))
		return -EMSGSIZE;
	line[len] = '\n';
	return bwl_send_fds(fd, line, len + 1, &doc, doc >= 0, 0) == (ssize_t)(len + 1) ? 0 : -EIO;
}

static int sealed(const void *bytes, size_t len)
{
	BWL_AUTO_CLOSE int fd = memfd_create("bwlimit", MFD_CLOEXEC | MFD_ALLOW_SEALING);

	if (fd < 0 || bwl_bytes_write(fd, bytes, len) || lseek(fd, 0, SEEK_SET) ||
	    fcntl(fd, F_ADD_SEALS, BWL_AGENT_SEALS))
		return -1;
	return bwl_take_fd(&fd);
}

static int begin(struct handover *h, unsigned which, const json_t *what, int doc, struct bwl_err *e)
{
	struct talk *t = &h->talk[which];

	hang_up(t);
	t->fd = reach(h, e);
	if (t->fd < 0)
		return t->fd = -1, -e->code;
	if (say(t->fd, what, doc)) {
		hang_up(t);
		return bwl_fail(e, EIO, "bwlimitd hung up");
	}
	t->end_ns = bwl_now_ns() + ANSWER_NS;
	return 0;
}

static int give(void *arg, enum doc_lane lane, const struct bwl_doc_at *at, const void *bytes,
		size_t len, struct bwl_err *e)
{
	BWL_AUTO_CLOSE int doc = sealed(bytes, len);
	BWL_AUTO(json_decref)
	json_t *what = json_pack("{s:s, s:s, s:s, s:I}", "verb", "document", "type",
				 bwl_doc_kind_name(at->kind), "name", at->name, "size",
				 (json_int_t)len);

	if (doc < 0)
		return bwl_fail(e, errno, "no memory for a document of %zu bytes: %m", len);
	return begin(arg, lane, what, doc, e);
}

enum heard { HEARD_NOTHING, HEARD_LINE, HEARD_END };

static enum heard hear(struct talk *t)
{
	ssize_t r;

	while (!memchr(t->line, '\n', t->n)) {
		if (t->n == sizeof(t->line))
			return HEARD_END;
		r = recv(t->fd, t->line + t->n, sizeof(t->line) - t->n, 0);
		if (r < 0 && errno == EINTR)
			continue;
		if (r < 0 && errno == EAGAIN)
			return bwl_now_ns() < t->end_ns ? HEARD_NOTHING : HEARD_END;
		if (r <= 0)
			return HEARD_END;
		t->n += (size_t)r;
	}
	return HEARD_LINE;
}

/* The next line as an object; NULL: it is invalid. */
static json_t *take_line(struct talk *t)
{
	char *end = memchr(t->line, '\n', t->n);
	json_t *o = json_loadb(t->line, (size_t)(end - t->line), JSON_REJECT_DUPLICATES, NULL);

	t->n -= (size_t)(end + 1 - t->line);
	memmove(t->line, end + 1, t->n);
	return o;
}

/* Refused until its time comes. */
static bool is_early(const json_t *answer)
{
	const char *id = json_string_value(json_object_get(answer, "id"));

	return id && !strcmp(id, "signed-early");
}

static enum given look(void *arg, enum doc_lane lane, struct bwl_err *why)
{
	struct talk *t = &((struct handover *)arg)->talk[lane];
	enum given given = GIVEN_AWAY;
	enum heard heard;
	const char *error;

	if (t->fd < 0) {
		bwl_fail(why, EIO, "bwlimitd hung up");
		return GIVEN_AWAY;
	}
	while ((heard = hear(t)) == HEARD_LINE) {
		BWL_AUTO(json_decref) json_t *o = take_line(t);

		if (json_is_true(json_object_get(o, "taken")))
			continue; /* it is being processed; the answer will follow */
		error = json_string_value(json_object_get(o, "error"));
		if (error) {
			const char *todo = json_string_value(json_object_get(o, "todo"));

			bwl_fail(why, EPERM, "%s", error);
			if (todo)
				bwl_hint(why, "%s", todo);
			given = is_early(o) ? GIVEN_EARLY : GIVEN_REFUSED;
		} else if (json_object_get(o, "by")) {
			given = GIVEN_TAKEN;
		} else {
			bwl_fail(why, EBADMSG, "cannot parse bwlimitd's answer");
			given = GIVEN_REFUSED;
		}
		hang_up(t);
		return given;
	}
	if (heard == HEARD_NOTHING)
		return GIVEN_WAIT;
	hang_up(t);
	bwl_fail(why, EIO, "bwlimitd hung up before it answered");
	return GIVEN_AWAY;
}

/* A signed status is a string: its bytes are passed on unchanged. */
static ssize_t take_status(const json_t *status, void *to, size_t most)
{
	size_t len = json_is_string(status) ? json_string_length(status)
					    : json_dumpb(status, to, most, JSON_COMPACT);

	if (len > most)
		return 0;
	if (json_is_string(status))
		memcpy(to, json_string_value(status), len);
	return (ssize_t)len;
}

/* Asks for the status, and returns it once the answer has come. */
static ssize_t status(void *arg, uint64_t cosigned, void *to, size_t most)
{
	struct handover *h = arg;
	struct talk *t = &h->talk[STATUS];
	BWL_AUTO(json_decref)
	json_t *ask = json_pack("{s:s, s:I}", "verb", "status", "cosigned", (json_int_t)cosigned);
	BWL_AUTO(json_decref) json_t *o = NULL;
	struct bwl_err e = { 0 };
	enum heard heard;

	if (t->fd < 0)
		return begin(h, STATUS, ask, -1, &e) ? 0 : -EAGAIN;
	heard = hear(t);
	if (heard == HEARD_NOTHING)
		return -EAGAIN;
	if (heard == HEARD_LINE)
		o = take_line(t);
	hang_up(t);
	return take_status(json_object_get(o, "status"), to, most);
}

unsigned handover_fds(const struct handover *h, struct curl_waitfd fds[static HANDOVER_FDS])
{
	unsigned n = 0;

	for (unsigned i = 0; i < HANDOVER_FDS; i++)
		if (h->talk[i].fd >= 0)
			fds[n++] = (struct curl_waitfd){ .fd = h->talk[i].fd,
							 .events = CURL_WAIT_POLLIN };
	return n;
}

const struct sync_agent handover_ops = { .who = who, .give = give, .look = look, .status = status };
