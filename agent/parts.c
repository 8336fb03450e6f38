/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The parts of bwlimitd, in the order in which they are started: see parts.h. */
#include <syslog.h>
#include "parts.h"

const struct agent_part agent_parts[] = {
	/* What closes; the journal of it outlives them. */
	{
		.name = "closures",
		.event = "journal",
		.priority = LOG_ALERT,
		.without = "closures are journalled by the tools alone",
		.wanted = agent_closures_wanted,
		.start = agent_closures_start,
		.stop = agent_closures_stop,
	},
	{
		.name = "watch",
		.event = "gate",
		.priority = LOG_ALERT,
		.without = "what guards the ports is not looked at",
		.start = agent_watch_start,
		.stop = agent_watch_stop,
		.by_maps = true,
	},
	{
		.name = "tamper",
		.event = "tamper",
		.priority = LOG_ALERT,
		.without = "signs of tampering are not seen",
		.start = agent_tamper_start,
		.stop = agent_tamper_stop,
		.by_maps = true,
	},
	{
		.name = "tamper counters",
		.event = "tamper",
		.priority = LOG_ALERT,
		.without = "what uplinks say they sent is not looked at",
		.start = agent_counters_start,
		.stop = agent_counters_stop,
		.by_maps = true,
	},
	{
		.name = "orders",
		.event = "tamper",
		.priority = LOG_ALERT,
		.without = "no order is taken, and the end of a lease is not acted on",
		.start = agent_orders_start,
		.stop = agent_orders_stop,
		.by_maps = true,
	},
	{
		.name = "documents",
		.event = "documents",
		.priority = LOG_ALERT,
		.without = "no signed document is taken, and everything falls to its floor",
		.start = agent_documents_start,
		.stop = agent_documents_stop,
		.by_maps = true,
	},
	/* What tells and keeps. */
	{
		.name = "commands",
		.event = "commands",
		.priority = LOG_ERR,
		.without = "only root gives commands",
		.wanted = agent_commands_wanted,
		.start = agent_commands_start,
		.stop = agent_commands_stop,
	},
	{
		.name = "events",
		.event = "events",
		.priority = LOG_ERR,
		.without = "no event is logged, and nobody can watch them",
		.start = agent_events_start,
		.stop = agent_events_stop,
	},
	{
		.name = "ledger",
		.event = "ledger",
		.priority = LOG_ALERT,
		.without = "no volume is released further",
		.start = agent_ledger_start,
		.tick = agent_ledger_tick,
		.stop = agent_ledger_stop,
	},
	{
		.name = "history",
		.event = "history",
		.priority = LOG_WARNING,
		.without = "no history is written",
		.wanted = agent_history_wanted,
		.start = agent_history_start,
		.stop = agent_history_stop,
	},
	/* What the policy asks for: the heartbeat after there is one. */
	{
		.name = "reconcile",
		.event = "policy",
		.priority = LOG_ERR,
		.without = "the desired policy is not looked at",
		.start = agent_reconcile_start,
		.tick = agent_reconcile_tick,
		.stop = agent_reconcile_stop,
	},
	{
		.name = "heartbeat",
		.event = "heartbeat",
		.priority = LOG_ERR,
		.without = "grants fall to their floors",
		.start = agent_heartbeat_start,
		.stop = agent_heartbeat_stop,
	},
	{
		.name = "totals",
		.event = "totals",
		.priority = LOG_ERR,
		.wanted = agent_totals_wanted,
		.start = agent_totals_start,
		.stop = agent_totals_stop,
	},
	{
		.name = "tracking",
		.event = "tracking",
		.priority = LOG_ERR,
		.without = "the kernel's SAs are not tracked",
		.wanted = agent_tracking_wanted,
		.start = agent_tracking_start,
		.stop = agent_tracking_stop,
	},
	{
		.name = "glass",
		.tick = agent_glass_tick,
	},
	{
		.name = "neighbours",
		.tick = agent_neighbours_tick,
	},
	{
		.name = "pace",
		.tick = agent_pace_tick,
	},
};
const unsigned agent_nparts = sizeof(agent_parts) / sizeof(agent_parts[0]);
_Static_assert(sizeof(agent_parts) / sizeof(agent_parts[0]) <= AGENT_PARTS_MOST, "parts");
