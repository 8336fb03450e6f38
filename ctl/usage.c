// SPDX-License-Identifier: GPL-2.0-or-later
/* `usage`: every volume in force, what is spent of it, and how far the ledger has released it. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "bwl/err.h"
#include "check.h"

struct usage {
	const struct bwl_view *v;
	struct volume *rows;
	size_t n;
};

struct volume {
	char key[BWL_LIMIT_KEY];
	const struct bwl_release *release;
	struct bwl_left left;
	bool enforced;
};

const char *ctl_ledger_word(const struct bwl_release *m, const struct bwl_left *left)
{
	if (m->unknown_bytes)
		return "past-unknown";
	switch (m->spendable_bytes) {
	case BWL_RELEASE_NONE:
		return "none";
	case BWL_RELEASE_AWAITED:
		return "awaited";
	case BWL_RELEASE_CLOSED:
		return "closed";
	default:
		return m->spendable_bytes < left->volume &&
				       left->used + BWL_MIN_BURST > m->spendable_bytes
			       ? "behind"
			       : "released";
	}
}

static struct bwl_value get_key(const void *row)
{
	return bwl_v_text(((const struct volume *)row)->key);
}

static struct bwl_value get_used(const void *row)
{
	return bwl_v_bytes(((const struct volume *)row)->left.used);
}

static struct bwl_value get_volume(const void *row)
{
	return bwl_v_bytes(((const struct volume *)row)->left.volume);
}

static struct bwl_value get_share(const void *row)
{
	const struct volume *x = row;
	const struct bwl_left *l = &x->left;

	return bwl_v_both(json_null(), "%.1f %%%s",
			  l->volume ? 100.0 * (double)l->used / (double)l->volume : 100,
			  x->enforced ? "" : BWL_NOT_ENFORCED);
}

static struct bwl_value get_enforced(const void *row)
{
	return bwl_v_yes(((const struct volume *)row)->enforced);
}

static struct bwl_value get_window(const void *row)
{
	const struct bwl_left *l = &((const struct volume *)row)->left;
	char t[BWL_UNIT_BUF];

	return l->window_ns ? bwl_v_both(bwl_json_span(l->window_ns), "%s",
					 bwl_format_time(l->window_ns, t))
			    : bwl_v_both(json_null(), "in total");
}

static struct bwl_value get_released(const void *row)
{
	const struct bwl_release *m = ((const struct volume *)row)->release;

	return m->spendable_bytes > BWL_RELEASE_CLOSED ? bwl_v_bytes(m->spendable_bytes)
						       : bwl_v_json(json_null());
}

static struct bwl_value get_ledger(const void *row)
{
	const struct volume *x = row;

	return bwl_v_text(ctl_ledger_word(x->release, &x->left));
}

static const struct bwl_field fields[] = {
	{ "limit_key", "~LIMIT", get_key },        { "used_bytes", ">USED", get_used },
	{ "volume_bytes", ">VOLUME", get_volume }, { NULL, ">SHARE", get_share },
	{ "window_s", "WINDOW", get_window },      { "released_bytes", ">RELEASED", get_released },
	{ "ledger_state", "LEDGER", get_ledger },  { "enforced", NULL, get_enforced },
};

static const struct bwl_column columns[] = {
	{ &fields[0], BWL_BOTH }, { &fields[1], BWL_BOTH }, { &fields[2], BWL_BOTH },
	{ &fields[3], BWL_BOTH }, { &fields[4], BWL_BOTH }, { &fields[5], BWL_BOTH },
	{ &fields[6], BWL_BOTH }, { &fields[7], BWL_BOTH }, { NULL, BWL_BOTH },
};

static void put(const struct bwl_limit *l, uint32_t state, void *arg)
{
	struct usage *u = arg;
	const struct bwl_pins *p = u->v->pins;
	struct volume row = { .release = &p->mark[state] };

	if (l->volume.spendable_bytes == BWL_VOLUME_NONE ||
	    state >= BWL_STATES(p->schema.max_peers, p->schema.max_extras))
		return;
	bwl_limit_left(p, &l->rate, &l->volume, state, u->v->now_ns, &row.left);
	bwl_limit_key(p, state, row.key);
	row.enforced = bwl_limit_enforced(u->v, state);
	if (!(u->n & (u->n - 1)))
		u->rows = bwl_must(reallocarray(u->rows, u->n ? 2 * u->n : 1, sizeof(row)));
	u->rows[u->n++] = row;
}

static double spent(const struct volume *x)
{
	return x->left.volume ? (double)x->left.used / (double)x->left.volume : 1;
}

static int most_spent_first(const void *a, const void *b)
{
	double x = spent(a), y = spent(b);

	return x < y   ? 1
	       : x > y ? -1
		       : strcmp(((const struct volume *)a)->key, ((const struct volume *)b)->key);
}

static int usage(struct ctl *c, int argc, char **argv)
{
	struct bwl_view v;
	struct usage u = { .v = &v };
	const char *most = NULL;
	const struct ctl_opt opts[] = { { "--most", NULL, &most }, { NULL, NULL, NULL } };
	struct bwl_list *list;
	uint64_t n = UINT32_MAX;
	json_t *rows, *doc;
	uint32_t ledger;
	int r = ctl_only_opts(c, argc, argv, opts);

	if (r)
		return r;
	if (most && ctl_number(c, "--most", most, UINT32_MAX, &n))
		return CTL_USAGE;
	r = ctl_view_open(c, false, &v);
	if (r)
		return r;
	ledger = v.pins->ctl->ledger;
	bwl_limit_each(v.pins, &v.gen, put, &u);
	if (most)
		qsort(u.rows, u.n, sizeof(*u.rows), most_spent_first);
	list = bwl_list_new(columns, c->json);
	for (size_t i = 0; i < u.n && i < n; i++)
		bwl_list_add(list, &u.rows[i]);
	free(u.rows);
	rows = bwl_list_end(list);
	if (rows) {
		doc = bwl_doc("usage");
		json_object_set_new(doc, "ledger", json_string(bwl_ledger_name(v.pins)));
		json_object_set_new(doc, "volumes", rows);
		bwl_doc_print(doc);
	} else if (ledger & BWL_LEDGER_CAME) {
		puts(ledger & BWL_LEDGER_TPM
			     ? "\nThe ledger is bound to a TPM's counter: an old copy of it is refused."
			     : "\nThe ledger is bound to no TPM: an old copy of it would not be noticed.");
		if (ledger & BWL_LEDGER_FULL)
			puts("It is full: volumes of new names stay closed (docs/ledger.md).");
	}
	bwl_view_close(&v);
	return 0;
}

const struct ctl_cmd ctl_usage_cmds[] = {
	{ "usage", NULL, "[--most N]",
	  "Every volume: what is spent, and how far the ledger has released it",
	  "LEDGER: none (no ledger yet: only the maps count), released, behind (spent up to what is on disk:\n"
	  "the disk is slow or full, or bwlimitd is gone), awaited (closed until it is written), closed,\n"
	  "past-unknown (starts spent: neither maps nor ledger know its past; `grant NAME volume +V once`).\n"
	  "--most N: list at most N, the most spent first.\n"
	  "The last line says whether the ledger is bound to a TPM's counter (docs/ledger.md).\n\n"
	  "Examples:\n"
	  "  bwlimit-ctl usage --most 10\n",
	  usage },
	{ NULL, NULL, NULL, NULL, NULL, NULL },
};
