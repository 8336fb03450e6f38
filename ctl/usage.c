// SPDX-License-Identifier: GPL-2.0-or-later
/* `usage`: every volume in force, what is spent of it, and how far the ledger has released it. */
#include <stdio.h>
#include "ctl.h"

struct usage {
	const struct ctl_view *v;
	struct ctl_table *table;	/* NULL: JSON */
	json_t *list;
};

/* What keeps a volume from being spent, if not that it is. */
static const char *ledger_word(const struct bwl_mark *m, const struct bwl_left *left)
{
	if (m->unknown_bytes)
		return "past-unknown";
	switch (m->spendable_bytes) {
	case BWL_MARK_NONE:
		return "none";
	case BWL_MARK_AWAITED:
		return "awaited";
	case BWL_MARK_CLOSED:
		return "closed";
	default:
		return m->spendable_bytes < left->volume && left->used + BWL_MIN_BURST > m->spendable_bytes
			       ? "behind" : "released";
	}
}

static void put_row(struct usage *u, const char *key, const struct bwl_mark *m,
		    const struct bwl_left *left)
{
	bool bytes = m->spendable_bytes > BWL_MARK_CLOSED;
	char a[BWL_UNIT_BUF], t[BWL_UNIT_BUF];

	ctl_cell(u->table, "%s", key);
	ctl_cell(u->table, "%s", bwl_human_size((double)left->used, a));
	ctl_cell(u->table, "%s", bwl_human_size((double)left->volume, a));
	ctl_cell(u->table, "%.1f %%", left->volume ? 100.0 * (double)left->used / (double)left->volume : 100);
	ctl_cell(u->table, "%s", left->window_ns ? bwl_format_time(left->window_ns, t) : "in total");
	ctl_cell(u->table, "%s", bytes ? bwl_human_size((double)m->spendable_bytes, a) : "-");
	ctl_cell(u->table, "%s", ledger_word(m, left));
}

static void put_json(struct usage *u, const char *key, const struct bwl_mark *m,
		     const struct bwl_left *left)
{
	bool bytes = m->spendable_bytes > BWL_MARK_CLOSED;
	json_t *o = json_pack("{s:s,s:s}", "limit", key, "ledger", ledger_word(m, left));

	ctl_json_u64(o, "used_bytes", left->used);
	ctl_json_u64(o, "volume_bytes", left->volume);
	json_object_set_new(o, "window_s", left->window_ns ? json_real((double)left->window_ns / 1e9)
			    : json_null());
	if (bytes)
		ctl_json_u64(o, "released_bytes", m->spendable_bytes);
	else
		json_object_set_new(o, "released_bytes", json_null());
	json_array_append_new(u->list, o);
}

static void put(const struct bwl_limit *l, uint32_t state, void *arg)
{
	struct usage *u = arg;
	const struct bwl_pins *p = u->v->pins;
	char key[BWL_LIMIT_KEY];
	struct bwl_left left;

	if (l->volume.spendable_bytes == BWL_VOLUME_NONE ||
	    state >= BWL_STATES(p->schema.max_peers, p->schema.max_extras))
		return;
	bwl_limit_left(p, &l->rate, &l->volume, state, u->v->now_ns, &left);
	bwl_limit_key(p, state, key);
	if (u->table)
		put_row(u, key, &p->mark[state], &left);
	else
		put_json(u, key, &p->mark[state], &left);
}

static int usage(struct ctl *c, int argc, char **argv)
{
	static const char *const heads[] = { "LIMIT", ">USED", ">VOLUME", ">SHARE", "WINDOW",
					     ">RELEASED", "LEDGER", NULL };
	struct ctl_view v;
	struct usage u = { .v = &v };
	bool came, tpm;
	int r;

	if (argc)
		return ctl_usage(c, "unexpected '%.64s'", argv[0]);
	r = ctl_view_open(c, false, &v);
	if (r)
		return r;
	came = v.pins->ctl->ledger & BWL_LEDGER_CAME;
	tpm = v.pins->ctl->ledger & BWL_LEDGER_TPM;
	if (c->json)
		u.list = json_array();
	else
		u.table = ctl_table_new(heads);
	bwl_limit_each(v.pins, &v.gen, put, &u);
	if (c->json) {
		ctl_json_print(json_pack("{s:b,s:b,s:o}", "ledger", came, "tpm", tpm, "volumes", u.list));
	} else {
		ctl_table_print(u.table, stdout);
		ctl_table_free(u.table);
		if (came)
			puts(tpm ? "\nThe ledger is bound to a TPM's counter: an old copy of it is refused."
				 : "\nThe ledger is bound to no TPM: an old copy of it would not be found out after a reboot.");
	}
	ctl_view_close(&v);
	return 0;
}

const struct ctl_cmd ctl_usage_cmds[] = {
	{ "usage", NULL, "", "Every volume: what is spent, and how far the ledger has released it",
	  "LEDGER: none (no ledger has come: the maps alone count), released, behind (spent up to what\n"
	  "the disk has: it is slow, full or bwlimitd is gone), awaited (closed until it is written),\n"
	  "closed, past-unknown (starts spent: neither maps nor ledger know; `grant NAME volume +V`).\n"
	  "The last line says whether the ledger is bound to a TPM's counter (docs/ledger.md).\n",
	  usage },
	{ NULL, NULL, NULL, NULL, NULL, NULL },
};
