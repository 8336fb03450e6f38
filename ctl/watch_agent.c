// SPDX-License-Identifier: GPL-2.0-or-later
/* `watch` by bwlimitd, which reads the events for any number of readers: see bwl/agent.h. */
#include <errno.h>
#include <poll.h>
#include <string.h>
#include <unistd.h>
#include "bwl/agent.h"
#include "watch.h"

#define ANSWER_NS 2000000000ULL
#define EVERY_MS 500

struct stream {
	int fd;
	size_t n, at; /* bytes in buf, and those already returned */
	char buf[16 * BWL_AGENT_LINE];
};

/* 1: *ret is the next line; 0: none yet; -1: the other side has hung up. */
static int next_line(struct stream *s, int ms, json_t **ret)
{
	struct pollfd p = { .fd = s->fd, .events = POLLIN };
	char *end = memchr(s->buf + s->at, '\n', s->n - s->at);
	ssize_t r;

	if (!end) {
		memmove(s->buf, s->buf + s->at, s->n - s->at);
		s->n -= s->at;
		s->at = 0;
		if (poll(&p, 1, ms) <= 0)
			return 0;
		r = recv(s->fd, s->buf + s->n, sizeof(s->buf) - s->n, MSG_DONTWAIT);
		if (r < 0 && (errno == EAGAIN || errno == EINTR))
			return 0;
		if (r <= 0)
			return -1;
		s->n += (size_t)r;
		end = memchr(s->buf, '\n', s->n);
		if (!end)
			return s->n < sizeof(s->buf) ? 0 : -1;
	}
	*ret = json_loadb(s->buf + s->at, (size_t)(end - s->buf) - s->at, 0, NULL);
	s->at = (size_t)(end - s->buf) + 1;
	return *ret ? 1 : -1;
}

/* The number of lost events so far, after which it hangs up. */
static void hear_the_end(struct watch *w, struct stream *s)
{
	uint64_t end = bwl_now_ns() + ANSWER_NS;
	json_t *o;
	int r = 0;

	shutdown(s->fd, SHUT_WR);
	while (r >= 0 && bwl_now_ns() < end) {
		r = next_line(s, EVERY_MS, &o);
		if (r == 1 && json_object_get(o, "lost_count"))
			watch_print(w, o);
		else if (r == 1)
			json_decref(o);
	}
}

static int follow(struct watch *w, struct stream *s)
{
	json_t *o;
	int r = 0;

	while (r >= 0 && watch_goes_on(w)) {
		r = next_line(s, watch_left_ms(w, EVERY_MS), &o);
		if (r == 1)
			watch_print(w, o);
	}
	if (r < 0) {
		bwl_warn("bwlimitd ended: events until the next line here may be missing");
		return WATCH_OTHER;
	}
	hear_the_end(w, s);
	return WATCH_DONE;
}

/* It accepts the filter, or says why not. */
static int answer(struct watch *w, struct stream *s)
{
	uint64_t end = bwl_now_ns() + ANSWER_NS;
	const char *error, *todo;
	json_t *o = NULL;
	int r = 0;

	while (!r && bwl_now_ns() < end && !ctl_stopped)
		r = next_line(s, EVERY_MS, &o);
	if (r != 1)
		return WATCH_OTHER;
	error = json_string_value(json_object_get(o, "error"));
	r = 0;
	if (error) {
		r = bwl_fail(&w->c->err, EINVAL, "%s", error);
		todo = json_string_value(json_object_get(o, "todo"));
		bwl_err_hint(&w->c->err, "%s", todo ? todo : "");
	}
	json_decref(o);
	return r;
}

int watch_agent(struct watch *w)
{
	json_t *filter = bwl_filter_json(&w->filter);
	struct stream s = { 0 };
	int r;

	s.fd = ctl_say_to_agent(w->c, BWL_AGENT_EVENTS, filter, -1, bwl_now_ns() + ANSWER_NS);
	json_decref(filter);
	if (s.fd < 0)
		return WATCH_OTHER;
	r = answer(w, &s);
	if (!r) {
		w->followed = true;
		bwl_info("the events come from bwlimitd");
		r = follow(w, &s);
	}
	close(s.fd);
	return r;
}

bool watch_is_agent(const struct watch *w)
{
	int fd = ctl_say_to_agent(w->c, BWL_AGENT_EVENTS, NULL, -1, bwl_now_ns());

	if (fd >= 0)
		close(fd);
	return fd >= 0;
}
