// SPDX-License-Identifier: GPL-2.0-or-later
/* `zone`: the limits that peers share. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include "ctl.h"
#include "journal/journal.h"

static void zone_row(struct ctl *c, const struct ctl_view *v, const struct bwl_zone *z,
		     size_t peers, struct ctl_table *t, json_t *a)
{
	char rate[BWL_UNIT_BUF], burst[BWL_UNIT_BUF], vol[CTL_LIM_BUF];
	uint64_t bps = bwl_rate_decode(&z->limit.rate);
	struct bwl_left l;
	json_t *o;

	bwl_limit_left(v->pins, &z->limit.rate, &z->limit.volume, z->limit.volume.state, v->now_ns, &l);
	if (c->json) {
		o = json_pack("{s:s,s:I}", "name", z->name, "peers", (json_int_t)peers);
		json_object_set_new(o, "rate_bps", bps ? json_integer((json_int_t)bps) : json_null());
		json_object_set_new(o, "left", ctl_json_left(&l));
		json_array_append_new(a, o);
		return;
	}
	ctl_cell(t, "%s", z->name);
	ctl_cell(t, "%zu", peers);
	ctl_cell(t, "%s", bps ? bwl_format_rate(bps, rate) : "unlimited");
	ctl_cell(t, "%s", bps ? bwl_format_size(l.burst, burst) : "-");
	ctl_cell(t, "%s", bps ? bwl_human_size((double)l.debt, burst) : "-");
	ctl_cell(t, "%s", ctl_left_volume(&l, vol));
}

static int zone_list(struct ctl *c, int argc, char **argv)
{
	static const char *const heads[] = {
		"NAME", ">PEERS", ">RATE", ">BURST", ">DEBT", ">VOLUME USED", NULL,
	};
	size_t peers[BWL_MAX_ZONES] = { 0 };
	struct ctl_table *t;
	struct ctl_view v;
	json_t *a;
	int r;

	(void)argv;
	if (argc)
		return ctl_usage(c, "'zone list' takes no argument");
	r = ctl_view_open(c, false, &v);
	if (r)
		return r;
	for (uint32_t id = 1; id < v.pins->schema.max_peers; id++) {
		const struct bwl_peer *p = ctl_view_peer(&v, id);

		if (p)
			peers[p->meta.zone]++;
	}
	t = ctl_table_new(heads);
	a = json_array();
	for (size_t i = 1; i < BWL_MAX_ZONES; i++)
		if (*v.gen.base->zone[i].name)
			zone_row(c, &v, &v.gen.base->zone[i], peers[i], t, a);
	if (c->json)
		ctl_json_print(json_pack("{s:O}", "zones", a));
	else
		ctl_table_print(t, stdout);
	json_decref(a);
	ctl_table_free(t);
	ctl_view_close(&v);
	return 0;
}

static int zone_set(struct ctl *c, int argc, char **argv)
{
	struct bwl_publish_report rep = { 0 };
	struct bwl_policy *pol = NULL;
	struct bwl_pol_zone *z = NULL;
	struct bwl_pins *pins = NULL;
	struct ctl_words w = { 0 };
	char line[512];
	int r;

	if (!argc)
		return ctl_usage(c, "say which zone, and what to change");
	r = ctl_words(c, argc - 1, argv + 1, CTL_W_LIMIT, &w);
	if (r)
		return r;
	if (!w.seen)
		return ctl_usage(c, "say what to change: rate, burst or volume");
	r = ctl_edit_begin(c, &pins, &pol);
	for (size_t i = 0; !r && i < pol->nzones; i++)
		if (!strcmp(pol->zones[i].name, argv[0]))
			z = &pol->zones[i];
	if (!r && !z) {
		bwl_fail(&c->err, ENOENT, "no zone '%.64s' in the policy in force", argv[0]);
		r = bwl_hint(&c->err, "bwlimit-ctl zone list; a new zone comes with a policy file");
	}
	if (!r) {
		z->limit.present = true;
		if (w.seen & CTL_W_RATE) {
			z->limit.rate_bps = w.lim.rate_bps;
			z->limit.burst = 0;	/* the default follows the rate */
		}
		if (w.seen & CTL_W_BURST)
			z->limit.burst = w.lim.burst;
		if (w.seen & CTL_W_VOLUME) {
			z->limit.has_volume = w.lim.has_volume;
			z->limit.volume = w.lim.volume;
			z->limit.window_ns = w.lim.window_ns;
		}
		r = bwl_audit_intent(&c->err, "zone set %s", ctl_join(argc, argv, line, sizeof(line)));
		if (!r)
			r = ctl_edit_end(c, pins, pol, true, &rep);
	}
	if (!r) {
		r = bwl_journal_limits(pins, true, argv[0], ctl_journal_limits(&w), &c->err);
		bwl_audit("zone set %s", ctl_join(argc, argv, line, sizeof(line)));
	}
	if (!r) {
		ctl_print_report(c, &rep, json_pack("{s:s}", "zone", argv[0]));
	}
	bwl_policy_free(pol);
	bwl_pins_close(pins);
	return r;
}

const struct ctl_cmd ctl_zone_cmds[] = {
	{ "zone", "list", "", "Zones: their shared limits and what is used", NULL, zone_list },
	{ "zone", "set", "NAME [rate R] [burst B] [volume V]", "Change the limit that a zone's peers share",
	  "Examples:\n"
	  "  bwlimit-ctl zone set external rate 50mbit volume 10gb per 1d\n", zone_set },
	{ NULL, NULL, NULL, NULL, NULL, NULL },
};
