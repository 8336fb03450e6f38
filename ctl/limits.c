// SPDX-License-Identifier: GPL-2.0-or-later
/* Prints the limits of a peer after a command has changed them. */
#include <stdio.h>
#include "bwl/cleanup.h"
#include "ctl.h"

static void say(const struct bwl_peer_row *row)
{
	static const struct {
		const char *what;
		const struct bwl_field *field;
	} limits[] = {
		{ "rate", &bwl_f_rate },         { ", burst", &bwl_f_burst },
		{ ", used", &bwl_f_left },       { ", mode", &bwl_f_mode_in_force },
		{ ", expires", &bwl_f_expires },
	};

	const struct bwl_peer *body = row->body;
	enum bwl_standing now = bwl_standing(row->v, row->id, body);
	uint64_t accept = bwl_rate_decode(&body->accept);
	BWL_AUTO_FREE char *text = NULL;
	char rate[BWL_UNIT_BUF];
	size_t len;
	FILE *f = bwl_must(open_memstream(&text, &len));

	fputs("  now", f);
	if (now != BWL_STAND_LIVE)
		fprintf(f, " %s, with", bwl_standing_name(now));
	for (size_t i = 0; i < sizeof(limits) / sizeof(*limits); i++) {
		struct bwl_value v;

		if (limits[i].field == &bwl_f_left && !row->left.has_volume)
			continue;
		v = limits[i].field->get(row);
		fprintf(f, "%s%s %s", i ? "" : " ", limits[i].what, v.text);
		json_decref(v.json);
	}
	/* that of the grant, unless it was named */
	if (body->meta.flags & BWL_PEER_ACCEPT && accept != bwl_rate_decode(&body->grant.rate))
		fprintf(f, ", accept %s", bwl_format_rate(accept, rate));
	fclose(f);
	bwl_say(4, "%s", text);
}

/* A volume counts from the first byte on: a new one may already be spent. */
static void warn_spent(const struct bwl_left *l, const char *name)
{
	if (l->has_volume && l->used >= l->volume)
		bwl_warn(
			l->window_ns
				? "the volume of %s is spent until its window has passed: `volume +V once` gives V more of it"
				: "the volume of %s is spent, or its past is not known: `volume +V once` gives V more",
			name);
}

void ctl_say_limits(const struct ctl *c, struct bwl_pins *pins, const char *name)
{
	struct bwl_view v = { .pins = pins, .now_ns = bwl_now_ns() };
	struct bwl_peer_row row = { .v = &v, .now_ns = v.now_ns };

	if (bwl_gen_open(pins, bwl_active_slot(pins), &v.gen, NULL))
		return;
	row.id = bwl_peer_id(pins, &v.gen, name);
	row.body = ctl_view_peer(&v, row.id);
	if (row.body && !bwl_pins_touch_peer(pins, row.id, NULL)) {
		bwl_grant_left(&v, row.id, row.body, &row.left);
		if (!c->json)
			say(&row);
		warn_spent(&row.left, name);
	}
	bwl_gen_close(&v.gen);
}
