// SPDX-License-Identifier: GPL-2.0-or-later
/* `latency`: how long packets are delayed, which peers are measured by name, and the results. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <bwl/latency.h>
#include "ctl.h"
#include "stats.h"

#define MAX_NS 3600000000000ULL

static struct bwl_value get_peer(const void *row)
{
	const struct bwl_lat_peer *p = row;

	return p->id ? bwl_v_text(p->name) : bwl_v_both(json_null(), "(all others)");
}

static struct bwl_value get_shape(const void *row)
{
	return bwl_v_json(bwl_lat_json(&((const struct bwl_lat_peer *)row)->sum.shape));
}

static struct bwl_value get_gate(const void *row)
{
	return bwl_v_json(bwl_lat_json(&((const struct bwl_lat_peer *)row)->sum.gate));
}

static struct bwl_value get_unmatched(const void *row)
{
	return bwl_v_count(((const struct bwl_lat_peer *)row)->sum.unmatched);
}

static struct bwl_value get_frames(const void *row)
{
	return bwl_v_count(bwl_lat_frames(&((const struct bwl_lat_peer *)row)->sum.shape));
}

/* Frames that did not leave at once. */
static struct bwl_value get_waited(const void *row)
{
	const struct bwl_lat_hist *h = &((const struct bwl_lat_peer *)row)->sum.shape;

	return bwl_v_count(bwl_lat_frames(h) - h->bin[0]);
}

/* Upper bounds of bins: "up to". */
static struct bwl_value up_to(const struct bwl_lat_hist *h, unsigned percent)
{
	uint64_t ns = bwl_lat_percentile(h, percent);
	char t[BWL_UNIT_BUF];

	if (!ns)
		return bwl_v_both(json_null(), "-");
	if (ns == 1)
		return bwl_v_both(json_null(), "0");
	if (ns >> (BWL_LAT_BINS - 1))
		return bwl_v_both(json_null(), "more");
	return bwl_v_both(json_null(), "%s", bwl_human_time((double)ns / 1e9, t));
}

#define UP_TO(what, percent)                                                                       \
	static struct bwl_value get_##what##percent(const void *row)                               \
	{                                                                                          \
		return up_to(&((const struct bwl_lat_peer *)row)->sum.what, percent);              \
	}
UP_TO(shape, 50)
UP_TO(shape, 99)
UP_TO(gate, 50)
UP_TO(gate, 99)

static const struct bwl_field fields[] = {
	{ "peer", "~PEER", get_peer },    { "shape", NULL, get_shape },
	{ "gate", NULL, get_gate },       { NULL, ">FRAMES", get_frames },
	{ NULL, "?>SHAPED", get_waited }, { NULL, ">SHAPE 50%", get_shape50 },
	{ NULL, ">99%", get_shape99 },    { NULL, ">GATE 50%", get_gate50 },
	{ NULL, ">99%", get_gate99 },     { "unmatched_frames", "?>UNMATCHED", get_unmatched },
};

static const struct bwl_column columns[] = {
	{ &fields[0], BWL_BOTH },
	{ &fields[1], BWL_FOR_PROGRAMS },
	{ &fields[2], BWL_FOR_PROGRAMS },
	{ &fields[3], BWL_FOR_PEOPLE },
	{ &fields[4], BWL_FOR_PEOPLE },
	{ &fields[5], BWL_FOR_PEOPLE },
	{ &fields[6], BWL_FOR_PEOPLE },
	{ &fields[7], BWL_FOR_PEOPLE },
	{ &fields[8], BWL_FOR_PEOPLE },
	{ &fields[9], BWL_BOTH },
	{ NULL, BWL_BOTH },
};

static bool is_wanted(const struct bwl_lat_peer *p, int argc, char **argv)
{
	for (int i = 0; i < argc; i++)
		if (!strcmp(p->name, argv[i]))
			return true;
	return !argc;
}

static void print(const struct ctl *c, const struct bwl_lat_peers *l, bool on, int argc,
		  char **argv)
{
	struct bwl_list *list = bwl_list_new(columns, c->json);
	json_t *rows, *doc;

	for (size_t i = 0; i < l->n; i++)
		if (is_wanted(&l->peer[i], argc, argv))
			bwl_list_add(list, &l->peer[i]);
	rows = bwl_list_end(list);
	if (!rows) {
		bwl_say(0, "%s",
			on ? "\nTimes are upper bounds, in powers of two. Shape: until the departure time; gate: from host port to uplink"
			   : "\nnot being measured: bwlimit-load upgrade --latency on");
		return;
	}
	doc = bwl_doc("latency");
	json_object_set_new(doc, "measured", json_boolean(on));
	json_object_set_new(doc, "peers", rows);
	bwl_doc_print(doc);
}

/*
 * Subtracts what was there before the wait; a peer that was not measured by name then keeps
 * everything.
 */
static void subtract(struct bwl_lat_peers *now, const struct bwl_lat_peers *was)
{
	for (size_t i = 0; i < now->n; i++)
		for (size_t k = 0; k < was->n; k++)
			if (now->peer[i].id == was->peer[k].id &&
			    !strcmp(now->peer[i].name, was->peer[k].name))
				bwl_lat_since(&now->peer[i].sum, &was->peer[k].sum);
}

static int not_by_name(struct ctl *c, const char *name)
{
	bwl_fail(&c->err, ENOENT, "'%.64s' is not measured by name", name);
	return bwl_hint(&c->err, "bwlimit-ctl latency on %.64s", name);
}

static int look(struct ctl *c, const struct bwl_pins *p, uint64_t for_ns, int argc, char **argv)
{
	BWL_AUTO_FREE struct bwl_lat_peers *now = bwl_must(calloc(1, sizeof(*now)));
	BWL_AUTO_FREE struct bwl_lat_peers *was = bwl_must(calloc(1, sizeof(*was)));
	int r = bwl_lat_read(p, now, &c->err), i;
	size_t k;

	for (i = 0; !r && i < argc; i++) {
		for (k = 1; k < now->n && strcmp(now->peer[k].name, argv[i]); k++)
			;
		if (k >= now->n)
			return not_by_name(c, argv[i]);
	}
	if (!r && for_ns) {
		*was = *now;
		ctl_catch_signals();
		ctl_sleep(for_ns);
		r = bwl_lat_read(p, now, &c->err);
		subtract(now, was);
	}
	if (!r)
		print(c, now, bwl_lat_is_on(p), argc, argv);
	return r;
}

static int latency_show(struct ctl *c, int argc, char **argv)
{
	const char *for_text = NULL;
	const struct ctl_opt opts[] = { { "--for", NULL, &for_text }, { NULL, NULL, NULL } };
	struct bwl_pins *pins;
	uint64_t for_ns = 0;
	int r = ctl_opts(c, &argc, argv, opts);

	if (!r && for_text && bwl_parse_time(for_text, &for_ns, &c->err))
		r = CTL_USAGE;
	if (!r && for_text && (!for_ns || for_ns > MAX_NS))
		r = ctl_usage(c, "--for %.32s: must be greater than 0, and at most 1h", for_text);
	if (!r)
		r = bwl_pins_open(c->pin_dir, false, &pins, &c->err);
	if (r)
		return r;
	r = look(c, pins, for_ns, argc, argv);
	bwl_pins_close(pins);
	return r;
}

static json_t *names_of(int argc, char **argv)
{
	json_t *names = json_array();

	for (int i = 0; i < argc; i++)
		json_array_append_new(names, json_string(argv[i]));
	return names;
}

static int latency_on(struct ctl *c, int argc, char **argv)
{
	uint32_t *ids = NULL;
	struct bwl_view v;
	char line[512];
	size_t n = 0;
	int r;

	if (!argc)
		return ctl_usage(c, "latency on needs peers");
	r = ctl_view_open(c, true, &v);
	if (r)
		return r;
	r = bwl_pins_lock(v.pins, &c->err);
	if (!r)
		r = ctl_view_ids(c, &v, argc, argv, &ids, &n);
	for (size_t i = 0; !r && i < n; i++)
		r = bwl_lat_begin(v.pins, ids[i], &c->err);
	if (!r) {
		bwl_audit("latency on %s", ctl_join(argc, argv, line, sizeof(line)));
		if (c->json)
			ctl_print_list("latency-on", "peer_names", names_of(argc, argv));
		else
			puts("measured by name: bwlimit-ctl latency show");
		if (!bwl_lat_is_on(v.pins))
			bwl_warn("the programs do not measure: bwlimit-load upgrade --latency on");
	}
	free(ids);
	bwl_view_close(&v);
	return r;
}

/* Of the names, ends those that have a row. */
static int end_by_name(struct ctl *c, struct bwl_pins *p, int argc, char **argv)
{
	BWL_AUTO_FREE struct bwl_lat_peers *l = bwl_must(calloc(1, sizeof(*l)));
	int r = bwl_lat_read(p, l, &c->err);

	for (int i = 0; !r && i < argc; i++) {
		size_t k = 1;

		while (k < l->n && strcmp(l->peer[k].name, argv[i]))
			k++;
		r = k < l->n ? bwl_lat_end(p, l->peer[k].id, &c->err) : not_by_name(c, argv[i]);
	}
	return r;
}

static int latency_off(struct ctl *c, int argc, char **argv)
{
	bool all = false;
	const struct ctl_opt opts[] = { { "--all", &all, NULL }, { NULL, NULL, NULL } };
	struct bwl_pins *pins;
	char line[512];
	int r = ctl_opts(c, &argc, argv, opts);

	if (!r && all == !!argc)
		r = ctl_usage(c, "latency off needs peers, or --all");
	if (!r)
		r = bwl_pins_open(c->pin_dir, true, &pins, &c->err);
	if (r)
		return r;
	r = bwl_pins_lock(pins, &c->err);
	if (!r)
		r = all ? bwl_lat_end(pins, 0, &c->err) : end_by_name(c, pins, argc, argv);
	if (!r) {
		bwl_audit("latency off %s",
			  all ? "--all" : ctl_join(argc, argv, line, sizeof(line)));
		if (c->json)
			ctl_print_list("latency-off", "peer_names", names_of(argc, argv));
		else
			puts("no longer measured by name");
	}
	bwl_pins_close(pins);
	return r;
}

const struct ctl_cmd ctl_latency_cmds[] = {
	{ "latency", "show", "[NAME…] [--for TIME]",
	  "How long packets are delayed: in shape, and from host port to uplink",
	  "How to measure: docs/latency.md. One row per peer that is measured by name, and one for all others.\n\n"
	  "  --for TIME     only during this time, at most 1h; without it, since measuring began\n\n"
	  "Examples:\n"
	  "  bwlimit-ctl latency show\n"
	  "  bwlimit-ctl latency show tray-3 --for 1m --json\n",
	  latency_show },
	{ "latency", "on", "NAME…", "Measure these peers by name",
	  "63 at most. To make the programs measure: docs/latency.md.\n\n"
	  "Examples:\n"
	  "  bwlimit-ctl latency on tray-3 log-collector\n",
	  latency_on },
	{ "latency", "off", "NAME…|--all", "Stop measuring these peers by name",
	  "Their measurements are deleted.\n\n"
	  "Examples:\n"
	  "  bwlimit-ctl latency off tray-3\n"
	  "  bwlimit-ctl latency off --all\n",
	  latency_off },
	{ NULL, NULL, NULL, NULL, NULL, NULL },
};
