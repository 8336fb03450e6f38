// SPDX-License-Identifier: GPL-2.0-or-later
/* The rows of bench-cost, with their goals. */
#include <linux/pkt_cls.h>
#include "bench/cost/cost.h"

#define GOAL(n)                                                                                    \
	{                                                                                          \
		.value = n                                                                         \
	}
#define ONE_TC .verdict = TC_ACT_REDIRECT
#define TURN_TC .turn = true, .verdict = TC_ACT_REDIRECT, .without = { TURN, EMPTY }
#define TURN6_TC .turn = true, .verdict = TC_ACT_REDIRECT, .without = { TURN6, EMPTY }
#define ONE_XDP .xdp = true, .verdict = XDP_REDIRECT
#define TURN_XDP                                                                                   \
	.xdp = true, .turn = true, .verdict = XDP_REDIRECT, .without = { XDP_TURN, XDP_EMPTY }
#define PASS_TC .program = "bwl_tc_host", .reason = BWL_R_PASS
#define PASS_GATE                                                                                  \
	.program = "bwl_tc_gate", .gate = true, .verdict = TC_ACT_OK, .reason = BWL_R_PASS_GATE
#define PASS_XDP .program = "bwl_xdp_host", .reason = BWL_R_PASS
#define REFUSED_TC(r) .program = "bwl_tc_host", .verdict = TC_ACT_SHOT, .reason = BWL_R_##r

const struct cost_row_info cost_rows[_ROW_MAX] = {
	[EMPTY] = { "empty", "empty program", "nothing", .verdict = TC_ACT_SHOT },
	[TURN] = { "turn", "  taking turns", "nothing", .turn = true, .verdict = TC_ACT_SHOT },
	[TURN6] = { "turn6", "  taking turns, IPv6", "nothing", .turn = true, .dests = BY_PREFIX6,
		    .verdict = TC_ACT_SHOT },
	[XDP_EMPTY] = { "xdp-empty", "empty program, XDP", "xdp_nothing", .xdp = true,
			.verdict = XDP_DROP },
	[XDP_TURN] = { "xdp-turn", "  taking turns, XDP", "xdp_nothing", .xdp = true, .turn = true,
		       .verdict = XDP_DROP },

	[FLOOR_ONE] = { "floor-one", "floor, one peer", "least", ONE_TC },
	[FLOOR_TURN] = { "floor-turn", "floor, in turn", "least", TURN_TC },
	[PIPELINE_ONE] = { "pipeline-one", "pipeline, one peer", .stage = PLAIN, PASS_TC, ONE_TC,
			   .over = FLOOR_ONE, .goal = GOAL(1.2) },
	[PIPELINE_TURN] = { "pipeline-turn", "pipeline, in turn", .stage = PLAIN, PASS_TC, TURN_TC,
			    .over = FLOOR_TURN, .goal = GOAL(1.5) },
	[RECORD_ONE] = { "record-one", "with flow records, one peer", .stage = RECORD, PASS_TC,
			 ONE_TC, .over = PIPELINE_ONE },
	[RECORD_TURN] = { "record-turn", "with flow records, in turn", .stage = RECORD, PASS_TC,
			  TURN_TC, .over = PIPELINE_TURN },
	[LATENCY_ONE] = { "latency-one", "with latency, one peer", .stage = LATENCY, PASS_TC,
			  ONE_TC, .over = PIPELINE_ONE },
	[LATENCY_TURN] = { "latency-turn", "with latency, in turn", .stage = LATENCY, PASS_TC,
			   TURN_TC, .over = PIPELINE_TURN },
	[GATE_ONE] = { "gate-one", "last gate, and what tags for it", .stage = PLAIN, PASS_GATE },
	[LATENCY_GATE] = { "latency-gate", "with latency, last gate", .stage = LATENCY, PASS_GATE,
			   .over = GATE_ONE },
	[VOLUME_ONE] = { "volume-one", "with volumes, one peer", .stage = VOLUME, PASS_TC, ONE_TC,
			 .over = FLOOR_ONE, .goal = GOAL(1.5) },
	[VOLUME_TURN] = { "volume-turn", "with volumes, in turn", .stage = VOLUME, PASS_TC, TURN_TC,
			  .over = FLOOR_TURN, .goal = GOAL(1.7) },

	[REFUSED_PEER] = { "refused-peer", "refused: its own rate", .stage = PLAIN,
			   REFUSED_TC(PEER_RATE), .over = PIPELINE_ONE, .goal = GOAL(0.8) },
	[REFUSED_ZONE] = { "refused-zone", "refused: the zone's", .stage = PLAIN,
			   REFUSED_TC(ZONE_RATE), .over = PIPELINE_ONE, .goal = GOAL(0.8) },
	[REFUSED_PORT] = { "refused-port", "refused: the port's", .stage = PLAIN,
			   REFUSED_TC(PORT_RATE), .over = PIPELINE_ONE, .goal = GOAL(0.8) },
	[REFUSED_NODE] = { "refused-node", "refused: the node's", .stage = NODE,
			   REFUSED_TC(NODE_RATE), .over = PIPELINE_ONE, .goal = GOAL(0.8) },
	[REFUSED_NODE_TURN] = { "refused-node-turn", "refused: the node's, in turn", .stage = NODE,
				.turn = true, .without = { TURN, EMPTY }, REFUSED_TC(NODE_RATE),
				.over = PIPELINE_TURN, .goal = GOAL(0.8) },
	[SATURATED] = { "saturated-peer", "over 1 Gbit/s: a part passes", .stage = PLAIN,
			REFUSED_TC(PEER_RATE), .partly = true, .over = PIPELINE_ONE },
	[NO_PEER] = { "no-peer", "refused: nobody's, at TC", .stage = PLAIN, REFUSED_TC(NO_PEER),
		      .over = PIPELINE_ONE },
	[XDP_NO_PEER] = { "xdp-no-peer", "refused: nobody's, at XDP", "bwl_xdp_host",
			  .stage = PLAIN, .xdp = true, .verdict = XDP_DROP, .reason = BWL_R_NO_PEER,
			  .over = PIPELINE_ONE },

	[FLOOR_PREFIX4_TURN] = { "floor-prefix4-turn", "floor, addresses of prefixes, in turn",
				 "least", .dests = BY_PREFIX4, TURN_TC },
	[PREFIX4_ONE] = { "prefix4-one", "pipeline, one /24", .stage = PREFIX, PASS_TC, ONE_TC,
			  .dests = BY_PREFIX4, .over = FLOOR_ONE },
	[PREFIX4_TURN] = { "prefix4-turn", "pipeline, /24s in turn", .stage = PREFIX, PASS_TC,
			   TURN_TC, .dests = BY_PREFIX4, .over = FLOOR_PREFIX4_TURN },
	[FLOOR_PREFIX6_ONE] = { "floor-prefix6-one", "floor, IPv6, one peer", "least6", ONE_TC,
				.dests = BY_PREFIX6 },
	[FLOOR_PREFIX6_TURN] = { "floor-prefix6-turn", "floor, IPv6, in turn", "least6", TURN6_TC,
				 .dests = BY_PREFIX6 },
	[PREFIX6_ONE] = { "prefix6-one", "pipeline, one IPv6 /64", .stage = PREFIX, PASS_TC, ONE_TC,
			  .dests = BY_PREFIX6, .over = FLOOR_PREFIX6_ONE },
	[PREFIX6_TURN] = { "prefix6-turn", "pipeline, IPv6 /64s in turn", .stage = PREFIX, PASS_TC,
			   TURN6_TC, .dests = BY_PREFIX6, .over = FLOOR_PREFIX6_TURN },

	[XDP_FLOOR_ONE] = { "xdp-floor-one", "floor, XDP, one peer", "xdp_least", ONE_XDP },
	[XDP_FLOOR_TURN] = { "xdp-floor-turn", "floor, XDP, in turn", "xdp_least", TURN_XDP },
	[OFFLOAD_ONE] = { "offload-one", "path offload, one peer", .stage = OFFLOAD, PASS_XDP,
			  ONE_XDP, .over = XDP_FLOOR_ONE, .goal = GOAL(1.2) },
	[OFFLOAD_TURN] = { "offload-turn", "path offload, in turn", .stage = OFFLOAD, PASS_XDP,
			   TURN_XDP, .over = XDP_FLOOR_TURN, .goal = GOAL(1.5) },
	[OFFLOAD_REFUSED] = { "offload-refused", "path offload, refused: its own", "bwl_xdp_host",
			      .stage = OFFLOAD, .xdp = true, .verdict = XDP_DROP,
			      .reason = BWL_R_PEER_RATE, .over = OFFLOAD_ONE, .goal = GOAL(0.8) },
};

const char *cost_row_name(unsigned row)
{
	return cost_rows[row].name;
}

unsigned cost_dests_n(const struct cost *b, enum cost_dests d)
{
	return d == BY_ADDRESS ? b->peers : b->prefixes;
}

unsigned cost_dests_kind(enum cost_dests d)
{
	return d == BY_PREFIX4 ? RIG_PREFIX4 : d == BY_PREFIX6 ? RIG_PREFIX6 : 0;
}

/*
 * After the peers that pass: two over their limits, one in the tight zone, and no peer's address.
 */
unsigned cost_dest(const struct cost *b, enum cost_row row)
{
	unsigned n = cost_dests_n(b, cost_rows[row].dests);

	switch (row) {
	case REFUSED_PEER:
	case OFFLOAD_REFUSED:
		return n;
	case REFUSED_ZONE:
		return n + 1;
	case SATURATED:
		return n + 2;
	case NO_PEER:
	case XDP_NO_PEER:
		return n + 3;
	default:
		return cost_rows[row].turn ? 0 : n / 2;
	}
}
