// SPDX-License-Identifier: GPL-2.0-or-later
/* See spent.h. */
#include <stdio.h>
#include <string.h>
#include <bwl/tables.h>
#include "spent.h"

#define NAMED 8

struct spent {
	const struct bwl_pins *p;
	uint64_t now;
	unsigned n;
	char names[NAMED * (BWL_LIMIT_KEY + 2)];
};

static void one(const struct bwl_limit *l, uint32_t state, void *arg)
{
	struct spent *s = arg;
	char key[BWL_LIMIT_KEY];
	struct bwl_left left;
	size_t at = strlen(s->names);

	bwl_limit_left(s->p, &l->rate, &l->volume, state, s->now, &left);
	if (!left.has_volume || left.used < left.volume || !left.volume)
		return;
	if (s->n++ < NAMED)
		snprintf(s->names + at, sizeof(s->names) - at, "%s%s", at ? ", " : "",
			 bwl_limit_key(s->p, state, key));
}

void bwl_spent_say(struct bwl_pins *p)
{
	struct spent s = { .p = p, .now = bwl_now_ns() };
	char more[32] = "";
	struct bwl_gen g;

	if (bwl_gen_open(p, bwl_active_slot(p), &g, NULL))
		return;
	bwl_limit_each(p, &g, one, &s);
	bwl_gen_close(&g);
	if (!s.n)
		return;
	if (s.n > NAMED)
		snprintf(more, sizeof(more), " and %u more", s.n - NAMED);
	bwl_warn("volumes start spent, because new maps do not know earlier use: %s%s", s.names,
		 more);
	bwl_warn(
		"bwlimitd gives back what its ledger knows; `bwlimit-ctl grant NAME volume +V once reason TEXT` gives a peer V more; a volume with a window is free again once the window has passed; for a zone: bwlimit-ctl zone set");
}
