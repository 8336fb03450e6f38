// SPDX-License-Identifier: GPL-2.0-or-later
/* What a policy ends that asks for no heartbeat, or no lease, and what not: see silence.h. */
#include <errno.h>
#include <bwl/heartbeat.h>
#include <bwl/publish.h>
#include "silence.h"

int bwl_silence_refuses(struct bwl_pins *p, const struct bwl_policy *pol, struct bwl_err *e)
{
	if (!pol->heartbeat_none || !bwl_is_clamped(p))
		return 0;
	bwl_fail(
		e, EPERM,
		"clamped after a sign of tampering: a policy with `heartbeat: none` would end that");
	return bwl_hint(e, "once the cause is understood: bwlimit-ctl heartbeat --lift");
}

const char *bwl_silence_waived(const struct bwl_pins *p, const struct bwl_gen *old,
			       const struct bwl_policy *pol)
{
	uint64_t now = bwl_now_ns();

	if (!old)
		return NULL;
	if (old->base->lease_ns && !pol->lease_ns &&
	    now >= __atomic_load_n(&p->lease->until_ns, __ATOMIC_SEQ_CST))
		return "no lease was live: this policy asks for none, so grants no longer wait for one";
	if (old->base->heartbeat_ns && pol->heartbeat_none &&
	    now >= __atomic_load_n(&p->ctl->heartbeat_ns, __ATOMIC_SEQ_CST))
		return "the heartbeat was silent: this policy asks for none, so grants are no longer at their floors";
	return NULL;
}

void bwl_silence_keep(struct bwl_pins *p, const struct bwl_gen *g)
{
	if (g->base->heartbeat_ns || !bwl_is_clamped(p))
		return;
	bwl_revoke(p, NULL, NULL);
	bwl_warn(
		"everything was clamped meanwhile, and the policy has `heartbeat: none`: every grant is revoked instead");
}
