// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Reads the data plane's ring buffer, and passes each event to the log (event_log.h) and to
 * subscribers (subscribers.h). On a separate thread, which waits for none of them.
 */
#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <syslog.h>
#include <bpf/libbpf.h>
#include "event_log.h"
#include "line_socket.h"
#include "parts.h"
#include "subscribers.h"
#include "thread.h"

#define SECOND_NS 1000000000ULL
#define EVERY_MS 100 /* looks for departed readers, and for room in the sockets */

struct events {
	struct agent_thread thread;
	struct bwl_pins *pins;
	struct event_log *log;
	struct subscribers_rule rule;
	struct subscribers *subscribers; /* NULL: no subscribers are accepted */
	struct ring_buffer *ring;        /* NULL: another process reads it */
	int lock;
	uint64_t ticked_ns;
	bool said_busy, said_broken;
};

static int on_event(void *arg, void *data, size_t len)
{
	uint64_t now_ns = bwl_now_ns();
	struct events *v = arg;
	struct bwl_event e;

	if (len < sizeof(e))
		return 0;
	memcpy(&e, data, sizeof(e));
	event_log_add(v->log, &e, now_ns);
	subscribers_event(v->subscribers, &e, now_ns);
	return 0;
}

static void close_ring(struct events *v)
{
	ring_buffer__free(v->ring);
	v->ring = NULL;
	if (v->lock >= 0)
		close(bwl_take_fd(&v->lock));
}

static void open_ring(struct events *v)
{
	if (bwl_event_lock(v->pins, &v->lock, NULL)) {
		if (!v->said_busy)
			agent_later(
				LOG_INFO, "events",
				"another program (bwlimit-ctl watch) is reading the events; they are logged once it ends");
		v->said_busy = true;
		return;
	}
	v->said_busy = false;
	v->ring = ring_buffer__new(v->pins->fd[BWL_PIN_event], on_event, v, NULL);
	if (!v->ring && !v->said_broken)
		agent_later(LOG_ERR, "events", "cannot read the events: %s", strerror(errno));
	v->said_broken = !v->ring;
	if (!v->ring)
		close_ring(v);
}

static void run(void *arg)
{
	struct events *v = arg;
	struct pollfd p[2];
	uint64_t now_ns;

	while (agent_thread_goes_on(&v->thread)) {
		now_ns = bwl_now_ns();
		if (now_ns - v->ticked_ns >= SECOND_NS) {
			if (!v->ring)
				open_ring(v);
			event_log_tick(v->log, now_ns);
			v->ticked_ns = now_ns;
		}
		if (v->ring)
			ring_buffer__consume(v->ring);
		subscribers_run(v->subscribers, now_ns);
		p[0] = (struct pollfd){ .fd = subscribers_fd(v->subscribers), .events = POLLIN };
		p[1] = (struct pollfd){ .fd = v->ring ? ring_buffer__epoll_fd(v->ring) : -1,
					.events = POLLIN };
		poll(p, 2, EVERY_MS);
	}
}

static int listen_to(struct events *v, const char *pin_dir, struct bwl_err *e)
{
	struct sockaddr_un at;
	int r = line_socket_address(pin_dir, BWL_AGENT_EVENTS, &at, e);

	v->rule.pins = v->pins;
	v->rule.losses = bwl_event_losses;
	line_who_find(&v->rule.who, 1U << LINE_ROOT | 1U << LINE_OPERATE | 1U << LINE_READ);
	if (!r)
		r = subscribers_open(at.sun_path, &v->rule, &v->subscribers, e);
	return r ? bwl_hint(e, "events are logged, but bwlimit-ctl watch cannot show them") : 0;
}

static void end(struct events *v)
{
	subscribers_close(v->subscribers);
	close_ring(v);
	event_log_end(v->log);
	bwl_pins_close(v->pins);
	free(v);
}
BWL_AUTO_DEFINE(end, struct events *)

int agent_events_start(struct agent *a, void **ret_part, struct bwl_err *e)
{
	BWL_AUTO(end) struct events *v = calloc(1, sizeof(*v));
	struct bwl_err no = { 0 };
	int r;

	if (!v)
		return bwl_fail(e, ENOMEM, "out of memory");
	v->lock = -1;
	r = bwl_pins_open(a->pin_dir, true, &v->pins, e);
	if (r)
		return r;
	v->log = event_log_new(v->pins);
	if (!v->log)
		return bwl_fail(e, ENOMEM, "out of memory");
	if (listen_to(v, a->pin_dir, &no))
		agent_log_err(LOG_WARNING, "events", &no);
	r = agent_thread_start(&v->thread, run, v, e);
	if (!r)
		*ret_part = bwl_take_ptr(&v);
	return r;
}

void agent_events_stop(struct agent *a, void *part)
{
	struct events *v = part;

	(void)a;
	agent_thread_stop(&v->thread);
	end(v);
}
