/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The data plane's events into the log. The data plane itself sends one a limit and second; here at
 * most LINES of them a second on top of a burst are written, and what was left out is said.
 */
#include <arpa/inet.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <syslog.h>
#include <unistd.h>
#include <bpf/libbpf.h>
#include "agent.h"

#define LINES 5ULL
#define BURST 50ULL
#define SECOND 1000000000ULL

struct agent_events {
	struct agent *a;
	struct ring_buffer *ring;
	sd_event_source *source;
	int lock;
	uint64_t tokens, at_ns, quiet;	/* quiet: events not written since the last line */
	bool told;
};

static bool may_write(struct agent_events *v)
{
	uint64_t now = bwl_now_ns(), n = (now - v->at_ns) / (SECOND / LINES);

	if (n) {
		v->tokens = v->tokens + n > BURST ? BURST : v->tokens + n;
		v->at_ns = now;
	}
	if (!v->tokens) {
		v->quiet++;
		return false;
	}
	v->tokens--;
	return true;
}

static char *address(const __be32 a[4], char buf[static INET6_ADDRSTRLEN])
{
	bool v4 = !a[0] && !a[1] && a[2] == htonl(0xffff);

	inet_ntop(v4 ? AF_INET : AF_INET6, v4 ? &a[3] : a, buf, INET6_ADDRSTRLEN);
	return buf;
}

static int on_event(void *arg, void *data, size_t len)
{
	char src[INET6_ADDRSTRLEN], dst[INET6_ADDRSTRLEN], more[60] = "";
	struct agent_events *v = arg;
	const struct bwl_pins *p = v->a->pins;
	struct bwl_event e;

	if (len < sizeof(e) || !may_write(v))
		return 0;
	memcpy(&e, data, sizeof(e));
	if (v->quiet)
		snprintf(more, sizeof(more), " (and %llu events that are not written)",
			 (unsigned long long)v->quiet);
	v->quiet = 0;
	agent_log(e.kind == BWL_E_FIRST ? LOG_INFO : LOG_NOTICE, bwl_event_name(e.kind),
		  "%s: peer %.*s, port %.*s, %s > %s, %u bytes: %s%s", bwl_event_name(e.kind),
		  BWL_NAME_LEN - 1, e.peer && e.peer < p->schema.max_peers ? p->name[e.peer].name : "-",
		  (int)sizeof(p->dev[0].name) - 1, p->dev[e.port % BWL_MAX_PORTS].name,
		  address(e.saddr, src), address(e.daddr, dst), e.len, bwl_reason_name(e.reason), more);
	return 0;
}

static int on_ready(sd_event_source *s, int fd, uint32_t revents, void *arg)
{
	struct agent_events *v = arg;

	(void)s, (void)fd, (void)revents;
	ring_buffer__consume(v->ring);
	return 0;
}

/* The ring has one read position: whoever holds this lock reads. */
static int take_lock(const struct bwl_pins *p)
{
	char path[sizeof(p->dir) + 8];
	int fd;

	snprintf(path, sizeof(path), "%s/maps", p->dir);
	fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd >= 0 && flock(fd, LOCK_EX | LOCK_NB)) {
		close(fd);
		fd = -1;
	}
	return fd;
}

int agent_events_start(struct agent *a)
{
	struct agent_events *v = a->events;
	int r;

	if (v && v->ring)
		return 0;
	if (!v) {
		v = a->events = calloc(1, sizeof(*v));
		if (!v)
			return -ENOMEM;
		*v = (struct agent_events){ .a = a, .lock = -1, .tokens = BURST, .at_ns = bwl_now_ns() };
	}
	v->lock = take_lock(a->pins);
	if (v->lock < 0) {
		if (!v->told)
			agent_log(LOG_INFO, "events", "the events are being read by a `bwlimit-ctl watch`; they are logged when it ends");
		v->told = true;
		return -EBUSY;
	}
	v->told = false;
	v->ring = ring_buffer__new(a->pins->fd[BWL_PIN_event], on_event, v, NULL);
	r = v->ring ? sd_event_add_io(a->loop, &v->source, ring_buffer__epoll_fd(v->ring), EPOLLIN,
				      on_ready, v) : -errno;
	if (r < 0)
		agent_log(LOG_ERR, "events", "cannot read the events: %s", strerror(-r));
	return r < 0 ? r : 0;
}

void agent_events_stop(struct agent *a)
{
	struct agent_events *v = a->events;

	if (!v)
		return;
	sd_event_source_unref(v->source);
	ring_buffer__free(v->ring);
	if (v->lock >= 0)
		close(v->lock);
	free(v);
	a->events = NULL;
}
