// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * `lease`: until when this DPU may hold grants. bwlimitd renews it, because it must act when the
 * lease ends, and because without bwlimitd there is no heartbeat that a lease could allow.
 */
#include <errno.h>
#include <stdio.h>
#include "signed.h"

#define ANSWER_S 10

static void show_json(const struct bwl_lease_now *l, uint64_t now)
{
	json_t *o = bwl_doc("lease");

	json_object_update_new(o, bwl_json_lease(l, now));
	bwl_doc_print(o);
}

static void show_text(const struct bwl_lease_now *l, uint64_t now)
{
	char most[BWL_UNIT_BUF], end[BWL_WHEN_BUF], ago[BWL_WHEN_BUF];

	bwl_format_time(l->longest_ns, most);
	switch (l->state) {
	case BWL_LEASE_NONE:
		puts("the policy needs no lease");
		break;
	case BWL_LEASE_NEVER:
		bwl_say(2,
			"no lease since the maps were made: every grant is at its floor until `bwlimit-ctl lease renew` (at most %s)",
			most);
		break;
	case BWL_LEASE_ENDED:
		bwl_say(2,
			"ended %s: every grant is at its floor until `bwlimit-ctl lease renew` (at most %s)",
			bwl_when(l->until_ns, now, end), most);
		break;
	case BWL_LEASE_LIVE:
		bwl_say(2, "live: ends %s, renewed %s (at most %s)",
			bwl_when(l->until_ns, now, end), bwl_when(l->renewed_ns, now, ago), most);
	}
}

static int show(struct ctl *c, int argc, char **argv)
{
	const struct ctl_opt none[] = { { NULL, NULL, NULL } };
	struct bwl_lease_now l;
	struct bwl_view v;
	int r = ctl_only_opts(c, argc, argv, none);

	if (!r)
		r = ctl_view_open(c, false, &v);
	if (r)
		return r;
	r = bwl_lease(v.pins, &l, &c->err);
	if (!r && c->json)
		show_json(&l, bwl_now_ns());
	else if (!r)
		show_text(&l, bwl_now_ns());
	bwl_view_close(&v);
	return r;
}

static int ask(struct ctl *c, uint64_t for_ns, json_t **ret)
{
	json_t *what = json_pack("{s:s, s:I}", "verb", "lease", "for_ns", (json_int_t)for_ns),
	       *o = ctl_ask_agent(c, what, ANSWER_S);
	int r;

	json_decref(what);
	*ret = o;
	if (!o) {
		bwl_fail(&c->err, ENOTCONN, "bwlimitd does not answer: only it renews a lease");
		return bwl_hint(&c->err, "systemctl start bwlimitd");
	}
	r = ctl_answer_err(c, o);
	if (!r && !json_is_number(json_object_get(o, "ends_in_s")))
		r = bwl_fail(&c->err, EPROTO, "cannot parse the answer of bwlimitd");
	return r;
}

static int renew(struct ctl *c, int argc, char **argv)
{
	const char *words = NULL, *floor;
	const struct ctl_opt opts[] = { { "--for", NULL, &words }, { NULL, NULL, NULL } };
	char text[BWL_UNIT_BUF];
	uint64_t for_ns = 0;
	char why[CTL_REASON];
	json_t *o = NULL;
	int r;

	ctl_reason(opts, 0, &argc, argv, why);
	r = ctl_only_opts(c, argc, argv, opts);
	if (r)
		return r;
	if (words && bwl_parse_time(words, &for_ns, &c->err))
		return CTL_USAGE;
	if (words && (for_ns < BWL_LEASE_MIN_NS || for_ns > BWL_LEASE_MAX_NS))
		return ctl_usage(c, "--for '%.64s': must be 1s to the policy's lease", words);
	r = bwl_audit_intent(&c->err, "lease renew%s%s%s%s", words ? " --for " : "",
			     words ? words : "", *why ? " reason " : "", why);
	if (!r)
		r = ask(c, for_ns, &o);
	if (!r) {
		bwl_audit("lease renew%s%s%s%s", words ? " --for " : "", words ? words : "",
			  *why ? " reason " : "", why);
		floor = json_string_value(json_object_get(o, "floor_why"));
		if (c->json)
			ctl_print_answer("lease-renew", o);
		else
			bwl_put(stdout, "renewed: ends in %s\n",
				bwl_human_time(json_number_value(json_object_get(o, "ends_in_s")),
					       text));
		if (floor)
			bwl_warn("grants stay at their floors: %s", floor);
	}
	json_decref(o);
	return r;
}

const struct ctl_cmd ctl_lease_cmds[] = {
	{ "lease", "show", "", "Until when this DPU may hold grants",
	  "With `lease: 24h` in the policy, grants last that long after the last renewal, by the time since\n"
	  "boot. Then every grant falls to its floor, even if every daemon is dead, and bwlimitd does what the\n"
	  "policy says (tamper: { lease: … }). After a reboot there is no lease until it is renewed.\n\n"
	  "Examples:\n"
	  "  bwlimit-ctl lease show\n"
	  "  bwlimit-ctl --json lease show\n",
	  show },
	{ "lease", "renew", "[--for TIME] [reason TEXT…]",
	  "Renew the lease, for as long as the policy allows or less",
	  "bwlimitd does it, and has to run. The new end may be sooner than the old one.\n\n"
	  "  --for TIME      1s to the policy's lease (default: the policy's lease)\n\n"
	  "Examples:\n"
	  "  bwlimit-ctl lease renew\n"
	  "  bwlimit-ctl lease renew --for 2h\n",
	  renew },
	{ "lease", "sign", "FILE.signed --for TIME --key KEY [--number N] [--out FILE]",
	  "Make the lease of a signed policy, with the controller's key",
	  "A controller does this by itself; use this if none runs and you have its key. The lease is for the policy's\n"
	  "fleet and audience, and lasts for its lease_most at most: more is refused here, and by every tray.\n"
	  "`policy publish` puts it into the store.\n\n"
	  "  --for TIME      how long it lasts: 1s to lease_most\n"
	  "  --key KEY       a key of the role `online`: a file, or pkcs11:…\n"
	  "  --number N      its version, higher than the last one; default: by the clock, as controllers do\n"
	  "  --out FILE      where to write it (FILE.signed.lease)\n\n"
	  "Examples:\n"
	  "  bwlimit-ctl lease sign tray-7.yaml.signed --for 1h --key online.pem\n",
	  ctl_lease_sign },
	{ NULL, NULL, NULL, NULL, NULL, NULL },
};
