// SPDX-License-Identifier: GPL-2.0-or-later
/* `grant`: which peer may send, how much, and until when. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "grant.h"
#include "journal/journal.h"

/* A grant that lifts nothing and allows nothing would only look like a grant. */
static int check_grant(struct ctl *c, struct bwl_pins *pins, const char *name,
		       const struct ctl_words *w)
{
	uint32_t slot = bwl_active_slot(pins), id;
	struct bwl_view v = { .pins = pins, .now_ns = bwl_now_ns() }; /* to look up one peer */
	const struct bwl_peer *p;
	int r = 0;

	if (slot == BWL_NO_SLOT)
		return ctl_grant_no_policy(c);
	r = bwl_gen_open(pins, slot, &v.gen, &c->err);
	if (r)
		return r;
	id = bwl_peer_id(pins, &v.gen, name);
	p = ctl_view_peer(&v, id);
	if (!p)
		r = ctl_view_no_peer(c, &v, name);
	else if (!(p->meta.flags & BWL_PEER_GRANT) && !(w->seen & (CTL_W_RATE | CTL_W_VOLUME))) {
		bwl_fail(&c->err, EINVAL, "'%s' has no grant yet: give at least a rate", name);
		r = bwl_hint(&c->err, "bwlimit-ctl grant %s rate 10mbit reason …", name);
	}
	bwl_gen_close(&v.gen);
	return r;
}

static void print_grant(struct ctl *c, const char *name, uint64_t expiry_ns, uint64_t now_ns,
			const struct ctl_words *w)
{
	char t[BWL_UNIT_BUF];
	json_t *o;

	if (c->json) {
		o = bwl_doc("grant");
		json_object_set_new(o, "peer", json_string(name));
		json_object_set_new(o, "why", json_string(w->reason));
		json_object_set_new(o, "expires_in_s", bwl_json_in(expiry_ns, now_ns));
		bwl_doc_print(o);
	} else if (w->for_ns) {
		printf("%s: granted for %s\n", name, bwl_format_time(w->for_ns, t));
	} else {
		printf("%s: granted; it never expires (with `for TIME` it does)\n", name);
	}
}

static int grant(struct ctl *c, int argc, char **argv)
{
	struct bwl_change ch = { 0 };
	struct ctl_words w = { 0 };
	uint64_t now = bwl_now_ns();
	struct bwl_pins *pins;
	char line[512];
	int r;

	if (!argc)
		return ctl_usage(c, "give a peer and a reason");
	if (!strcmp(argv[0], "--all") || !strcmp(argv[0], "--yes"))
		return ctl_grant_all(c, argc, argv);
	r = ctl_words(c, argc - 1, argv + 1,
		      CTL_W_LIMIT | CTL_W_MORE | CTL_W_MODE | CTL_W_MARK | CTL_W_FOR | CTL_W_REASON,
		      &w);
	if (r)
		return r;
	if (!(w.seen & CTL_W_REASON))
		return ctl_usage(
			c, "the reason is missing: end with 'reason TEXT', for the audit log");
	if ((w.seen & CTL_W_MARK) && (!(w.seen & CTL_W_MODE) || w.mode != BWL_MODE_MARK))
		return ctl_usage(c, "'mark' is the threshold of `mode mark`: give both");
	r = bwl_pins_open_few(c->pin_dir, &pins, &c->err);
	if (r)
		return r;
	ctl_change_from_words(&w, &ch);
	ch.set |= BWL_SET_AUTHORISE | BWL_SET_EXPIRY;
	ch.expiry_ns = w.for_ns ? now + w.for_ns : BWL_NEVER_NS;
	r = bwl_pins_lock(pins, &c->err);
	if (!r)
		r = check_grant(c, pins, argv[0], &w);
	if (!r)
		r = bwl_audit_intent(&c->err, "grant %s", ctl_join(argc, argv, line, sizeof(line)));
	ch.only_ask = true; /* the journal records what is opened before it is opened */
	if (!r && bwl_only_tightens(pins))
		r = bwl_peer_change(pins, argv[0], &ch, &c->err);
	ch.only_ask = false;
	if (!r)
		r = bwl_journal_grant(pins, argv[0], ctl_journal_limits(&w), w.for_ns, &c->err);
	if (!r) {
		r = bwl_peer_change(pins, argv[0], &ch, &c->err);
		if (r) /* what is still closed in the maps is closed in the journal again */
			bwl_journal_note(pins, NULL);
	}
	if (!r) {
		bwl_audit("grant %s", ctl_join(argc, argv, line, sizeof(line)));
		print_grant(c, argv[0], ch.expiry_ns, now, &w);
		ctl_say_limits(c, pins, argv[0]);
	}
	bwl_pins_close(pins);
	return r;
}

static int grant_list(struct ctl *c, int argc, char **argv)
{
	static const struct bwl_column columns[] = {
		{ &bwl_f_peer, BWL_BOTH },
		{ &bwl_f_state, BWL_BOTH },
		{ &bwl_f_rate, BWL_BOTH },
		{ &bwl_f_burst, BWL_BOTH },
		{ &bwl_f_left, BWL_BOTH },
		{ &bwl_f_expires, BWL_BOTH },
		{ &bwl_f_body_mode, BWL_BOTH },
		{ &bwl_f_mode_in_force, BWL_BOTH },
		{ &bwl_f_sa_out, BWL_BOTH },
		{ &bwl_f_offload, BWL_BOTH },
		{ NULL, BWL_BOTH },
	};
	struct bwl_list *l;
	struct bwl_view v;
	json_t *rows;
	uint32_t *ids;
	size_t n;
	int r;

	r = ctl_view_open(c, false, &v);
	if (r)
		return r;
	r = ctl_view_ids(c, &v, argc, argv, &ids, &n);
	if (r) {
		bwl_view_close(&v);
		return r;
	}
	l = bwl_list_new(columns, c->json);
	for (size_t i = 0; i < n; i++) {
		struct bwl_peer_row row = { .v = &v,
					    .id = ids[i],
					    .body = ctl_view_peer(&v, ids[i]) };

		if (!row.body || !(row.body->meta.flags & BWL_PEER_GRANT))
			continue;
		bwl_grant_left(&v, row.id, row.body, &row.left);
		bwl_list_add(l, &row);
	}
	rows = bwl_list_end(l);
	if (rows)
		ctl_print_list("grants", "grants", rows);
	free(ids);
	bwl_view_close(&v);
	return 0;
}

const struct ctl_cmd ctl_grant_cmds[] = {
	{ "grant", NULL,
	  "NAME [rate R] [burst B] [volume V|+V] [for TIME] [mode M] reason TEXT… | --all [--yes] reason TEXT…",
	  "Let a peer send: set its limits and their end, and lift a revocation",
	  "What is not named stays as it is; without `for` the grant never expires. `volume +V` adds\n"
	  "to the volume; what is spent stays spent. The reason goes to the audit log.\n\n"
	  "  --all           every revoked peer may send again, with the limits and ends in force. Expired\n"
	  "                  grants stay revoked. Refused on an enrolled tray\n"
	  "  --yes           at a terminal: do not list the peers and ask\n\n"
	  "Examples:\n"
	  "  bwlimit-ctl grant log-collector rate 10mbit volume 1gb per 1d reason ticket 12\n"
	  "  bwlimit-ctl grant tray-3 rate 100gbit for 2h reason checkpoint restore\n"
	  "  bwlimit-ctl grant backup volume +50gb reason second dump\n"
	  "  bwlimit-ctl grant --all reason false alarm, ticket 4712\n",
	  grant },
	{ "grant", "list", "", "Grants: live or not, limits, what is used, when they end",
	  "Examples:\n"
	  "  bwlimit-ctl grant list\n"
	  "  bwlimit-ctl grant list --json\n",
	  grant_list },
	{ NULL, NULL, NULL, NULL, NULL, NULL },
};
