// SPDX-License-Identifier: GPL-2.0-or-later
/* See gate.h. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include <bwl/desired.h>
#include "from_copy.h"
#include "gate.h"
#include "signed/memory.h"
#include "signed/widen.h"

#define TOLD 3 /* widenings that an error names */

static const char *state_dir;

static bool has_memory(const char *dir)
{
	char path[BWL_DESIRED_PATH];

	snprintf(path, sizeof(path), "%s/" BWL_MEMORY, dir);
	return !access(path, F_OK) || (errno != ENOENT && errno != ENOTDIR);
}

const char *bwl_enrolled_dir(void)
{
	const char *dir = state_dir ? state_dir : bwl_state_dir();

	if (has_memory(dir))
		return dir;
	return has_memory(BWL_STATE_DIR) ? BWL_STATE_DIR : NULL;
}

bool bwl_is_enrolled_here(void)
{
	return bwl_enrolled_dir();
}

int bwl_enrolled_refuses(struct bwl_pins *p, const char *what, struct bwl_err *e)
{
	if (!(p && bwl_enrolled(p)) && !bwl_is_enrolled_here())
		return 0;
	return bwl_gate_refuse(e, what);
}

/* If no policy is in force, for example after a boot: the accepted one, or an empty one. */
static int in_force(struct bwl_pins *p, struct bwl_policy **ret, struct bwl_err *e)
{
	if (bwl_active_slot(p) != BWL_NO_SLOT)
		return bwl_policy_read(p, ret, e);
	*ret = enrolled_accepted(bwl_enrolled_dir());
	if (!*ret)
		*ret = bwl_policy_new();
	enrolled_round(*ret);
	return 0;
}

static int refuse(const struct bwl_widened *w, const char *when, struct bwl_err *e)
{
	char text[sizeof(((struct bwl_err *)0)->text)], one[BWL_WIDENING_TEXT];
	size_t n = (size_t)snprintf(text, sizeof(text), "%s", when);

	for (size_t i = 0; i < w->n && i < TOLD; i++)
		n += (size_t)snprintf(text + n, n < sizeof(text) ? sizeof(text) - n : 0, "%s%s",
				      i ? "; " : "", bwl_widening_text(&w->item[i], one));
	if (w->n > TOLD && n < sizeof(text))
		snprintf(text + n, sizeof(text) - n, "; and %zu more", w->n - TOLD);
	return bwl_gate_refuse(e, text);
}

static int compare(const struct bwl_policy *from, const struct bwl_policy *to, bool fresh,
		   const char *when, struct bwl_err *e)
{
	struct bwl_holding a = bwl_holding_of(from), b = bwl_holding_of(to);
	struct bwl_widened w;
	int r = 0;

	b.fresh_volume = fresh;
	if (bwl_widens(&a, &b, &w))
		r = refuse(&w, when, e);
	bwl_widened_free(&w);
	return r;
}

/* A trial may end in the previous policy: so that must not be wider than the new one, either. */
static int judge(const struct bwl_policy *from, const struct bwl_policy *to,
		 const struct bwl_publish_opts *o, struct bwl_err *e)
{
	int r = compare(from, to, o && o->fresh_volume, "", e);

	if (!r && o && o->confirm_ns)
		r = compare(to, from, false, "it would return by itself to a wider policy: ", e);
	/*
	 * During a trial nothing else comes into force: what people sign to tighten would have to
	 * wait.
	 */
	if (!r && o && o->confirm_ns)
		r = bwl_gate_refuse(e, "signed documents would have to wait until the trial ends");
	return r;
}

static int gate(struct bwl_pins *p, struct bwl_policy *pol, const struct bwl_publish_opts *o,
		bool edit, struct bwl_err *e)
{
	BWL_AUTO(bwl_policy_free) struct bwl_policy *from = NULL, *copy = NULL;
	struct bwl_policy to;
	int r;

	if (!bwl_enrolled(p) && !bwl_is_enrolled_here())
		return 0;
	if (!pol)
		return 1;
	r = in_force(p, &from, e);
	if (r)
		return r;
	copy = enrolled_accepted(bwl_enrolled_dir());
	enrolled_follow(from, pol);
	enrolled_fill(from, copy, pol);
	if (edit || (o && o->of_maps))
		enrolled_fill(pol, copy, from);
	to = enrolled_as_held(pol, edit ? NULL : from);
	r = judge(from, &to, o, e);
	enrolled_as_held_free(&to);
	return r;
}

void bwl_enrolled_gate(const char *dir)
{
	state_dir = dir;
	bwl_gate_set(gate);
}
