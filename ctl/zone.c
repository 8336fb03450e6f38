// SPDX-License-Identifier: GPL-2.0-or-later
/* `zone`: the limits that peers share. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include "ctl.h"
#include "journal/journal.h"

struct zone_row {
	const struct bwl_zone *zone;
	size_t peers;
	struct bwl_left left;
};

static struct bwl_value get_name(const void *row)
{
	return bwl_v_text(((const struct zone_row *)row)->zone->name);
}

static struct bwl_value get_peers(const void *row)
{
	return bwl_v_count(((const struct zone_row *)row)->peers);
}

static struct bwl_value get_share(const void *row)
{
	return bwl_v_text(bwl_share_name(((const struct zone_row *)row)->zone->weighted));
}

static struct bwl_value get_rate(const void *row)
{
	return bwl_v_rate(bwl_rate_decode(&((const struct zone_row *)row)->zone->limit.rate));
}

/* Without a rate there is neither burst nor debt. */
static struct bwl_value get_burst(const void *row)
{
	const struct zone_row *r = row;
	char buf[BWL_UNIT_BUF];

	return bwl_v_both(json_null(), "%s",
			  bwl_rate_decode(&r->zone->limit.rate)
				  ? bwl_format_size(r->left.burst, buf)
				  : "-");
}

static struct bwl_value get_debt(const void *row)
{
	const struct zone_row *r = row;
	char buf[BWL_UNIT_BUF];

	return bwl_v_both(json_null(), "%s",
			  bwl_rate_decode(&r->zone->limit.rate)
				  ? bwl_human_size((double)r->left.debt, buf)
				  : "-");
}

static struct bwl_value get_left(const void *row)
{
	return bwl_v_left(&((const struct zone_row *)row)->left);
}

static const struct bwl_field zone_fields[] = {
	{ "zone", "~NAME", get_name },
	{ "peer_count", ">PEERS", get_peers },
	{ "rate_bits_per_second", ">RATE", get_rate },
	{ NULL, "?>BURST", get_burst },
	{ NULL, ">DEBT", get_debt },
	{ "share", "?SHARE", get_share },
	{ "left", ">VOLUME USED", get_left },
};

static int zone_list(struct ctl *c, int argc, char **argv)
{
	static const struct bwl_column columns[] = {
		{ &zone_fields[0], BWL_BOTH }, { &zone_fields[1], BWL_BOTH },
		{ &zone_fields[2], BWL_BOTH }, { &zone_fields[3], BWL_BOTH },
		{ &zone_fields[4], BWL_BOTH }, { &zone_fields[5], BWL_BOTH },
		{ &zone_fields[6], BWL_BOTH }, { NULL, BWL_BOTH },
	};
	size_t peers[BWL_MAX_ZONES] = { 0 };
	struct bwl_list *l;
	struct bwl_view v;
	json_t *rows;
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
	l = bwl_list_new(columns, c->json);
	for (size_t i = 1; i < BWL_MAX_ZONES; i++) {
		struct zone_row row = { .zone = &v.gen.base->zone[i], .peers = peers[i] };
		const struct bwl_limit *lim = &row.zone->limit;

		if (!*row.zone->name)
			continue;
		bwl_limit_left(v.pins, &lim->rate, &lim->volume, lim->volume.state, v.now_ns,
			       &row.left);
		bwl_list_add(l, &row);
	}
	rows = bwl_list_end(l);
	if (rows)
		ctl_print_list("zones", "zones", rows);
	bwl_view_close(&v);
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
		return ctl_usage(c, "give a zone and what to change");
	r = ctl_words(c, argc - 1, argv + 1, CTL_W_LIMIT | CTL_W_REASON, &w);
	if (r)
		return r;
	if (!(w.seen & ~(unsigned int)CTL_W_REASON))
		return ctl_usage(c, "give what to change: rate, burst or volume");
	r = ctl_edit_begin(c, &pins, &pol);
	for (size_t i = 0; !r && i < pol->nzones; i++)
		if (!strcmp(pol->zones[i].name, argv[0]))
			z = &pol->zones[i];
	if (!r && !z) {
		bwl_fail(&c->err, ENOENT, "no zone '%.64s' in the policy in force", argv[0]);
		r = bwl_hint(&c->err, "bwlimit-ctl zone list; to add a zone, apply a policy file");
	}
	if (!r) {
		z->limit.present = true;
		if (w.seen & CTL_W_RATE)
			z->limit.rate_bps = w.lim.rate_bps; /* burst 0: the rate's default */
		if (w.seen & CTL_W_BURST)
			z->limit.burst = w.lim.burst;
		if (w.seen & CTL_W_VOLUME) {
			z->limit.has_volume = w.lim.has_volume;
			z->limit.volume = w.lim.volume;
			z->limit.window_ns = w.lim.window_ns;
		}
		r = bwl_audit_intent(&c->err, "zone set %s",
				     ctl_join(argc, argv, line, sizeof(line)));
		if (!r)
			r = ctl_edit_end(c, pins, pol, !bwl_only_tightens(pins), &rep);
	}
	if (!r) {
		r = bwl_journal_limits(pins, true, argv[0], ctl_journal_limits(&w), &c->err);
		bwl_audit("zone set %s", ctl_join(argc, argv, line, sizeof(line)));
	}
	if (!r) {
		json_t *doc = bwl_doc("zone-set");

		json_object_set_new(doc, "zone", json_string(argv[0]));
		ctl_print_report(c, &rep, doc);
	}
	bwl_policy_free(pol);
	bwl_pins_close(pins);
	return r;
}

const struct ctl_cmd ctl_zone_cmds[] = {
	{ "zone", "list", "", "Zones: their shared limits and what is used",
	  "Examples:\n"
	  "  bwlimit-ctl zone list\n",
	  zone_list },
	{ "zone", "set", "NAME [rate R] [burst B] [volume V] [reason TEXT…]",
	  "Change the limit that a zone's peers share",
	  "Examples:\n"
	  "  bwlimit-ctl zone set external rate 50mbit volume 10gb per 1d\n",
	  zone_set },
	{ NULL, NULL, NULL, NULL, NULL, NULL },
};
