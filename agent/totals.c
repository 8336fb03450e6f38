// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * At intervals writes what every port passed and dropped since attach, as one record of the audit
 * log.
 */
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <syslog.h>
#include "parts.h"
#include "bwl/plural.h"

struct sum {
	uint64_t passed, passed_frames, dropped, dropped_frames; /* bytes as the hook saw them */
};

static struct sum sum_of(const struct bwl_reason_count *row)
{
	struct sum s = { 0 };

	for (unsigned i = 0; i < _BWL_REASON_MAX; i++) {
		if (bwl_reason_is_pass(i)) {
			s.passed += row[i].bytes;
			s.passed_frames += row[i].frames;
		} else {
			s.dropped += row[i].bytes;
			s.dropped_frames += row[i].frames;
		}
	}
	return s;
}

static json_t *json_of(const struct sum *s)
{
	return json_pack("{s:I, s:I, s:I, s:I}", "passed_bytes", (json_int_t)s->passed,
			 "passed_frames", (json_int_t)s->passed_frames, "dropped_bytes",
			 (json_int_t)s->dropped, "dropped_frames", (json_int_t)s->dropped_frames);
}

static void add(struct sum *to, const struct sum *s)
{
	to->passed += s->passed;
	to->passed_frames += s->passed_frames;
	to->dropped += s->dropped;
	to->dropped_frames += s->dropped_frames;
}

/* One port: what it received, and for an uplink also what its last gate saw leave. */
static void put_port(const struct bwl_pins *p, unsigned i, const struct bwl_reason_count *count,
		     json_t *ports, struct sum *hosts)
{
	const struct bwl_dev *d = &p->dev[i];
	struct sum in = sum_of(&count[i * BWL_REASON_COLUMNS]);
	json_t *o = json_pack("{s:s#, s:o}", "port", d->name,
			      (int)strnlen(d->name, sizeof(d->name)), "in", json_of(&in));

	if (d->kind == BWL_PORT_HOST)
		add(hosts, &in);
	if (o && d->kind & (BWL_PORT_UPLINK | BWL_PORT_MANAGEMENT)) {
		struct sum out = sum_of(&count[(BWL_MAX_PORTS + i) * BWL_REASON_COLUMNS]);

		json_object_set_new(o, "out", json_of(&out));
	}
	json_array_append_new(ports, o);
}

static void record(const struct agent *a)
{
	BWL_AUTO_FREE struct bwl_reason_count *count = calloc(BWL_REASON_ROWS * BWL_REASON_COLUMNS,
							      sizeof(*count));
	json_t *ports, *data;
	struct sum hosts = { 0 };
	struct bwl_err e = { 0 };
	char text[200];

	if (!count || bwl_reason_read(a->pins, count, &e)) {
		agent_log(LOG_ERR, "totals", "cannot log totals: %s",
			  count ? e.text : "out of memory");
		return;
	}
	ports = json_array();
	for (unsigned i = 0; i < BWL_MAX_PORTS; i++)
		if (a->pins->dev[i].name[0])
			put_port(a->pins, i, count, ports, &hosts);
	data = json_pack("{s:I, s:o, s:o}", "attached_ago_s",
			 (json_int_t)((bwl_now_ns() - a->pins->ctl->attached_ns) / 1000000000ULL),
			 "hosts", json_of(&hosts), "ports", ports);
	snprintf(text, sizeof(text),
		 "hosts' frames: %llu (%llu byte%s) passed, %llu (%llu byte%s) dropped",
		 (unsigned long long)hosts.passed_frames, (unsigned long long)hosts.passed,
		 BWL_S(hosts.passed), (unsigned long long)hosts.dropped_frames,
		 (unsigned long long)hosts.dropped, BWL_S(hosts.dropped));
	agent_record("totals", text, data);
}

static int on_timer(sd_event_source *s, uint64_t us, void *arg)
{
	const struct agent *a = arg;

	(void)us;
	record(a);
	return agent_again(s, a->totals_us);
}

bool agent_totals_wanted(struct agent *a)
{
	return a->totals_us;
}

int agent_totals_start(struct agent *a, void **ret_part, struct bwl_err *e)
{
	sd_event_source *timer = NULL;
	int r = agent_timer(a, a->totals_us, on_timer, a, &timer, e);

	*ret_part = timer;
	return r;
}

/* The last record of this process. The maps go on counting. */
void agent_totals_stop(struct agent *a, void *part)
{
	sd_event_source_disable_unref(part);
	if (a->ends)
		record(a);
}
