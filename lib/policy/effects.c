// SPDX-License-Identifier: GPL-2.0-or-later
/* See effects.h. */
#include <errno.h>
#include <string.h>
#include <bwl/effects.h>

bool bwl_effect_hop(const struct bwl_policy *pol, const struct bwl_pol_peer *q, struct bwl_hop *ret)
{
	memset(ret, 0, sizeof(*ret));
	if (!*q->uplink && !pol->nuplinks)
		return false;
	strcpy(ret->uplink, *q->uplink ? q->uplink : pol->uplinks[0]);
	memcpy(ret->mac, q->next_hop_mac, sizeof(ret->mac));
	if (q->path != BWL_PATH_CLEAR) {
		strcpy(ret->remote, q->ipsec_remote);
		return true;
	}
	ret->has_via4 = q->has_via4;
	ret->has_via6 = q->has_via6;
	if (q->has_via4)
		memcpy(ret->via4, q->via4, sizeof(ret->via4));
	if (q->has_via6)
		memcpy(ret->via6, q->via6, sizeof(ret->via6));
	return true;
}

int bwl_effect_grant(const char *name, const struct bwl_lim *grant, unsigned mode,
		     struct bwl_err *e)
{
	if (!bwl_grant_is_empty(grant, mode))
		return 0;
	bwl_fail(e, EINVAL,
		 "peer %s: grant is empty: without rate and volume mode %s would limit nothing",
		 name, bwl_mode_name(mode));
	return bwl_hint(e, "bwlimit-ctl grant %s rate R mode %s reason …", name,
			bwl_mode_name(mode));
}

bool bwl_effect_arrives(const struct bwl_pol_peer *q, struct bwl_lim *ret)
{
	if (!q->grant.present || q->accept_none)
		return false;
	*ret = q->accept.present ? q->accept : bwl_default_accept(&q->grant);
	return true;
}

unsigned bwl_effect_action(const struct bwl_policy *pol, unsigned input)
{
	unsigned action = pol->tamper[input];

	return action == BWL_ACTION_CLAMP && pol->heartbeat_none ? BWL_ACTION_REVOKE : action;
}
