// SPDX-License-Identifier: GPL-2.0-or-later
/* A policy applied by hand, by bwlimit-ctl itself or by bwlimitd on its behalf: see journal.h. */
#include "journal.h"

void bwl_journal_follow(struct bwl_pins *p)
{
	struct bwl_err e = { 0 };

	if (bwl_journal_note(p, &e))
		bwl_warn("%s; revoked peers' new prefixes are closed until reboot", e.text);
}

/*
 * Limits are raised after the policy is in force: if it is refused, or the tool is killed, what was
 * lowered by hand stays lower. For a policy on trial they are raised when it is confirmed.
 */
int bwl_journal_apply(struct bwl_pins *p, struct bwl_policy *pol, const struct bwl_publish_opts *o,
		      struct bwl_publish_report *ret, struct bwl_err *e)
{
	int r;

	bwl_journal_policy(p, pol, false, false);
	r = bwl_publish(p, pol, o, ret, e);
	if (r)
		return r;
	bwl_journal_follow(p); /* first what closes, whether or not the rest can open */
	if (bwl_only_tightens(p) && !o->allowed)
		return 0; /* after a reboot the file's limits would apply again */
	if (!o->confirm_ns && bwl_journal_raise(p, pol, UINT64_MAX, e))
		r = bwl_hint(
			e,
			"the policy is in force, but limits lowered by hand are lower again after a reboot: apply the policy again");
	return r;
}
