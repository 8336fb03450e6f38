// SPDX-License-Identifier: GPL-2.0-or-later
/* The pinned maps as most commands need them: with the generation in force. */
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include "ctl.h"
#include "journal/journal.h"

volatile int ctl_stopped;

static void on_signal(int sig)
{
	(void)sig;
	ctl_stopped = 1;
}

void ctl_catch_signals(void)
{
	struct sigaction a = { .sa_handler = on_signal };

	sigaction(SIGINT, &a, NULL);
	sigaction(SIGTERM, &a, NULL);
	sigaction(SIGHUP, &a, NULL);
}

static int no_policy(struct ctl *c)
{
	bwl_fail(&c->err, ENOENT, "no policy has been applied: everything is dropped");
	return bwl_hint(&c->err, "bwlimit-ctl policy apply FILE");
}

int ctl_view_open(struct ctl *c, bool writable, struct bwl_view *v)
{
	int r = bwl_view_open(c->pin_dir, writable, v, &c->err);

	if (r || v->has_gen)
		return r;
	bwl_view_close(v);
	return no_policy(c);
}

const struct bwl_peer *ctl_view_peer(const struct bwl_view *v, uint32_t id)
{
	return bwl_body(v->pins, &v->gen, id);
}

int ctl_view_no_peer(struct ctl *c, const struct bwl_view *v, const char *name)
{
	const char **names = calloc((size_t)v->pins->schema.max_peers + 1, sizeof(*names));
	const char *near = NULL;
	size_t n = 0;

	for (uint32_t id = 1;
	     names && !bwl_pins_whole(v->pins, NULL) && id < v->pins->schema.max_peers; id++)
		if (bwl_body_at(v->pins, &v->gen, id))
			names[n++] = v->pins->name[id].name;
	if (names)
		near = ctl_nearest(name, names);
	bwl_fail(&c->err, ENOENT, "no peer '%.64s' in the policy in force", name);
	if (near)
		bwl_hint(&c->err, "did you mean '%.32s'?", near);
	else
		bwl_hint(&c->err, "bwlimit-ctl peer list");
	free(names);
	return -ENOENT;
}

static int by_name(const void *a, const void *b, void *arg)
{
	const struct bwl_name *name = arg;

	return strcmp(name[*(const uint32_t *)a].name, name[*(const uint32_t *)b].name);
}

int ctl_view_ids(struct ctl *c, const struct bwl_view *v, int argc, char **argv, uint32_t **ret,
		 size_t *ret_n)
{
	size_t room = argc ? (size_t)argc : v->gen.npeers, n = 0;
	uint32_t *ids = calloc(room + 1, sizeof(*ids)), id;

	if (!ids)
		return bwl_fail(&c->err, ENOMEM, "out of memory");
	for (int i = 0; i < argc; i++) {
		id = bwl_peer_id(v->pins, &v->gen, argv[i]);
		if (!id) {
			free(ids);
			return ctl_view_no_peer(c, v, argv[i]);
		}
		ids[n++] = id;
	}
	for (id = 1; !argc && id < v->pins->schema.max_peers && n < room; id++)
		if (ctl_view_peer(v, id))
			ids[n++] = id;
	if (!argc)
		qsort_r(ids, n, sizeof(*ids), by_name, v->pins->name);
	*ret = ids;
	*ret_n = n;
	return 0;
}

int ctl_edit_begin(struct ctl *c, struct bwl_pins **ret_pins, struct bwl_policy **ret_pol)
{
	struct bwl_pins *p;
	int r;

	r = bwl_pins_open(c->pin_dir, true, &p, &c->err);
	if (r)
		return r;
	/* Held until the pins are closed: nobody edits between our read and our write. */
	r = bwl_pins_lock(p, &c->err);
	if (!r && bwl_active_slot(p) == BWL_NO_SLOT)
		r = no_policy(c);
	if (!r)
		r = bwl_trial_refuses(p, &c->err);
	if (!r)
		r = bwl_policy_read(p, ret_pol, &c->err);
	if (r) {
		bwl_pins_close(p);
		return r;
	}
	*ret_pins = p;
	return 0;
}

int ctl_edit_end(struct ctl *c, struct bwl_pins *pins, struct bwl_policy *pol, bool fresh_volume,
		 struct bwl_publish_report *ret)
{
	struct bwl_publish_opts opts = { .fresh_volume = fresh_volume, .of_maps = true };
	int r;

	r = bwl_policy_check(pol, NULL, &c->err);
	if (r)
		return r;
	bwl_journal_policy(pins, pol, false, false);
	r = bwl_publish(pins, pol, &opts, ret, &c->err);
	if (!r)
		bwl_journal_follow(pins);
	return r;
}
