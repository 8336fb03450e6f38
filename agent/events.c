/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The data plane's events into the log: which of them, and how many, sums.h decides.
 *
 * The journal leaves the machine (syslog), and nobody charges it: a line there has nothing that a
 * host chose but which of the policy's peers it was and how much, to the next power of two.
 * Addresses, ports and exact numbers are in the audit log, which stays.
 */
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <syslog.h>
#include <unistd.h>
#include <bpf/libbpf.h>
#include "bwl/model.h"
#include "parts.h"
#include "sums.h"

#define SECOND_US 1000000ULL

struct events {
	struct agent *a;
	struct sums *sums;
	struct ring_buffer *ring;
	sd_event_source *source, *timer;
	int lock;
	uint64_t told[_BWL_EVENT_MAX][BWL_MAX_PORTS]; /* bwl_event_count.total at the last line */
	bool said_busy, said_broken;
};

/*
 * Of the kind at the port since the last line, those included that the data plane's own limit left
 * out.
 */
static uint64_t counted(struct events *v, const struct bwl_event *e)
{
	struct bwl_event_count n;
	uint64_t was = v->told[e->kind][e->port];

	if (bwl_event_counted(v->a->pins, e->kind, e->port, &n, NULL))
		return 0;
	v->told[e->kind][e->port] = n.total;
	return n.total - was;
}

/* port and peer: of all of them; the example's own are in the example. */
static json_t *json_of(const struct bwl_pins *p, const struct sums_line *l, const char *peer,
		       const char *port, uint64_t all)
{
	json_t *o = json_object();

	json_object_set_new(o, "port", json_string(port));
	json_object_set_new(o, "peer", bwl_json_text(l->mixed ? NULL : peer));
	json_object_set_new(o, "reason",
			    bwl_json_text(l->mixed ? NULL : bwl_reason_name(l->example.reason)));
	json_object_set_new(o, "sum", json_boolean(l->sum));
	json_object_set_new(o, "event_count", bwl_json_u64(l->events));
	json_object_set_new(o, "counted", bwl_json_u64(all));
	json_object_set_new(o, "during_s", bwl_json_span(l->sum ? bwl_now_ns() - l->since_ns : 0));
	json_object_set_new(o, "example", bwl_json_packet(p, &l->example));
	return o;
}

/* About how many, for where a number is a message. */
static unsigned long long about(uint64_t n)
{
	return n ? 1ULL << (63 - __builtin_clzll(n)) : 0;
}

static void on_line(const struct sums_line *l, void *arg)
{
	char src[BWL_EVENT_ADDRESS], dst[BWL_EVENT_ADDRESS], what[200], during[BWL_UNIT_BUF],
		text[500];
	struct events *v = arg;
	const struct bwl_pins *p = v->a->pins;
	const struct bwl_event *e = &l->example;
	const char *kind = bwl_event_name(e->kind);
	char peer[BWL_NAME_LEN] = "", port[sizeof(p->dev[0].name) + 1] = "";
	uint64_t all = counted(v, e),
		 events = sums_is_junk(e->kind) && all > l->events ? all : l->events;

	if (e->peer && e->peer < p->schema.max_peers)
		snprintf(peer, sizeof(peer), "%.*s", BWL_NAME_LEN - 1, p->name[e->peer].name);
	snprintf(port, sizeof(port), "%.*s", (int)sizeof(p->dev[0].name) - 1, p->dev[e->port].name);
	snprintf(what, sizeof(what), "%s: port %s%s%s: %s", kind, port,
		 *peer && !l->mixed ? ", peer " : "", l->mixed ? "" : peer,
		 l->mixed ? "several reasons or peers" : bwl_reason_name(e->reason));
	bwl_human_time((double)(bwl_now_ns() - l->since_ns) / 1e9, during);
	if (l->sum)
		agent_log_line(LOG_NOTICE, kind, "%s, %llu times or more in %s", what,
			       about(events), during);
	else
		agent_log_line(e->kind == BWL_E_FIRST ? LOG_INFO : LOG_NOTICE, kind, "%s", what);
	if (e->kind == BWL_E_FIRST)
		return;
	if (l->sum)
		snprintf(text, sizeof(text), "%s, %llu times in %s, one of them %s > %s, %u bytes",
			 what, (unsigned long long)events, during, bwl_event_address(e->saddr, src),
			 bwl_event_address(e->daddr, dst), e->len);
	else
		snprintf(text, sizeof(text), "%s, %s > %s, %u bytes", what,
			 bwl_event_address(e->saddr, src), bwl_event_address(e->daddr, dst),
			 e->len);
	agent_record_event(sums_is_junk(e->kind), kind, text,
			   json_of(p, l, *peer ? peer : NULL, port, all));
}

static int on_event(void *arg, void *data, size_t len)
{
	struct events *v = arg;
	struct bwl_event e;

	if (len < sizeof(e))
		return 0;
	memcpy(&e, data, sizeof(e));
	sums_add(v->sums, &e, bwl_now_ns());
	return 0;
}

static int on_ready(sd_event_source *s, int fd, uint32_t revents, void *arg)
{
	struct events *v = arg;

	(void)s, (void)fd, (void)revents;
	ring_buffer__consume(v->ring);
	return 0;
}

static int on_timer(sd_event_source *s, uint64_t us, void *arg)
{
	struct events *v = arg;

	(void)us;
	sums_tick(v->sums, bwl_now_ns());
	return agent_again(s, SECOND_US);
}

/* The ring has one read position: whoever holds this lock reads. */
static int take_lock(const struct bwl_pins *p)
{
	BWL_AUTO_CLOSE int fd = -1;
	char path[sizeof(p->dir) + 8];

	snprintf(path, sizeof(path), "%s/maps", p->dir);
	fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0 || flock(fd, LOCK_EX | LOCK_NB))
		return -1;
	return bwl_take_fd(&fd);
}

/* Nobody reads the ring for us any more. */
static void close_ring(struct events *v)
{
	v->source = sd_event_source_disable_unref(v->source);
	v->timer = sd_event_source_disable_unref(v->timer);
	ring_buffer__free(v->ring);
	v->ring = NULL;
	if (v->lock >= 0)
		close(bwl_take_fd(&v->lock));
}

static int open_ring(struct events *v, struct bwl_err *e)
{
	int r;

	v->ring = ring_buffer__new(v->a->pins->fd[BWL_PIN_event], on_event, v, NULL);
	if (!v->ring)
		return bwl_fail(e, errno, "cannot read the events: %s", strerror(errno));
	r = sd_event_add_io(v->a->loop, &v->source, ring_buffer__epoll_fd(v->ring), EPOLLIN,
			    on_ready, v);
	if (r < 0)
		return bwl_fail(e, -r, "cannot read the events: %s", strerror(-r));
	return agent_timer(v->a, SECOND_US, on_timer, v, &v->timer, e);
}

static void end(struct events *v)
{
	close_ring(v);
	sums_free(v->sums);
	free(v);
}
BWL_AUTO_DEFINE(end, struct events *)

int agent_events_start(struct agent *a, void **ret_part, struct bwl_err *e)
{
	BWL_AUTO(end) struct events *v = calloc(1, sizeof(*v));
	struct bwl_event_count n;

	if (!v)
		return bwl_fail(e, ENOMEM, "out of memory");
	v->a = a;
	v->lock = -1;
	v->sums = sums_new(on_line, v);
	if (!v->sums)
		return bwl_fail(e, ENOMEM, "out of memory");
	/* what was counted before is no news of ours */
	for (uint32_t kind = 0; kind < _BWL_EVENT_MAX; kind++)
		for (uint32_t port = 0; port < BWL_MAX_PORTS; port++)
			if (!bwl_event_counted(a->pins, kind, port, &n, NULL))
				v->told[kind][port] = n.total;
	*ret_part = bwl_take_ptr(&v);
	return 0;
}

void agent_events_tick(struct agent *a, void *part)
{
	struct events *v = part;
	struct bwl_err e = { 0 };

	if (v->ring)
		return;
	v->lock = take_lock(a->pins);
	if (v->lock < 0) {
		if (!v->said_busy)
			agent_log(
				LOG_INFO, "events",
				"the events are being read by a `bwlimit-ctl watch`; they are logged when it ends");
		v->said_busy = true;
		return;
	}
	v->said_busy = false;
	if (!open_ring(v, &e)) {
		v->said_broken = false;
		return;
	}
	if (!v->said_broken)
		agent_log_err(LOG_ERR, "events", &e);
	v->said_broken = true;
	close_ring(v);
}

void agent_events_stop(struct agent *a, void *part)
{
	struct events *v = part;

	(void)a;
	sums_end(v->sums, bwl_now_ns());
	end(v);
}
