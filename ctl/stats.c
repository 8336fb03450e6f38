// SPDX-License-Identifier: GPL-2.0-or-later
/* `stats`: counters per peer. `reasons`: counters per port and reason. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <bpf/libbpf.h>
#include "stats.h"

/*
 * Ids are given from 1 on: after the last name, where most of the entries are, there are no
 * counters.
 */
static uint32_t named(const struct bwl_pins *p)
{
	uint32_t id = p->schema.max_peers - 1;

	while (id && !p->name[id].name[0])
		id--;
	return id + 1;
}

int ctl_sample(struct ctl *c, struct bwl_pins *pins, struct ctl_sample *ret)
{
	ret->now_ns = bwl_now_ns();
	ret->n = pins->schema.max_peers;
	ret->count = calloc(pins->schema.max_peers, sizeof(*ret->count));
	if (!ret->count)
		return bwl_fail(&c->err, ENOMEM, "out of memory");
	return bwl_peercnt_read_first(pins, named(pins), ret->count, &c->err);
}

void ctl_sample_free(struct ctl_sample *s)
{
	free(s->count);
	*s = (struct ctl_sample){ 0 };
}

struct bwl_speed ctl_speed(const struct ctl_sample *a, const struct ctl_sample *b, uint32_t id)
{
	const struct bwl_peer_count *x = &a->count[id], *y = &b->count[id];
	double s = (double)(b->now_ns - a->now_ns) / 1e9;

	/* a new attachment between the two starts counting over, or has other ids */
	if (s <= 0 || id >= a->n || id >= b->n || x->bytes > y->bytes ||
	    x->drop_bytes > y->drop_bytes)
		return (struct bwl_speed){ 0 };
	return (struct bwl_speed){
		.passed_bps = (double)(y->bytes - x->bytes) * 8 / s,
		.dropped_bps = (double)(y->drop_bytes - x->drop_bytes) * 8 / s,
		.dropped_fps = (double)(y->drop_frames - x->drop_frames) / s,
	};
}

bool ctl_sleep(uint64_t ns)
{
	struct timespec t = { .tv_sec = (time_t)(ns / 1000000000),
			      .tv_nsec = (long)(ns % 1000000000) };

	while (!ctl_stopped && clock_nanosleep(CLOCK_MONOTONIC, 0, &t, &t) == EINTR)
		;
	return !ctl_stopped;
}

static bool any_over(const uint32_t *ids, size_t n, const struct bwl_over_count *over)
{
	for (size_t i = 0; i < n; i++)
		if (over[ids[i]].frames)
			return true;
	return false;
}

static void stats_print(struct ctl *c, const struct bwl_view *v, const uint32_t *ids, size_t n,
			const struct ctl_sample *first, const struct ctl_sample *s,
			const struct bwl_over_count *over)
{
	enum bwl_where now = first ? BWL_BOTH : BWL_FOR_PROGRAMS;
	enum bwl_where dry = any_over(ids, n, over) ? BWL_BOTH : BWL_FOR_PROGRAMS;
	const struct bwl_column columns[] = {
		{ &bwl_f_peer, BWL_BOTH },
		{ &bwl_f_passed_frames, BWL_BOTH },
		{ &bwl_f_passed_bytes, BWL_BOTH },
		{ &bwl_f_dropped_frames, BWL_BOTH },
		{ &bwl_f_dropped_bytes, BWL_BOTH },
		{ &bwl_f_refund_lost, BWL_BOTH },
		{ &bwl_f_over_frames, dry },
		{ &bwl_f_over_bytes, dry },
		{ &bwl_f_passes, now },
		{ &bwl_f_drops, now },
		{ NULL, BWL_BOTH },
	};
	struct bwl_list *l = bwl_list_new(columns, c->json);
	json_t *rows;

	for (size_t i = 0; i < n; i++) {
		struct bwl_speed speed = { 0 };

		if (first)
			speed = ctl_speed(first, s, ids[i]);
		bwl_list_add(l, &(struct bwl_peer_row){ .v = v,
							.id = ids[i],
							.count = &s->count[ids[i]],
							.over = &over[ids[i]],
							.speed = first ? &speed : NULL });
	}
	rows = bwl_list_end(l);
	if (rows)
		ctl_print_list("stats", "peers", rows);
}

static int stats(struct ctl *c, int argc, char **argv)
{
	const char *interval = NULL;
	const struct ctl_opt opts[] = { { "--interval", NULL, &interval }, { NULL, NULL, NULL } };
	struct ctl_sample first = { 0 }, s = { 0 };
	struct bwl_over_count *over = NULL;
	uint32_t *ids = NULL;
	struct bwl_view v;
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
	/* first, so that what was counted meanwhile makes it less than what passed, never more */
	if (!r)
		over = bwl_must(calloc(v.pins->schema.max_peers, sizeof(*over)));
	if (!r)
		r = bwl_over_read(v.pins, named(v.pins), over, &c->err);
	if (!r)
		r = ctl_sample(c, v.pins, &s);
	if (!r)
		stats_print(c, &v, ids, n, interval ? &first : NULL, &s, over);
	free(over);
	ctl_sample_free(&first);
	ctl_sample_free(&s);
	free(ids);
	bwl_view_close(&v);
	return r;
}

/* The number of a port that is no longer attached. */
static const char *row_port(const struct bwl_pins *p, unsigned int port, unsigned int reason,
			    char buf[static 24])
{
	if (reason == BWL_R_NO_PORT && !p->dev[port].ifindex)
		return NULL;
	if (*p->dev[port].name)
		snprintf(buf, 24, "%.15s", p->dev[port].name);
	else
		snprintf(buf, 24, "port %u", port);
	return buf;
}

static bool known_port(const struct bwl_pins *p, const char *dev)
{
	for (unsigned int i = 0; i < BWL_MAX_PORTS; i++)
		if (!strncmp(p->dev[i].name, dev, sizeof(p->dev[i].name)))
			return true;
	return false;
}

/* Frames that reasons do not show, because a merged packet counts as one: of each port and hook. */
static json_t *merged_print(struct ctl *c, struct bwl_pins *pins, const char *port)
{
	BWL_AUTO_FREE struct bwl_reason_count *cpus = bwl_must(
		calloc((size_t)libbpf_num_possible_cpus(), sizeof(*cpus)));
	json_t *rows = json_array();
	struct bwl_reason_count n;
	char buf[24];

	for (unsigned int row = 0; row < BWL_REASON_ROWS; row++) {
		const char *name = row_port(pins, row % BWL_MAX_PORTS, BWL_REASON_SEGMENTS, buf);

		if (port &&
		    strncmp(pins->dev[row % BWL_MAX_PORTS].name, port, sizeof(pins->dev[0].name)))
			continue;
		if (bwl_reason_at(pins, row * BWL_REASON_COLUMNS + BWL_REASON_SEGMENTS, cpus, &n) ||
		    !n.frames)
			continue;
		if (!c->json)
			bwl_put(stdout,
				"%s%s: %" PRIu64
				" frame%s more in merged packets, which count as one each above (%" PRIu64
				" byte%s of headers)\n",
				name, row >= BWL_MAX_PORTS ? " out" : "", (uint64_t)n.frames,
				BWL_S(n.frames), (uint64_t)n.bytes, BWL_S(n.bytes));
		json_array_append_new(rows, json_pack("{s:s, s:s, s:I, s:I}", "port", name, "hook",
						      row >= BWL_MAX_PORTS ? "gate" : "ingress",
						      "frames", (json_int_t)n.frames, "bytes",
						      (json_int_t)n.bytes));
	}
	return rows;
}

static void reasons_print(struct ctl *c, struct bwl_pins *pins, const char *port, bool all,
			  const struct bwl_reason_count *count)
{
	struct bwl_list *l = bwl_list_new(bwl_reason_columns, c->json);
	json_t *rows, *merged, *doc;
	char buf[24];

	for (unsigned int row = 0; row < BWL_REASON_ROWS; row++) {
		const struct bwl_dev *dev = &pins->dev[row % BWL_MAX_PORTS];
		/*
		 * host ports have no last gate, and of what management receives nothing is counted
		 */
		bool there = dev->ifindex &&
			     (row < BWL_MAX_PORTS
				      ? dev->kind != BWL_PORT_MANAGEMENT
				      : dev->kind & (BWL_PORT_UPLINK | BWL_PORT_MANAGEMENT));

		if (port && strncmp(dev->name, port, sizeof(dev->name)))
			continue;
		for (unsigned int i = 0; i < _BWL_REASON_MAX; i++) {
			const struct bwl_reason_count *n = &count[row * BWL_REASON_COLUMNS + i];

			if (!n->frames && !(all && there))
				continue;
			bwl_list_add(l, &(struct bwl_reason_row){
						row_port(pins, row % BWL_MAX_PORTS, i, buf),
						row >= BWL_MAX_PORTS, i, n });
		}
	}
	rows = bwl_list_end(l);
	merged = merged_print(c, pins, port);
	if (!rows) {
		json_decref(merged);
		return;
	}
	doc = bwl_doc("reasons");
	json_object_set_new(doc, "reasons", rows);
	json_object_set_new(doc, "merged", merged);
	bwl_doc_print(doc);
}

static int reasons(struct ctl *c, int argc, char **argv)
{
	const char *port = NULL;
	bool all = false;
	const struct ctl_opt opts[] = {
		{ "--port", NULL, &port },
		{ "--all", &all, NULL },
		{ NULL, NULL, NULL },
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
	count = calloc(BWL_REASON_ROWS * BWL_REASON_COLUMNS, sizeof(*count));
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
	  "Passed bytes are as charged (every segment with its headers), dropped bytes as seen, or on arrival\n"
	  "as charged to their sender. NOT ENFORCED: of those that passed, what passed over the peer's own\n"
	  "limits because its mode is monitor.\n"
	  "With --interval also the rates over that time.\n\n"
	  "Examples:\n"
	  "  bwlimit-ctl stats --interval 1s\n"
	  "  bwlimit-ctl stats log-collector --json\n",
	  stats },
	{ "reasons", NULL, "[--port DEV] [--all]",
	  "Counters per port and reason: every packet has one",
	  "`out` is the last gate of an uplink. The sum over a port's reasons is what it received since\n"
	  "attach, with the frames that GRO had merged by then. --all shows zeros too.\n\n"
	  "Examples:\n"
	  "  bwlimit-ctl reasons\n"
	  "  bwlimit-ctl reasons --port pf0hpf --all\n",
	  reasons },
	{ NULL, NULL, NULL, NULL, NULL, NULL },
};
