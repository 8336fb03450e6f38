// SPDX-License-Identifier: GPL-2.0-or-later
/* The rows of bench-scale, and the destination of each one's packets. */
#include "bench/scale/scale.h"

#define YARDSTICK(row, of, said, by)                                                               \
	{                                                                                          \
		.name = row, .what = of, .text = said, .way = by                                   \
	}
#define ROW(row, of, said, by, to, one, as, goal)                                                  \
	{                                                                                          \
		.name = row, .what = of, .text = said, .way = by, .group = to, .same = one,        \
		.reason = as, .least = goal                                                        \
	}
/* Two rows: all CPUs to the same peer, and each CPU to its own. */
#define PAIR(row, of, said, by, to, as, goal)                                                      \
	ROW(row "-same", of, said ", same peer", by, to, true, as, goal),                          \
		ROW(row "-different", of, said ", different peers", by, to, false, as, goal)
/* Rows within a limit that is never reached, and far over the peer's own limit. */
#define MODE(of, to, goal)                                                                         \
	PAIR(of, of, of, TEST_RUN, to, BWL_R_PASS, goal),                                          \
		PAIR(of "-refused", of, of ", refused", TEST_RUN, to##_TIGHT, BWL_R_PEER_RATE,     \
		     goal)

const struct kind_info scale_kinds[] = {
	YARDSTICK("empty", "empty", "empty program", TEST_RUN),
	YARDSTICK("xdp-empty", "empty", "empty program, XDP", XDP_TEST_RUN),
	YARDSTICK("veth-bare", "bare", "veth, bare forward", VETH),
	YARDSTICK("veth-xdp-bare", "bare", "veth, bare redirect by XDP", XDP_VETH),
	PAIR("floor", "floor", "floor", TEST_RUN, POLICE, BWL_R_NONE, 0),
	MODE("police", POLICE, 0.95),
	PAIR("police-refused-zone", "police", "police, refused by the zone", TEST_RUN, POLICE_ZONE,
	     BWL_R_ZONE_RATE, 0.95),
	MODE("mark", MARK, 0.95),
	PAIR("monitor", "monitor", "monitor", TEST_RUN, MONITOR, BWL_R_PASS, 0.95),
	PAIR("monitor-over", "monitor", "monitor, over its limit", TEST_RUN, MONITOR_TIGHT,
	     BWL_R_PASS_MONITOR, 0.95),
	MODE("shape", SHAPE, 0),
	MODE("volume", VOLUME, 0.95),
	PAIR("offload", "offload", "path offload", XDP_TEST_RUN, OFFLOAD, BWL_R_PASS, 0.95),
	PAIR("offload-refused", "offload", "path offload, refused", XDP_TEST_RUN, OFFLOAD_TIGHT,
	     BWL_R_PEER_RATE, 0.95),
	PAIR("veth", "bwlimit", "veth, bwlimit", VETH, POLICE, BWL_R_PASS, 0),
	PAIR("veth-refused", "bwlimit", "veth, bwlimit, refused", VETH, POLICE_TIGHT,
	     BWL_R_PEER_RATE, 0),
	PAIR("veth-offload", "offload", "veth, path offload", XDP_VETH, OFFLOAD, BWL_R_PASS, 0),
	PAIR("veth-offload-refused", "offload", "veth, path offload, refused", XDP_VETH,
	     OFFLOAD_TIGHT, BWL_R_PEER_RATE, 0),
};
_Static_assert(sizeof(scale_kinds) / sizeof(scale_kinds[0]) == KINDS, "KINDS is their number");

const struct group_info scale_groups[_GROUP_MAX] = {
	[POLICE] = { BWL_MODE_POLICE, 0 },
	[POLICE_TIGHT] = { BWL_MODE_POLICE, RIG_TIGHT },
	[POLICE_ZONE] = { BWL_MODE_POLICE, RIG_TIGHT_ZONE },
	[MARK] = { BWL_MODE_MARK, 0 },
	[MARK_TIGHT] = { BWL_MODE_MARK, RIG_TIGHT },
	[MONITOR] = { BWL_MODE_MONITOR, 0 },
	[MONITOR_TIGHT] = { BWL_MODE_MONITOR, RIG_TIGHT },
	[SHAPE] = { BWL_MODE_SHAPE, 0 },
	[SHAPE_TIGHT] = { BWL_MODE_SHAPE, RIG_TIGHT },
	[VOLUME] = { BWL_MODE_POLICE, RIG_VOLUME },
	[VOLUME_TIGHT] = { BWL_MODE_POLICE, RIG_VOLUME | RIG_TIGHT },
	[OFFLOAD] = { BWL_MODE_POLICE, RIG_OFFLOAD },
	[OFFLOAD_TIGHT] = { BWL_MODE_POLICE, RIG_OFFLOAD | RIG_TIGHT },
};

const char *scale_kind_name(unsigned kind)
{
	return scale_kinds[kind].name;
}

unsigned scale_group_size(const struct scale *b)
{
	return (b->ncpu - 1) * APART + 1;
}

unsigned scale_dest(const struct scale *b, unsigned kind, unsigned worker)
{
	const struct kind_info *x = &scale_kinds[kind];

	return x->group * scale_group_size(b) + (x->same ? 0 : worker * APART);
}
