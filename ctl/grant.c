// SPDX-License-Identifier: GPL-2.0-or-later
/* `grant`: which peer may send, how much, and until when. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "grant.h"
#include "journal/journal.h"

/* What there is nothing of before must be named: it is not there to stay. */
static int check_first(struct ctl *c, const char *name, const struct ctl_words *w)
{
	if (w->seen & CTL_W_RATE && w->seen & CTL_W_FOR)
		return 0;
	bwl_fail(&c->err, EINVAL, "'%s' has no grant yet: give %s%s%s", name,
		 w->seen & CTL_W_RATE ? "" : "a rate",
		 w->seen & (CTL_W_RATE | CTL_W_FOR) ? "" : " and ",
		 w->seen & CTL_W_FOR ? "" : "its end, or `for ever`");
	return bwl_hint(&c->err, "bwlimit-ctl grant %s rate 10mbit for 2h reason …", name);
}

static int check_end(struct ctl *c, const char *name, const struct bwl_peer *p,
		     const struct ctl_words *w, uint64_t now_ns)
{
	char when[BWL_WHEN_BUF];

	if (w->seen & CTL_W_FOR || p->meta.expiry_ns > now_ns)
		return 0;
	bwl_fail(&c->err, EINVAL, "the grant of '%s' ended %s: give a new end, or `for ever`", name,
		 bwl_when(p->meta.expiry_ns, now_ns, when));
	return bwl_hint(&c->err, "bwlimit-ctl grant %s for 2h reason …", name);
}

/*
 * More of a volume per window is for the present one, and said to be: a larger volume would be more
 * in each that comes.
 */
static int check_more(struct ctl *c, struct bwl_view *v, uint32_t id, const char *name,
		      const struct ctl_words *w, bool *ret_windowed)
{
	const struct bwl_peer *p = ctl_view_peer(v, id);
	struct bwl_left left;

	*ret_windowed = p->grant.volume.spendable_bytes != BWL_VOLUME_NONE &&
			p->grant.volume.slice_ns;
	if (!w->add_volume)
		return 0;
	if (w->once && p->grant.volume.spendable_bytes == BWL_VOLUME_NONE) {
		bwl_fail(&c->err, EINVAL, "'%s' has no volume: there is nothing to add to", name);
		return bwl_hint(&c->err, "bwlimit-ctl grant list");
	}
	if (!*ret_windowed)
		return 0;
	if (!w->once) {
		bwl_fail(&c->err, EINVAL,
			 "the volume of '%s' is per window: +V would be more in every later one",
			 name);
		return bwl_hint(
			&c->err,
			"volume +V once: more in this one; volume V per TIME: a larger one");
	}
	if (bwl_pins_touch_peer(v->pins, id, &c->err))
		return -c->err.code;
	bwl_grant_left(v, id, p, &left);
	if (left.used)
		return 0;
	return bwl_fail(&c->err, EINVAL,
			"nothing of the volume of '%s' is spent in this window: all of it is left",
			name);
}

/* What the grant will be. */
struct will_be {
	uint64_t end;
	bool windowed; /* its volume was before */
};

static int check_grant(struct ctl *c, struct bwl_pins *pins, const char *name,
		       const struct ctl_words *w, uint64_t now_ns, struct will_be *ret)
{
	uint32_t slot = bwl_active_slot(pins), id;
	struct bwl_view v = { .pins = pins, .now_ns = now_ns }; /* to look up one peer */
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
	else if (!(p->meta.flags & BWL_PEER_GRANT))
		r = check_first(c, name, w);
	else
		r = check_end(c, name, p, w, now_ns);
	if (!r)
		r = check_more(c, &v, id, name, w, &ret->windowed);
	if (!r)
		ret->end = !(w->seen & CTL_W_FOR) ? p->meta.expiry_ns
			   : w->for_ns            ? now_ns + w->for_ns
						  : BWL_NEVER_NS;
	bwl_gen_close(&v.gen);
	return r;
}

static bool is_enforced(struct bwl_pins *pins, const char *name)
{
	struct bwl_view v = { .pins = pins, .now_ns = bwl_now_ns() };
	const struct bwl_peer *body;
	uint32_t id;
	bool is;

	if (bwl_gen_open(pins, bwl_active_slot(pins), &v.gen, NULL))
		return false;
	id = bwl_peer_id(pins, &v.gen, name);
	body = ctl_view_peer(&v, id);
	is = body && bwl_enforced(&v, id, body);
	bwl_gen_close(&v.gen);
	return is;
}

static void print_grant(struct ctl *c, struct bwl_pins *pins, const char *name, uint64_t expiry_ns,
			uint64_t now_ns, const struct ctl_words *w, const uint64_t *given)
{
	char t[BWL_UNIT_BUF], all[BWL_UNIT_BUF], when[BWL_WHEN_BUF];
	json_t *o;

	if (c->json) {
		o = bwl_doc("grant");
		json_object_set_new(o, "peer", json_string(name));
		json_object_set_new(o, "why", json_string(w->reason));
		json_object_set_new(o, "expires_in_s", bwl_json_in(expiry_ns, now_ns));
		json_object_set_new(o, "given_bytes", given ? bwl_json_u64(*given) : json_null());
		json_object_set_new(o, "enforced", json_boolean(is_enforced(pins, name)));
		bwl_doc_print(o);
		return;
	}
	if (given)
		bwl_put(stdout, "%s: %s more of its volume, once%s%s\n", name,
			bwl_format_size(*given, t),
			*given < w->lim.volume ? ": no more was spent, of " : "",
			*given < w->lim.volume ? bwl_format_size(w->lim.volume, all) : "");
	if (w->for_ns) {
		bwl_put(stdout, "%s: granted for %s\n", name, bwl_format_time(w->for_ns, t));
	} else if (w->seen & CTL_W_FOR) {
		bwl_put(stdout, "%s: granted for ever\n", name);
	} else if (expiry_ns == BWL_NEVER_NS) {
		bwl_put(stdout, "%s: granted; as before, it never expires\n", name);
	} else {
		bwl_put(stdout, "%s: granted; as before, it ends %s\n", name,
			bwl_when(expiry_ns, now_ns, when));
	}
}

static int grant(struct ctl *c, int argc, char **argv)
{
	struct bwl_change ch = { 0 };
	struct ctl_words w = { 0 };
	uint64_t now = bwl_now_ns(), given = 0;
	struct bwl_journal_limits lim;
	struct will_be x = { 0 };
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
	ch.set |= BWL_SET_AUTHORISE | (w.seen & CTL_W_FOR ? BWL_SET_EXPIRY : 0);
	r = bwl_pins_lock(pins, &c->err);
	if (!r)
		r = check_grant(c, pins, argv[0], &w, now, &x);
	ch.expiry_ns = x.end;
	ch.given = &given;
	if (!r)
		r = bwl_audit_intent(&c->err, "grant %s", ctl_join(argc, argv, line, sizeof(line)));
	ch.only_ask = true; /* the journal records what is opened before it is opened */
	if (!r && bwl_only_tightens(pins))
		r = bwl_peer_change(pins, argv[0], &ch, &c->err);
	ch.only_ask = false;
	lim = ctl_journal_limits(&w);
	if (w.once && x.windowed) /* the volume stays */
		lim.set &= ~(uint32_t)BWL_JS_MORE;
	if (!r)
		r = bwl_journal_grant(pins, argv[0], lim,
				      w.seen & CTL_W_FOR ? w.for_ns : BWL_JOURNAL_SAME_END,
				      &c->err);
	if (!r) {
		r = bwl_peer_change(pins, argv[0], &ch, &c->err);
		if (r) /* what is still closed in the maps is closed in the journal again */
			bwl_journal_note(pins, NULL);
	}
	if (!r) {
		bwl_audit("grant %s", ctl_join(argc, argv, line, sizeof(line)));
		if (w.once && x.windowed)
			bwl_audit("grant %s: %llu bytes more of its volume, once", argv[0],
				  (unsigned long long)given);
		print_grant(c, pins, argv[0], x.end, now, &w, w.once && x.windowed ? &given : NULL);
		ctl_say_limits(c, pins, argv[0]);
		if (w.once && x.windowed && !given)
			r = bwl_fail(&c->err, EAGAIN,
				     "nothing was added: meanwhile the window has turned");
	}
	bwl_pins_close(pins);
	return r;
}

static int grant_list(struct ctl *c, int argc, char **argv)
{
	static const struct bwl_column columns[] = {
		{ &bwl_f_peer, BWL_BOTH },          { &bwl_f_state, BWL_BOTH },
		{ &bwl_f_rate, BWL_BOTH },          { &bwl_f_burst, BWL_BOTH },
		{ &bwl_f_left, BWL_BOTH },          { &bwl_f_expires, BWL_BOTH },
		{ &bwl_f_body_mode, BWL_BOTH },     { &bwl_f_mode_in_force, BWL_BOTH },
		{ &bwl_f_body_enforced, BWL_BOTH }, { &bwl_f_sa_out, BWL_BOTH },
		{ &bwl_f_offload, BWL_BOTH },       { NULL, BWL_BOTH },
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
	  "NAME [rate R] [burst B] [volume V|+V [once]] [for TIME|ever] [mode M] reason TEXT… | --all [--yes] reason TEXT…",
	  "Let a peer send: set its limits and their end, and lift a revocation",
	  "What is not named stays as it is, the end too: a grant that has ended needs a new one, and one that\n"
	  "never was a rate and an end. What is spent stays spent. The reason goes to the audit log.\n\n"
	  "  volume +V       so much more of a total volume, which is spent once anyway\n"
	  "  volume +V once  so much more, also of a volume per window: of the present window alone, at most as\n"
	  "                  much as is spent of it. The volume stays as it is\n"
	  "  for TIME        it ends so long after now; `for ever`: it never expires\n"
	  "  --all           every revoked peer may send again, with the limits and ends in force. Expired\n"
	  "                  grants stay revoked. Refused on an enrolled tray\n"
	  "  --yes           at a terminal: do not list the peers and ask\n\n"
	  "Examples:\n"
	  "  bwlimit-ctl grant log-collector rate 10mbit volume 1gb per 1d reason ticket 12\n"
	  "  bwlimit-ctl grant tray-3 rate 100gbit for 2h reason checkpoint restore\n"
	  "  bwlimit-ctl grant backup volume +50gb once reason second dump\n"
	  "  bwlimit-ctl grant --all reason false alarm, ticket 4712\n",
	  grant },
	{ "grant", "list", "", "Grants: live or not, limits, what is used, when they end",
	  "Examples:\n"
	  "  bwlimit-ctl grant list\n"
	  "  bwlimit-ctl grant list --json\n",
	  grant_list },
	{ NULL, NULL, NULL, NULL, NULL, NULL },
};
