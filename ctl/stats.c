// SPDX-License-Identifier: GPL-2.0-or-later
/* `stats`: counters per peer. `reasons`: counters per port and reason. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include "stats.h"

int ctl_sample(struct ctl *c, struct bwl_pins *pins, struct ctl_sample *ret)
{
	ret->now_ns = bwl_now_ns();
	ret->n = pins->schema.max_peers;
	ret->count = calloc(pins->schema.max_peers, sizeof(*ret->count));
	if (!ret->count)
		return bwl_fail(&c->err, ENOMEM, "out of memory");
	return bwl_peercnt_read(pins, ret->count, &c->err);
}

void ctl_sample_free(struct ctl_sample *s)
{
	free(s->count);
	*s = (struct ctl_sample){ 0 };
}

struct ctl_speed ctl_speed(const struct ctl_sample *a, const struct ctl_sample *b, uint32_t id)
{
	const struct bwl_peer_count *x = &a->count[id], *y = &b->count[id];
	double s = (double)(b->now_ns - a->now_ns) / 1e9;

	/* a new attachment between the two starts counting over, or has other ids */
	if (s <= 0 || id >= a->n || id >= b->n || x->bytes > y->bytes || x->drop_bytes > y->drop_bytes)
		return (struct ctl_speed){ 0 };
	return (struct ctl_speed){
		.pass_bps = (double)(y->bytes - x->bytes) * 8 / s,
		.drop_bps = (double)(y->drop_bytes - x->drop_bytes) * 8 / s,
		.drop_fps = (double)(y->drop_frames - x->drop_frames) / s,
	};
}

bool ctl_sleep(uint64_t ns)
{
	struct timespec t = { .tv_sec = (time_t)(ns / 1000000000), .tv_nsec = (long)(ns % 1000000000) };

	while (!ctl_stopped && clock_nanosleep(CLOCK_MONOTONIC, 0, &t, &t) == EINTR)
		;
	return !ctl_stopped;
}

static json_t *stats_json(const struct ctl_view *v, uint32_t id, const struct ctl_sample *first,
			  const struct ctl_sample *s)
{
	const struct bwl_peer_count *n = &s->count[id];
	json_t *o = json_object();

	json_object_set_new(o, "name", json_string(v->pins->name[id].name));
	ctl_json_u64(o, "passed_frames", n->frames);
	ctl_json_u64(o, "passed_bytes", n->bytes);
	ctl_json_u64(o, "dropped_frames", n->drop_frames);
	ctl_json_u64(o, "dropped_bytes", n->drop_bytes);
	ctl_json_u64(o, "refund_lost_bytes", n->refund_lost);
	if (first) {
		struct ctl_speed sp = ctl_speed(first, s, id);

		json_object_set_new(o, "passed_bps", json_real(sp.pass_bps));
		json_object_set_new(o, "dropped_bps", json_real(sp.drop_bps));
	}
	return o;
}

static void stats_row(struct ctl_table *t, const struct ctl_view *v, uint32_t id,
		      const struct ctl_sample *first, const struct ctl_sample *s)
{
	const struct bwl_peer_count *n = &s->count[id];
	char a[BWL_UNIT_BUF], b[BWL_UNIT_BUF];

	ctl_cell(t, "%s", v->pins->name[id].name);
	ctl_cell(t, "%" PRIu64, (uint64_t)n->frames);
	ctl_cell(t, "%s", bwl_human_size((double)n->bytes, a));
	ctl_cell(t, "%" PRIu64, (uint64_t)n->drop_frames);
	ctl_cell(t, "%s", bwl_human_size((double)n->drop_bytes, b));
	ctl_cell(t, "%s", n->refund_lost ? bwl_human_size((double)n->refund_lost, a) : "-");
	if (first) {
		struct ctl_speed sp = ctl_speed(first, s, id);

		ctl_cell(t, "%s", bwl_human_rate(sp.pass_bps, a));
		ctl_cell(t, "%s", bwl_human_rate(sp.drop_bps, b));
	}
}

static void stats_print(struct ctl *c, const struct ctl_view *v, const uint32_t *ids, size_t n,
			const struct ctl_sample *first, const struct ctl_sample *s)
{
	static const char *const heads[] = {
		"NAME", ">PASSED", ">BYTES", ">DROPPED", ">BYTES", ">LOST TO RACES", NULL,
	};
	static const char *const heads_now[] = {
		"NAME", ">PASSED", ">BYTES", ">DROPPED", ">BYTES", ">LOST TO RACES", ">PASSES NOW",
		">DROPS NOW", NULL,
	};
	struct ctl_table *t = ctl_table_new(first ? heads_now : heads);
	json_t *a = json_array();

	for (size_t i = 0; i < n; i++) {
		if (c->json)
			json_array_append_new(a, stats_json(v, ids[i], first, s));
		else
			stats_row(t, v, ids[i], first, s);
	}
	if (c->json)
		ctl_json_print(json_pack("{s:O}", "peers", a));
	else
		ctl_table_print(t, stdout);
	json_decref(a);
	ctl_table_free(t);
}

static int stats(struct ctl *c, int argc, char **argv)
{
	const char *interval = NULL;
	const struct ctl_opt opts[] = { { "--interval", NULL, &interval }, { NULL, NULL, NULL } };
	struct ctl_sample first = { 0 }, s = { 0 };
	uint32_t *ids = NULL;
	struct ctl_view v;
	uint64_t ns = 0;
	size_t n;
	int r;

	r = ctl_opts(c, &argc, argv, opts);
	if (r)
		return r;
	if (interval && bwl_parse_time(interval, &ns, &c->err))
		return CTL_USAGE;
	if (interval && (ns < 1000000ULL || ns > 3600000000000ULL))
		return ctl_usage(c, "--interval %.32s: 1ms to 1h", interval);
	r = ctl_view_open(c, false, &v);
	if (r)
		return r;
	r = ctl_view_ids(c, &v, argc, argv, &ids, &n);
	if (!r && interval) {
		r = ctl_sample(c, v.pins, &first);
		ctl_catch_signals();
		if (!r)
			ctl_sleep(ns);
	}
	if (!r)
		r = ctl_sample(c, v.pins, &s);
	if (!r)
		stats_print(c, &v, ids, n, interval ? &first : NULL, &s);
	ctl_sample_free(&first);
	ctl_sample_free(&s);
	free(ids);
	ctl_view_close(&v);
	return r;
}

/* Row 0 is also where frames of interfaces that are no port are counted. */
static const char *row_name(const struct bwl_pins *p, unsigned int row, unsigned int reason,
			    char buf[static 40])
{
	unsigned int port = row % BWL_MAX_PORTS;

	if (reason == BWL_R_NO_PORT && !p->dev[port].ifindex)
		return "(no port)";
	if (*p->dev[port].name)
		snprintf(buf, 40, "%.15s%s", p->dev[port].name, row >= BWL_MAX_PORTS ? " out" : "");
	else
		snprintf(buf, 40, "port %u%s", port, row >= BWL_MAX_PORTS ? " out" : "");
	return buf;
}

static void reason_row(struct ctl *c, struct ctl_table *t, json_t *a, const char *port, bool gate,
		       unsigned int reason, const struct bwl_reason_count *n)
{
	const char *todo = bwl_reason_todo(reason);
	json_t *o;

	if (c->json) {
		o = json_pack("{s:s,s:s,s:s,s:b,s:s,s:s}", "port", port, "hook",
			      gate ? "gate" : "ingress", "reason", bwl_reason_name(reason), "passes",
			      bwl_reason_passes(reason), "means", bwl_reason_text(reason), "todo", todo);
		ctl_json_u64(o, "frames", n->frames);
		ctl_json_u64(o, "bytes", n->bytes);
		ctl_json_u64(o, "charged_bytes", n->charged);
		json_array_append_new(a, o);
		return;
	}
	ctl_cell(t, "%s", port);
	ctl_cell(t, "%s", bwl_reason_name(reason));
	ctl_cell(t, "%s", bwl_reason_passes(reason) ? "pass" : "drop");
	ctl_cell(t, "%" PRIu64, (uint64_t)n->frames);
	ctl_cell(t, "%" PRIu64, (uint64_t)n->bytes);
	ctl_cell(t, "%" PRIu64, (uint64_t)n->charged);
	ctl_cell(t, "%s%s%s", bwl_reason_text(reason), *todo ? "; to do: " : "", todo);
}

static bool known_port(const struct bwl_pins *p, const char *dev)
{
	for (unsigned int i = 0; i < BWL_MAX_PORTS; i++)
		if (!strncmp(p->dev[i].name, dev, sizeof(p->dev[i].name)))
			return true;
	return false;
}

static void reasons_print(struct ctl *c, const struct bwl_pins *pins, const char *port, bool all,
			  const struct bwl_reason_count *count)
{
	static const char *const heads[] = {
		"PORT", "REASON", "VERDICT", ">FRAMES", ">BYTES", ">CHARGED", "MEANS", NULL,
	};
	struct ctl_table *t = ctl_table_new(heads);
	json_t *a = json_array();
	char buf[40];

	for (unsigned int row = 0; row < BWL_REASON_ROWS; row++) {
		const struct bwl_dev *dev = &pins->dev[row % BWL_MAX_PORTS];
		/* host ports have no last gate, and of what management receives nothing is counted */
		bool there = dev->ifindex && (row < BWL_MAX_PORTS ? dev->kind != BWL_PORT_MANAGEMENT :
					      dev->kind & (BWL_PORT_UPLINK | BWL_PORT_MANAGEMENT));

		if (port && strncmp(dev->name, port, sizeof(dev->name)))
			continue;
		for (unsigned int i = 0; i < _BWL_REASON_MAX; i++) {
			const struct bwl_reason_count *n = &count[row * BWL_REASON_SLOTS + i];

			if (n->frames || (all && there))
				reason_row(c, t, a, row_name(pins, row, i, buf), row >= BWL_MAX_PORTS, i,
					   n);
		}
	}
	if (c->json)
		ctl_json_print(json_pack("{s:O}", "reasons", a));
	else
		ctl_table_print(t, stdout);
	json_decref(a);
	ctl_table_free(t);
}

static int reasons(struct ctl *c, int argc, char **argv)
{
	const char *port = NULL;
	bool all = false;
	const struct ctl_opt opts[] = {
		{ "--port", NULL, &port }, { "--all", &all, NULL }, { NULL, NULL, NULL },
	};
	struct bwl_reason_count *count;
	struct bwl_pins *pins;
	int r;

	r = ctl_only_opts(c, argc, argv, opts);
	if (r)
		return r;
	r = bwl_pins_open(c->pin_dir, false, &pins, &c->err);
	if (r)
		return r;
	count = calloc(BWL_REASON_ROWS * BWL_REASON_SLOTS, sizeof(*count));
	if (!count) {
		r = bwl_fail(&c->err, ENOMEM, "out of memory");
	} else if (port && !known_port(pins, port)) {
		bwl_fail(&c->err, ENOENT, "no port '%.64s' is attached", port);
		r = bwl_hint(&c->err, "bwlimit-load status lists them");
	} else {
		r = bwl_reason_read(pins, count, &c->err);
	}
	if (!r)
		reasons_print(c, pins, port, all, count);
	free(count);
	bwl_pins_close(pins);
	return r;
}

const struct ctl_cmd ctl_stats_cmds[] = {
	{ "stats", NULL, "[PEER…] [--interval TIME]", "Counters per peer: passed, dropped",
	  "Passed bytes are as charged (every segment with its headers), dropped bytes as seen.\n"
	  "With --interval also the rates in that time.\n\n"
	  "Examples:\n"
	  "  bwlimit-ctl stats --interval 1s\n"
	  "  bwlimit-ctl stats log-collector --json\n", stats },
	{ "reasons", NULL, "[--port DEV] [--all]", "Counters per port and reason: every packet has one",
	  "`out` is the last gate of an uplink. Sums over a port's reasons are what it received since\n"
	  "attach. --all shows zeros too.\n", reasons },
	{ NULL, NULL, NULL, NULL, NULL, NULL },
};
