// SPDX-License-Identifier: GPL-2.0-or-later
/* verify: the journal of closures (docs/journal.md). */
#include <string.h>
#include <bwl/tables.h>
#include "journal/journal.h"
#include "verify.h"
#include "bwl/plural.h"

/*
 * Anything else that keeps the ports closed does not last: `up` or bwlimitd turns it into running.
 */
static bool is_stopped(const struct bwl_pins *p)
{
	return bwl_is_stopped(p) || p->ctl->stop == BWL_UPGRADING;
}

/*
 * Names that are closed in the journal but not in the maps: somebody opened them without a record.
 */
static void check_maps(struct bwl_report *r, struct bwl_pins *p, const struct bwl_journal *j)
{
	struct bwl_policy *pol = NULL;
	unsigned open = 0;
	const char *first = "";

	if (bwl_active_slot(p) == BWL_NO_SLOT || bwl_policy_read(p, &pol, NULL))
		return;
	for (size_t i = 0; i < j->closed.nnames; i++) {
		const struct bwl_pol_peer *q = bwl_policy_peer(pol, j->closed.name[i].name);

		if (!q || q->revoked || !q->grant.present)
			continue;
		first = open++ ? first : q->name;
	}
	if (open || (j->closed.stop && !is_stopped(p)))
		bwl_check(r, "journal-kept", BWL_FAIL, "bwlimit-load attach",
			  "closed in the journal but open in the maps: %s%s",
			  open ? first : "the stop switch", open > 1 ? " and others" : "");
	bwl_policy_free(pol);
}

void bwl_verify_journal(struct bwl_report *r, struct bwl_pins *p)
{
	const char *dir = bwl_journal_dir(p->ctl->drill);
	struct bwl_journal_bound b;
	bool bound = dir && !bwl_journal_bound_read(dir, &b);
	struct bwl_journal j;

	bwl_journal_look(dir, &j);
	switch (j.state) {
	case BWL_JOURNAL_OFF:
		bwl_check(r, "journal", p->ctl->drill ? BWL_OK : BWL_WARN,
			  "unset BWLIMIT_JOURNAL_DIR",
			  "no journal is kept: a reboot opens what was closed by hand");
		break;
	case BWL_JOURNAL_OK:
		bwl_check(
			r, "journal", BWL_OK, "",
			"closures survive a reboot: %llu record%s, %zu name%s, %zu prefix%s, %zu limit%s%s%s; an old copy of the whole state directory is %s",
			(unsigned long long)j.seq, BWL_S(j.seq), j.closed.nnames,
			BWL_S(j.closed.nnames), j.closed.live.n, BWL_ES(j.closed.live.n),
			j.closed.nlimits, BWL_S(j.closed.nlimits), j.closed.stop ? ", stopped" : "",
			j.closed.clamp ? ", clamped" : "",
			bound ? "detected, by the TPM's counter"
			      : "not detected: that takes a TPM (docs/journal.md)");
		check_maps(r, p, &j);
		break;
	default:
		bwl_check(
			r, "journal", BWL_FAIL,
			"bwlimit-ctl journal init; then stop --off, and grant NAME for each peer that may send",
			"the journal of closures cannot be trusted: %s", j.why);
	}
	bwl_journal_free(&j);
}
