// SPDX-License-Identifier: GPL-2.0-or-later
/* `heartbeat` keeps grants alive; `stop` ends everything at once. */
#include <errno.h>
#include <stdio.h>
#include <time.h>
#include "ctl.h"
#include "enrolled/gate.h"
#include "journal/journal.h"

static int heartbeat(struct ctl *c, int argc, char **argv)
{
	bool lift = false;
	const struct ctl_opt opts[] = { { "--lift", &lift, NULL }, { NULL, NULL, NULL } };
	struct bwl_pins *pins;
	char t[BWL_UNIT_BUF], why[CTL_REASON];
	uint64_t deadline;
	int r;

	ctl_reason(NULL, 0, &argc, argv, why);
	r = ctl_opts(c, &argc, argv, opts);
	if (r)
		return r;
	if (argc || (*why && !lift))
		return ctl_usage(c,
				 "'heartbeat' takes no argument but --lift, and with it a reason");
	r = bwl_pins_open(c->pin_dir, true, &pins, &c->err);
	if (r)
		return r;
	if (lift) /* bwlimitd journals no clamp in between */
		r = bwl_pins_lock(pins, &c->err);
	if (!r && lift)
		r = bwl_audit_intent(&c->err, "heartbeat --lift%s%s", *why ? " reason " : "", why);
	/*
	 * if it were kept alive by hand bwlimitd could be dead: nothing would check times, or
	 * revoke
	 */
	if (!r)
		r = bwl_enrolled_refuses(pins,
					 lift ? "the clamp would end"
					      : "bwlimitd alone keeps grants alive",
					 &c->err);
	if (!r && lift)
		r = bwl_journal_opening(pins, BWL_J_LIFT, &c->err);
	if (!r && lift && bwl_unclamp(pins))
		bwl_audit("heartbeat --lift%s%s", *why ? " reason " : "", why);
	if (!r)
		r = bwl_heartbeat(pins, &deadline, &c->err);
	if (!r && c->json) {
		ctl_print_list("heartbeat", "heartbeat_ends_in_s",
			       bwl_json_in(deadline, bwl_now_ns()));
	} else if (!r && deadline == BWL_NEVER_NS) {
		puts("the policy has `heartbeat: none`: grants need none");
	} else if (!r) {
		uint64_t now = bwl_now_ns();

		bwl_put(stdout, "renewed: grants live for another %s\n",
			bwl_human_time(deadline > now ? (double)(deadline - now) / 1e9 : 0, t));
	}
	bwl_pins_close(pins);
	return r;
}

/* Only an operator's stop may be lifted by an operator; other reasons keep everything closed. */
static int may_start(struct ctl *c, uint32_t is)
{
	switch (is) {
	case BWL_UPGRADING:
		bwl_fail(&c->err, EBUSY, "an upgrade was interrupted: everything stays closed");
		return bwl_hint(&c->err, "bwlimit-load upgrade completes it");
	case BWL_UNJUDGED:
	case BWL_STOPPED_UNJUDGED:
		bwl_fail(
			&c->err, EBUSY,
			"bwlimitd has not yet compared the journal of closures with the TPM's counter");
		return bwl_hint(
			&c->err,
			"see journalctl -u bwlimitd; if you know that the journal is right: stop, then stop --off");
	case BWL_CLOSED:
	case BWL_CLOSED_UNJUDGED:
		bwl_fail(&c->err, EBUSY,
			 "the host ports have not been opened since the programs were attached");
		return bwl_hint(&c->err, "bwlimit-load up opens them when verify is clean");
	default:
		return 0;
	}
}

static int stop(struct ctl *c, int argc, char **argv)
{
	bool off = false;
	const struct ctl_opt opts[] = { { "--off", &off, NULL }, { NULL, NULL, NULL } };
	struct bwl_pins *pins;
	uint32_t want = BWL_STOPPED;
	char why[CTL_REASON];
	int r;

	/* What opens is said before the reason: an option after it is text. */
	ctl_reason(NULL, 0, &argc, argv, why);
	r = ctl_only_opts(c, argc, argv, opts);
	if (r)
		return r;
	r = bwl_pins_open(c->pin_dir, true, &pins, &c->err);
	if (r)
		return r;
	if (!off) {
		/* Without the lock: stopping everything must not wait. */
		__atomic_store_n(&pins->ctl->stop, BWL_STOPPED, __ATOMIC_SEQ_CST);
		r = bwl_journal_closed(pins, &c->err);
		if (!r)
			r = bwl_journal_again(bwl_journal_dir(pins->ctl->drill), BWL_J_STOP, NULL,
					      (uint64_t)time(NULL), &c->err);
		bwl_audit("stop%s%s", *why ? " reason " : "", why);
	} else {
		r = bwl_pins_lock(pins, &c->err);
		if (!r)
			r = bwl_audit_intent(&c->err, "stop --off%s%s", *why ? " reason " : "",
					     why);
		if (!r)
			r = bwl_enrolled_refuses(pins, "what was stopped would pass", &c->err);
		if (!r)
			r = may_start(c, __atomic_load_n(&pins->ctl->stop, __ATOMIC_SEQ_CST));
		if (!r)
			r = bwl_journal_opening(pins, BWL_J_START, &c->err);
		if (!r && !__atomic_compare_exchange_n(&pins->ctl->stop, &want, BWL_RUN, false,
						       __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST))
			r = may_start(c, want);
		if (!r)
			bwl_audit("stop --off%s%s", *why ? " reason " : "", why);
	}
	if (!r && c->json)
		ctl_print_list("stop", "stopped", json_boolean(!off));
	else if (!r)
		puts(off ? "the stop switch is off: the policy applies"
			 : "stopped: every packet is dropped until `bwlimit-ctl stop --off`");
	bwl_pins_close(pins);
	return r;
}

const struct ctl_cmd ctl_heartbeat_cmds[] = {
	{ "heartbeat", NULL, "[--lift [reason TEXT…]]",
	  "Renew the deadline after which grants fall to their floors",
	  "The policy says how long it lasts (heartbeat: 60s). When it has passed, the data plane closes by\n"
	  "itself. Refused after a sign of tampering that clamps (tamper: in the policy):\n\n"
	  "  --lift          end the clamp\n\n"
	  "Examples:\n"
	  "  bwlimit-ctl heartbeat\n"
	  "  bwlimit-ctl heartbeat --lift\n",
	  heartbeat },
	{ "stop", NULL, "[--off] [reason TEXT…]",
	  "Drop every packet, or let the policy apply again",
	  "The reason goes to the audit log.\n\n"
	  "Examples:\n"
	  "  bwlimit-ctl stop reason theft, ticket 4711\n"
	  "  bwlimit-ctl stop --off\n",
	  stop },
	{ NULL, NULL, NULL, NULL, NULL, NULL },
};
