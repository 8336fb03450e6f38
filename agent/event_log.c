// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Writes the data plane's events to the log: sums.h decides which, and how many.
 *
 * The journal leaves the machine (syslog), and nothing limits that: so a line there has nothing
 * that a host chose except the policy's peer and the amount, rounded to a power of two. Addresses,
 * ports and exact numbers are in the audit log, which stays on the machine.
 */
#include <stdio.h>
#include <stdlib.h>
#include <syslog.h>
#include "bwl/model.h"
#include "agent.h"
#include "event_log.h"
#include "sums.h"

struct event_log {
	const struct bwl_pins *pins;
	struct sums *sums;
	uint64_t told[_BWL_EVENT_MAX][BWL_MAX_PORTS]; /* bwl_event_count.total, last written */
};

/*
 * Events of the kind at the port since the last line, including those that the data plane's own
 * limit left out.
 */
static uint64_t counted(struct event_log *v, const struct bwl_event *e)
{
	struct bwl_event_count n;
	uint64_t was = v->told[e->kind][e->port];

	if (bwl_event_counted(v->pins, e->kind, e->port, &n, NULL))
		return 0;
	v->told[e->kind][e->port] = n.total;
	return n.total - was;
}

/* port and peer: the ones that all events have in common; the example has its own. */
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

/* Rounded down to a power of two, where an exact number could carry a message. */
static unsigned long long about(uint64_t n)
{
	return n ? 1ULL << (63 - __builtin_clzll(n)) : 0;
}

static void on_line(const struct sums_line *l, void *arg)
{
	char src[BWL_EVENT_ADDRESS], dst[BWL_EVENT_ADDRESS], what[200], during[BWL_UNIT_BUF],
		text[500];
	struct event_log *v = arg;
	const struct bwl_pins *p = v->pins;
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
		agent_later_line(LOG_NOTICE, kind, "%s, %llu times or more in %s", what,
				 about(events), during);
	else
		agent_later_line(e->kind == BWL_E_FIRST ? LOG_INFO : LOG_NOTICE, kind, "%s", what);
	if (e->kind == BWL_E_FIRST)
		return;
	if (l->sum)
		snprintf(text, sizeof(text), "%s, %llu times in %s, one of them %s > %s, %u bytes",
			 what, (unsigned long long)events, during,
			 bwl_event_address(e, e->saddr, src), bwl_event_address(e, e->daddr, dst),
			 e->len);
	else
		snprintf(text, sizeof(text), "%s, %s > %s, %u bytes", what,
			 bwl_event_address(e, e->saddr, src), bwl_event_address(e, e->daddr, dst),
			 e->len);
	agent_record_event(sums_is_junk(e->kind), kind, text,
			   json_of(p, l, *peer ? peer : NULL, port, all));
}

struct event_log *event_log_new(const struct bwl_pins *pins)
{
	struct event_log *v = calloc(1, sizeof(*v));
	struct bwl_event_count n;

	if (!v)
		return NULL;
	v->pins = pins;
	v->sums = sums_new(on_line, v);
	if (!v->sums) {
		free(v);
		return NULL;
	}
	/* what was counted before this process began is not reported */
	for (uint32_t kind = 0; kind < _BWL_EVENT_MAX; kind++)
		for (uint32_t port = 0; port < BWL_MAX_PORTS; port++)
			if (!bwl_event_counted(pins, kind, port, &n, NULL))
				v->told[kind][port] = n.total;
	return v;
}

void event_log_add(struct event_log *v, const struct bwl_event *e, uint64_t now_ns)
{
	sums_add(v->sums, e, now_ns);
}

void event_log_tick(struct event_log *v, uint64_t now_ns)
{
	sums_tick(v->sums, now_ns);
}

void event_log_end(struct event_log *v)
{
	if (!v)
		return;
	sums_end(v->sums, bwl_now_ns());
	sums_free(v->sums);
	free(v);
}
