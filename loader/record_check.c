// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * verify's check of flow records: do all counting programs write to the tables that are being read?
 */
#include <errno.h>
#include <bpf/libbpf.h>
#include <bwl/model.h>
#include <bwl/record.h>
#include "bwlimit.skel.h"
#include "hook/hook.h"
#include "record.h"
#include "verify.h"

/* In this binary a recording program uses the map even if recording is off. */
static bool may_record(const struct bwlimit *built, const char *prog)
{
	const struct bpf_map *m = bpf_object__find_map_by_name(built->obj,
							       bwl_rec_map_name(BWL_REC_ROW));

	return m && bwl_hook_uses_map(bwl_load_prog(built, prog), bwl_map_id(bpf_map__fd(m)));
}

/* For one port: counts the programs that count but do not record into these tables. */
static unsigned count_astray(struct bwl_report *r, const struct bwl_pins *p,
			     const struct bwl_netdev *d, unsigned kind, const struct bwlimit *built,
			     uint32_t rows)
{
	const struct bwl_attach_point *s;
	unsigned n = bwl_attach_points(kind, &s), i, astray = 0;
	struct bwl_hook_state st, there;

	for (i = 0; i < n; i++) {
		struct bwl_hook_at at = { p->dir, d, s[i].hook, s[i].prog,
					  bwl_map_id(p->fd[BWL_PIN_ctl]) };

		if (!may_record(built, s[i].prog) || bwl_hook_query(&at, &there, NULL) ||
		    !there.attached)
			continue;
		at.ctl_id = rows;
		if (!bwl_hook_query(&at, &st, NULL) && st.attached && st.prog_id == there.prog_id)
			continue;
		astray++;
		bwl_check(r, "recorder", BWL_FAIL, "bwlimit-load upgrade",
			  "%s: %s does not record into the tables that are read", d->name,
			  s[i].prog);
	}
	return astray;
}

void bwl_record_check(struct bwl_report *r, const struct bwl_pins *p, const struct bwl_netdev *d,
		      size_t n, const struct bwlimit *built)
{
	struct bwl_err e = { 0 };
	unsigned astray = 0, i;
	struct bwl_rec rec;
	size_t k;
	int err = bwl_rec_open(p->dir, &rec, &e);

	if (err == -ENOENT && bwl_record_wanted(p->dir, BWL_RECORD_AS_IT_IS)) {
		bwl_check(
			r, "recorder", BWL_FAIL, "bwlimit-load upgrade",
			"flows are to be recorded, and the tables are not pinned: whoever did that was killed");
		return;
	}
	if (err == -ENOENT) {
		bwl_check(r, "recorder", BWL_OK, "", "flows are not recorded");
		return;
	}
	if (err) {
		bwl_check(r, "recorder", BWL_WARN, "bwlimit-load upgrade --record on", "%s",
			  e.text);
		return;
	}
	for (i = 0; built && i < BWL_MAX_PORTS; i++)
		for (k = 0; p->dev[i].ifindex && k < n; k++)
			if (d[k].ifindex == p->dev[i].ifindex)
				astray += count_astray(r, p, &d[k], p->dev[i].kind, built,
						       bwl_map_id(rec.fd[BWL_REC_ROW]));
	if (!rec.word->whole)
		bwl_check(
			r, "recorder", BWL_FAIL, "bwlimit-load upgrade",
			"an upgrade was started but not finished: programs record into two sets of tables");
	else if (!astray)
		bwl_check(r, "recorder", BWL_OK, "",
			  "flows are recorded: interval %u of these tables", rec.word->interval);
	bwl_rec_close(&rec);
}
