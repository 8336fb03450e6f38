// SPDX-License-Identifier: GPL-2.0-or-later
/* `policy`: checks, compares, applies and reverts whole policies. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include "ctl.h"
#include "diff.h"
#include "journal/journal.h"
#include "fleet/cmds.h"
#include "policy.h"
#include "progress.h"
#include "signed.h"

static int load(struct ctl *c, const char *file, struct bwl_policy **ret)
{
	struct ctl_document d = { 0 };
	int r = ctl_document_load(c, file, &d);

	*ret = bwl_take_ptr(&d.pol);
	ctl_document_free(&d);
	return r;
}

/* The policy in force, or an empty one when there is none. */
static int in_force(struct ctl *c, struct bwl_pins *pins, struct bwl_policy **ret)
{
	if (bwl_active_slot(pins) == BWL_NO_SLOT) {
		*ret = bwl_policy_new();
		return 0;
	}
	return bwl_policy_read(pins, ret, &c->err);
}

static int policy_diff(struct ctl *c, int argc, char **argv)
{
	struct bwl_policy *from = NULL, *to = NULL;
	struct bwl_pins *pins = NULL;
	json_t *d;
	int r;

	if (argc != 1)
		return ctl_usage(c, "the file is missing; - is standard input");
	r = load(c, argv[0], &to);
	if (!r)
		r = bwl_pins_open(c->pin_dir, false, &pins, &c->err);
	if (!r)
		r = in_force(c, pins, &from);
	if (!r) {
		d = ctl_diff(from, to, bwl_now_ns());
		if (c->json) {
			bwl_doc_print(d);
		} else {
			ctl_diff_print(d, stdout);
			json_decref(d);
		}
	}
	bwl_policy_free(from);
	bwl_policy_free(to);
	bwl_pins_close(pins);
	return r;
}

/* The limits of the policy that stays are its own, also after a reboot. */
static int raise_confirmed(struct ctl *c, struct bwl_pins *pins)
{
	struct bwl_policy *pol = NULL;
	int r = 0;

	if (!bwl_pending_ns(pins, bwl_now_ns()))
		return 0;
	r = bwl_policy_read(pins, &pol, &c->err);
	if (!r)
		r = bwl_journal_raise(pins, pol, UINT64_MAX, &c->err);
	bwl_policy_free(pol);
	return r;
}

/* confirm and rollback differ in one call. done: what is said then; NULL: where it led back to. */
static int settle(struct ctl *c, int argc, char **argv, const char *word,
		  int (*fn)(struct bwl_pins *p, struct bwl_err *e), const char *done)
{
	struct bwl_pins *pins;
	char why[CTL_REASON];
	int r;

	ctl_reason(NULL, 0, &argc, argv, why);
	if (argc)
		return ctl_usage(c, "'policy %s' takes no argument but a reason", word);
	r = bwl_pins_open(c->pin_dir, true, &pins, &c->err);
	if (r)
		return r;
	if (fn == bwl_confirm) /* the way back only closes */
		r = bwl_audit_intent(&c->err, "policy %s%s%s", word, *why ? " reason " : "", why);
	if (!r && fn == bwl_confirm && !bwl_only_tightens(pins))
		r = raise_confirmed(c, pins);
	if (!r)
		r = bwl_pins_lock(pins, &c->err);
	if (!done)
		done = bwl_way_back_words(bwl_way_back(pins));
	if (!r)
		r = fn(pins, &c->err);
	if (!r) {
		bwl_journal_follow(pins);
		bwl_audit("policy %s%s%s", word, *why ? " reason " : "", why);
		if (c->json)
			ctl_print_list(fn == bwl_confirm ? "policy-confirm" : "policy-rollback",
				       "text", json_string(done));
		else
			puts(done);
	}
	bwl_pins_close(pins);
	return r;
}

static int policy_confirm(struct ctl *c, int argc, char **argv)
{
	return settle(c, argc, argv, "confirm", bwl_confirm, "the new policy stays");
}

static int policy_rollback(struct ctl *c, int argc, char **argv)
{
	return settle(c, argc, argv, "rollback", bwl_rollback, NULL);
}

static void show_json(const struct bwl_pins *pins, const struct bwl_policy *pol, const char *hex)
{
	uint64_t now = bwl_now_ns(), pending = bwl_trial_ns(pins);
	json_t *o = bwl_json_policy(pol, now);

	json_object_set_new(o, "generation", json_integer(pins->ctl->generation));
	json_object_set_new(o, "digest", json_string(hex));
	json_object_set_new(o, "returns_in_s", pending ? bwl_json_in(pending, now) : json_null());
	bwl_doc_print(o);
}

/*
 * State that is in force but in no policy file, as comments: the text can be read back as a file.
 */
static void show_state(const struct bwl_pins *pins, const struct bwl_policy *pol, const char *hex)
{
	uint64_t now = bwl_now_ns(), pending = bwl_pending_ns(pins, now);
	char t[BWL_UNIT_BUF];

	bwl_put(stdout, "# in force: digest %s\n", hex);
	if (pending)
		bwl_put(stdout,
			"# not confirmed: its grants end in %s, and the policy before returns\n",
			bwl_human_time((double)(pending - now) / 1e9, t));
	else if (bwl_is_trial_over(pins, now))
		puts("# not confirmed in time: its grants have ended, the policy before is about to return");
	if (pins->ctl->stop)
		bwl_put(stdout, "# %s: every packet is dropped\n",
			pins->ctl->stop == BWL_UPGRADING ? "upgrading"
			: bwl_is_stopped(pins)           ? "stopped"
							 : "not opened");
	for (size_t i = 0; i < pol->npeers; i++)
		if (pol->peers[i].revoked)
			bwl_put(stdout, "# revoked: %s\n", pol->peers[i].name);
}

static int policy_show(struct ctl *c, int argc, char **argv)
{
	struct bwl_policy *pol = NULL;
	struct bwl_pins *pins;
	char hex[65];
	int r;

	(void)argv;
	if (argc)
		return ctl_usage(c, "'policy show' takes no argument");
	r = bwl_pins_open(c->pin_dir, false, &pins, &c->err);
	if (r)
		return r;
	if (bwl_active_slot(pins) == BWL_NO_SLOT) {
		bwl_fail(&c->err, ENOENT, "no policy has been applied: everything is dropped");
		r = bwl_hint(&c->err, "bwlimit-ctl policy apply FILE");
	} else {
		r = bwl_policy_read(pins, &pol, &c->err);
	}
	if (!r) {
		ctl_policy_hex(pol, hex);
		if (c->json) {
			show_json(pins, pol, hex);
		} else {
			show_state(pins, pol, hex);
			r = bwl_policy_dump(pol, bwl_now_ns(), time(NULL), stdout);
			if (r)
				bwl_fail(&c->err, -r, "cannot write the policy: %s", strerror(-r));
		}
	}
	bwl_policy_free(pol);
	bwl_pins_close(pins);
	return r;
}

const struct ctl_cmd ctl_policy_cmds[] = {
	{ "policy", "check", "FILE…", "Check policy files: all errors, with line and column",
	  "Needs no pins and no rights. - is standard input. At most 20 errors of each file are shown; the exit\n"
	  "code is 1 if any file has one.\n\n"
	  "Examples:\n"
	  "  bwlimit-ctl policy check tray-7.yaml\n"
	  "  bwlimit-ctl policy check policies/*.yaml\n",
	  ctl_policy_check },
	{ "policy", "diff", "FILE", "What the file would change in the policy in force",
	  "+ added, - removed, ~ changed; defaults count as what they stand for.\n\n"
	  "Examples:\n"
	  "  bwlimit-ctl policy diff tray-7.yaml\n",
	  policy_diff },
	{ "policy", "apply",
	  "FILE [--confirm TIME] [--fresh-volume] [--trust-clock] [--yes] [reason TEXT…]",
	  "Put a policy file in force, as a whole",
	  "No packet sees half a policy. Spent volumes, debts and revocations stay. bwlimitd does it if it runs,\n"
	  "otherwise this command. It holds until the desired policy changes, or a reboot.\n\n"
	  "  --confirm TIME  1s to 4h: without `policy confirm` within it its grants end, by themselves, and\n"
	  "                  bwlimitd (or `policy rollback`) applies the policy before again; what was\n"
	  "                  revoked meanwhile stays revoked\n"
	  "  --fresh-volume  volumes whose past use is unknown since the maps were made start unspent\n"
	  "                  (logged); otherwise they start spent, because a reboot forgets past use\n"
	  "  --trust-clock   trust the wall clock for `until:` although it is not synchronised\n"
	  "                  (logged)\n"
	  "  --yes           at a terminal: do not show the difference and ask\n\n"
	  "Examples:\n"
	  "  bwlimit-ctl policy apply tray-7.yaml --confirm 60s reason ticket 4711\n",
	  ctl_policy_apply },
	{ "policy", "confirm", "[reason TEXT…]",
	  "Keep the policy that `apply --confirm` put in force",
	  "Examples:\n"
	  "  bwlimit-ctl policy apply tray-7.yaml --confirm 60s\n"
	  "  bwlimit-ctl policy confirm\n",
	  policy_confirm },
	{ "policy", "rollback", "[reason TEXT…]",
	  "Return to the policy before `apply --confirm` now",
	  "Also after its time has run out, if bwlimitd does not run.\n\n"
	  "Examples:\n"
	  "  bwlimit-ctl policy rollback\n",
	  policy_rollback },
	{ "policy", "show", "", "The policy in force, as a policy file",
	  "Examples:\n"
	  "  bwlimit-ctl policy show >tray-7.yaml\n",
	  policy_show },
	{ "policy", "sign", "FILE --key KEY [OPTIONS]",
	  "Make a signed document, or add a signature to one",
	  "If FILE is a policy, or the content of another document as JSON (--type; docs/fleet.md), FILE.signed is\n"
	  "made. If it is a signed document, the signature is added to it.\n\n"
	  "  --key KEY          the signer's key: a PEM file, or pkcs11:…\n"
	  "  --fleet NAME       fleet of a new document\n"
	  "  --audience WHO     all (the default), or tray:NAME and label:KEY=VALUE, separated by commas\n"
	  "  --name NAME        its name; versions count per name\n"
	  "  --number N         its version, higher than the last one\n"
	  "  --epoch N          the fleet's revocation epoch (1)\n"
	  "  --for TIME         how long it is valid\n"
	  "  --type TYPE        root, grant, lease, revocation, rollout, expulsion, enrolment, timestamp\n"
	  "  --offline-for TIME  policy, grant: fall to the floor after this time without a signed time (15m)\n"
	  "  --lease-most TIME  policy: the longest lease that an online key may renew\n"
	  "  --stages           policy: comes in force when the controller's rollout says so, not on arrival\n"
	  "  --opens NAME,…     policy, grant: closed peers to open\n"
	  "  --lifts WHAT,…     policy: lift `stop`, `clamp`, if set before this is signed\n"
	  "  --fresh-volume     policy: volumes start unspent\n"
	  "  --break-glass      policy, grant: for `bwlimit-ctl break-glass`, in an emergency\n"
	  "  --reason TEXT      why\n"
	  "  --out FILE         where to write it\n\n"
	  "Examples:\n"
	  "  bwlimit-ctl policy sign tray-7.yaml --key alice.pem --fleet hall-3 --audience tray:tray-7 --name tray-7 --number 5 --for 30d\n",
	  ctl_policy_sign },
	{ "policy", "publish", "FILE [OPTIONS]",
	  "Put a signed document into the fleet's store, for the trays of its audience",
	  "Refuses what trays would refuse: an older version than the store has, and, with --root, too few\n"
	  "signatures. Then waits until the trays confirm it.\n\n"
	  "  --propose       only put it among the pending documents, for colleagues to sign: `--fleet pending`\n" FLEET_WAIT_HELP
		  FLEET_CONF_HELP "Examples:\n"
	  "  bwlimit-ctl policy publish tray-7.yaml.signed --root root\n",
	  fleet_publish },
	{ "policy", "verify", "FILE --root ROOT [--tray NAME]",
	  "Who signed a document, for whom, until when",
	  "A root verifies itself; with --root it must follow that one.\n\n"
	  "Examples:\n"
	  "  bwlimit-ctl policy verify tray-7.yaml.signed --root root --tray tray-7\n",
	  ctl_policy_verify },
	{ NULL, NULL, NULL, NULL, NULL, NULL },
};
