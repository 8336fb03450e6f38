// SPDX-License-Identifier: GPL-2.0-or-later
/* See bwl/trial.h. */
#include <errno.h>
#include "bwl/show.h"
#include "bwl/trial.h"
#include "bwl/units.h"

int bwl_trial_check(const char *what, uint64_t ns, struct bwl_err *e)
{
	char least[BWL_UNIT_BUF], most[BWL_UNIT_BUF];

	if (ns >= BWL_TRIAL_MIN_NS && ns <= BWL_TRIAL_MAX_NS)
		return 0;
	bwl_fail(e, ERANGE, "%.64s: must be %s to %s", what,
		 bwl_format_time(BWL_TRIAL_MIN_NS, least), bwl_format_time(BWL_TRIAL_MAX_NS, most));
	return bwl_hint(
		e,
		"nothing else comes into force during a trial; for longer, apply it without a trial");
}

int bwl_parse_trial(const char *s, uint64_t *ret_ns, struct bwl_err *e)
{
	uint64_t ns;
	int r = bwl_parse_time(s, &ns, e);

	if (!r)
		r = bwl_trial_check(s, ns, e);
	if (!r)
		*ret_ns = ns;
	return r;
}

int bwl_trial_wait(uint64_t until_ns, uint64_t now_ns, struct bwl_err *e)
{
	char when[BWL_WHEN_BUF];

	if (!until_ns)
		return 0;
	bwl_fail(
		e, EBUSY,
		"a policy is on trial: nothing else comes into force before it is confirmed or ends, at the latest %s",
		bwl_when(until_ns, now_ns, when));
	return bwl_hint(e, "bwlimit-ctl policy confirm, or policy rollback");
}
