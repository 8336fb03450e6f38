// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The rows are all members: without padding, their sizes are the size of the whole. Only here are
 * these structures packed, and nothing of this file runs.
 */
#include <bwl/bursts.h>
#include <bwl/cleanup.h>
#include <bwl/clock.h>
#include <bwl/err.h>
#include <bwl/prefix.h>
#include <bwl/words.h>
#include "maps/words.h"
#include "widen_rows.h"
#pragma pack(push, 1)
#include <bwl/policy.h>
#pragma pack(pop)

#define SIZE(s, member, how, lands) +sizeof(((TYPE_##s *)0)->member)
#define WHOLE(s)                                                                                   \
	_Static_assert(0 ROWS_##s(SIZE) == sizeof(TYPE_##s),                                       \
		       #s ": a member without a row in widen_rows.h")
WHOLE(lim);
WHOLE(port);
WHOLE(zone);
WHOLE(tenant);
WHOLE(peer);
WHOLE(service);
WHOLE(ipsec);
WHOLE(policy);
