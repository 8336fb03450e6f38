// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * `journal`: which revocations, clamps, stops and lowered limits are on disk and survive a reboot.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include "ctl.h"
#include "enrolled/gate.h"
#include "journal/journal.h"

struct bwl_journal_limits ctl_journal_limits(const struct ctl_words *w)
{
	struct bwl_journal_limits l = { .rate_bps = w->lim.rate_bps,
					.burst = w->lim.burst,
					.mode = w->mode,
					.volume = w->lim.volume,
					.window_ns = w->lim.window_ns,
					.accept_bps = w->accept.rate_bps };

	l.set = (w->seen & CTL_W_RATE ? BWL_JS_RATE : 0) |
		(w->seen & CTL_W_BURST ? BWL_JS_BURST : 0) |
		(w->seen & CTL_W_VOLUME ? BWL_JS_VOLUME : 0) |
		(w->seen & CTL_W_MODE ? BWL_JS_MODE : 0) |
		(w->seen & CTL_W_ACCEPT ? BWL_JS_ACCEPT : 0);
	if (w->seen & CTL_W_VOLUME && w->add_volume)
		l.set = (l.set & ~(uint32_t)BWL_JS_VOLUME) | BWL_JS_MORE;
	else if (w->seen & CTL_W_VOLUME && !w->lim.has_volume)
		l.set |= BWL_JS_UNLIMITED;
	return l;
}

/* Pins are there or not: of a drill no journal is kept, unless one is named. */
static bool is_drill(const struct ctl *c)
{
	struct bwl_err ignored = { 0 };
	struct bwl_pins *p;
	bool drill;

	if (bwl_pins_open(c->pin_dir, false, &p, &ignored))
		return false;
	drill = p->ctl->drill;
	bwl_pins_close(p);
	return drill;
}

static int off(struct ctl *c)
{
	bwl_fail(
		&c->err, ENOENT,
		"no journal is kept: BWLIMIT_JOURNAL_DIR is empty, or these are the maps of a drill");
	return bwl_hint(&c->err, "BWLIMIT_JOURNAL_DIR=DIR names one");
}

/*
 * It contains everything from its first moment: if killed at any point it is whole, or truncated.
 * Without maps, a truncated one may have had everything closed, until a grant.
 */
static int begin(struct bwl_pins *p, const char *dir, enum bwl_journal_state *was,
		 const char **closed, struct bwl_err *e)
{
	static const struct bwl_pfx any[] = { { .family = 4 }, { .family = 6 } };
	static const struct bwl_journal_rec all[] = {
		{ .kind = BWL_J_STOP }, { .kind = BWL_J_CLOSE, .pfx = any, .npfx = 2 }
	};
	struct bwl_journal j;
	bool cut;

	bwl_journal_look(dir, &j);
	cut = j.state == BWL_JOURNAL_CUT ||
	      (j.state == BWL_JOURNAL_MISSING && bwl_is_enrolled_here());
	bwl_journal_free(&j);
	/* Maps without a policy do not show what was closed. */
	if (p && (!cut || bwl_active_slot(p) != BWL_NO_SLOT)) {
		*closed = "what the maps have closed";
		return bwl_journal_begin(p, was, e);
	}
	*closed = cut ? "everything, until `stop --off` and `grant` of each" : "nothing";
	return bwl_journal_make(dir, all, cut ? 2 : 0, was, e);
}

static int journal_init(struct ctl *c, int argc, char **argv)
{
	const char *dir = bwl_journal_dir(is_drill(c)), *closed;
	struct bwl_err why = { 0 };
	enum bwl_journal_state was;
	struct bwl_pins *p = NULL;
	char reason[CTL_REASON];
	int r;

	ctl_reason(NULL, 0, &argc, argv, reason);
	if (argc)
		return ctl_usage(c, "'journal init' takes no argument but a reason");
	if (!dir)
		return off(c);
	r = bwl_pins_open(c->pin_dir, true, &p, &why);
	if (r && r != -ENOENT)
		bwl_warn(
			"%s; what they have closed is not in the journal: after the next attach revoke it again",
			why.text);
	r = r ? 0 : bwl_pins_lock(p, &c->err);
	if (!r)
		r = begin(p, dir, &was, &closed, &c->err);
	bwl_pins_close(p);
	if (r)
		return r;
	if (was != BWL_JOURNAL_OK)
		bwl_audit("journal init: it was %s; closed: %s%s%s", bwl_journal_state_name(was),
			  closed, *reason ? ", reason " : "", reason);
	if (c->json)
		bwl_doc_print(json_pack("{s:i, s:s, s:s, s:b, s:s}", "version", BWL_JSON_VERSION,
					"kind", "journal-init", "dir", dir, "made",
					was != BWL_JOURNAL_OK, "was_state",
					bwl_journal_state_name(was)));
	else if (was == BWL_JOURNAL_OK)
		bwl_put(stdout, "%s: there is already a journal, and it is intact\n", dir);
	else
		bwl_put(stdout, "%s: a new journal; closed: %s\n", dir, closed);
	return 0;
}

static json_t *limit_json(const struct bwl_closed_limit *l)
{
	const struct bwl_journal_limits *x = &l->lim;
	char when[BWL_TIME_BUF];
	json_t *o = json_object();

	json_object_set_new(o, "peer", bwl_json_text(l->zone ? NULL : l->name));
	json_object_set_new(o, "zone", bwl_json_text(l->zone ? l->name : NULL));
	json_object_set_new(o, "rate_bits_per_second",
			    x->set & BWL_JS_RATE ? bwl_json_u64(x->rate_bps) : json_null());
	json_object_set_new(o, "burst_bytes",
			    x->set & BWL_JS_BURST ? bwl_json_u64(x->burst) : json_null());
	json_object_set_new(o, "volume_bytes",
			    x->set & BWL_JS_VOLUME ? bwl_json_u64(x->volume) : json_null());
	json_object_set_new(o, "expires_at",
			    x->set & BWL_JS_EXPIRY && x->expiry_s
				    ? json_string(bwl_utc((int64_t)x->expiry_s, -1, when))
				    : json_null());
	return o;
}

/* null: of a record without a time. */
static json_t *said_at(uint64_t wall_s)
{
	char when[BWL_TIME_BUF];

	return wall_s ? json_string(bwl_utc((int64_t)wall_s, -1, when)) : json_null();
}

static void show_json(const char *dir, const struct bwl_journal *j)
{
	json_t *names = json_array(), *closures = json_array(), *pfx = json_array(),
	       *limits = json_array(), *o = bwl_doc("journal");
	const struct bwl_closed *c = &j->closed;
	char text[64];

	for (size_t i = 0; i < c->nnames; i++) {
		json_array_append_new(names, json_string(c->name[i].name));
		json_array_append_new(closures, json_pack("{s:s, s:o}", "peer", c->name[i].name,
							  "closed_at", said_at(c->name[i].wall_s)));
	}
	for (size_t i = 0; i < j->closed.live.n; i++)
		json_array_append_new(pfx, json_string(bwl_pfx_format(&j->closed.live.item[i].pfx,
								      text, sizeof(text))));
	for (size_t i = 0; i < j->closed.nlimits; i++)
		json_array_append_new(limits, limit_json(&j->closed.limit[i]));
	json_object_set_new(o, "dir", json_string(dir));
	json_object_update_new(o, bwl_journal_json(j));
	json_object_set_new(o, "stopped_at", c->stop ? said_at(c->stop_s) : json_null());
	json_object_set_new(o, "clamped_at", c->clamp ? said_at(c->clamp_s) : json_null());
	json_object_set_new(o, "peer_names", names);
	json_object_set_new(o, "closures", closures);
	json_object_set_new(o, "prefixes", pfx);
	json_object_set_new(o, "limits", limits);
	json_object_set_new(o, "torn_bytes", bwl_json_u64(j->torn));
	bwl_doc_print(o);
}

static void show_text(const char *dir, const struct bwl_journal *j)
{
	char text[64];

	bwl_say(2, "%s: %s%s%s; %llu record%s%s%s", dir, bwl_journal_state_name(j->state),
		*j->why ? ": " : "", j->why, (unsigned long long)j->seq, BWL_S(j->seq),
		j->closed.stop ? "; stopped" : "", j->closed.clamp ? "; clamped" : "");
	for (size_t i = 0; i < j->closed.nnames; i++)
		bwl_put(stdout, "  revoked  %s\n", j->closed.name[i].name);
	for (size_t i = 0; i < j->closed.live.n; i++)
		bwl_put(stdout, "  closed   %s\n",
			bwl_pfx_format(&j->closed.live.item[i].pfx, text, sizeof(text)));
	for (size_t i = 0; i < j->closed.nlimits; i++)
		bwl_put(stdout, "  limits   %s %s\n", j->closed.limit[i].zone ? "zone" : "peer",
			j->closed.limit[i].name);
}

static int journal_show(struct ctl *c, int argc, char **argv)
{
	const char *dir = bwl_journal_dir(is_drill(c));
	struct bwl_journal j;
	int r = 0;

	(void)argv;
	if (argc)
		return ctl_usage(c, "'journal show' takes no argument");
	if (!dir)
		return off(c);
	bwl_journal_look(dir, &j);
	if (c->json)
		show_json(dir, &j);
	else
		show_text(dir, &j);
	if (j.state != BWL_JOURNAL_OK) {
		bwl_fail(&c->err, EUCLEAN, "the journal cannot be trusted: %s", j.why);
		r = c->json ? 0 : bwl_hint(&c->err, "bwlimit-ctl journal init");
	}
	bwl_journal_free(&j);
	return r;
}

const struct ctl_cmd ctl_journal_cmds[] = {
	{ "journal", "init", "[reason TEXT…]",
	  "Create the journal of closures, by which they last over a reboot",
	  "Done once, at installation. A readable journal is left alone; one that is cut or unreadable is set\n"
	  "aside (*.bad), and the new one begins with what the maps have closed or, without maps, with\n"
	  "everything closed.\n\n"
	  "Examples:\n"
	  "  bwlimit-ctl journal init\n",
	  journal_init },
	{ "journal", "show", "", "What would be closed after a reboot",
	  "Examples:\n"
	  "  bwlimit-ctl journal show\n",
	  journal_show },
	{ NULL, NULL, NULL, NULL, NULL, NULL },
};
