// SPDX-License-Identifier: GPL-2.0-or-later
/* `ipsec track`: one look at the kernel's SAs, into the pinned maps. */
#include "ctl.h"
#include "ipsec/track_row.h"

/* The table is printed afterwards. */
static void on_change(uint32_t id, const struct bwl_track_verdict *v, void *arg)
{
	if (v->alarm)
		bwl_track_warn(arg, id, v);
}

static void print_peers(struct ctl *c, const struct bwl_pins *p, const struct bwl_track *t)
{
	struct bwl_list *l = bwl_list_new(bwl_track_columns, c->json);
	struct bwl_track_verdict v;
	json_t *rows;

	for (uint32_t id = 1; id < p->schema.max_peers; id++)
		if (bwl_track_get(t, id, &v))
			bwl_list_add(l, &(struct bwl_track_row){ p, id, &v });
	rows = bwl_list_end(l);
	if (rows)
		ctl_print_list("ipsec-track", "peers", rows);
}

static int track(struct ctl *c, int argc, char **argv)
{
	bool dry_run = false;
	const struct ctl_opt opts[] = { { "--dry-run", &dry_run, NULL }, { NULL, NULL, NULL } };
	struct bwl_tracker *t = NULL;
	struct bwl_pins *pins = NULL;
	int r;

	r = ctl_only_opts(c, argc, argv, opts);
	if (r)
		return r;
	r = bwl_pins_open(c->pin_dir, !dry_run, &pins, &c->err);
	if (r)
		return r;
	r = bwl_tracker_open(pins, dry_run, on_change, pins, &t, &c->err);
	if (!r) {
		print_peers(c, pins, bwl_tracker_track(t));
		bwl_tracker_leave(t);
	}
	bwl_tracker_close(t);
	bwl_pins_close(pins);
	return r;
}

const struct ctl_cmd ctl_ipsec_track_cmds[] = {
	{ "ipsec", "track", "[--dry-run]", "Look once at the kernel's SAs and tell the data plane",
	  "  --dry-run  only print; works also while bwlimitd or bwlimit-ipsecd tracks them\n\n"
	  "A device that encrypts by itself (packet) counts only while one of them tracks SAs.\n"
	  "LEAVES says why nothing may leave to a peer: no-sa, no-policy (an SA, but no IPsec policy that\n"
	  "demands it), unmatched (a policy, but no matching SA). ADDS is how many bytes the SA adds to a\n"
	  "packet at most. Some alarms close the peer: policy-remote, open-policy, half-offload,\n"
	  "not-encrypted; others are about an SA that is not used: sa-remote, not-tunnel, no-peer.\n\n"
	  "Examples:\n"
	  "  bwlimit-ctl ipsec track --dry-run\n",
	  track },
	{ NULL, NULL, NULL, NULL, NULL, NULL },
};
