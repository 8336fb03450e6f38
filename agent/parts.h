/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What bwlimitd is made of while maps are attached: parts.c has the list. A part knows nothing of
 * the others; it is started when the maps are there, and stopped before their pins are closed.
 */
#ifndef BWL_AGENT_PARTS_H
#define BWL_AGENT_PARTS_H

#include "agent.h"
#include "bwl/cleanup.h"

struct agent_part {
	const char *name;
	const char *event;   /* the word of its lines in the log */
	int priority;        /* of a line that says that it cannot be started, */
	const char *without; /* and what that means; NULL: nothing is to be added */
	/* Every second: is it to run? NULL: always. */
	bool (*wanted)(struct agent *a);
	/* *ret_part: its own, for the other calls. One that fails is tried again every second. */
	int (*start)(struct agent *a, void **ret_part, struct bwl_err *e);
	/* Every second, also at once after the start. */
	void (*tick)(struct agent *a, void *part);
	/*
	 * It answers or closes by these maps: where they are replaced it is stopped before the
	 * others, which may wait for a disk.
	 */
	bool by_maps;
	/* a->pins are open still. */
	void (*stop)(struct agent *a, void *part);
};

/* parts.c: the list */
#define AGENT_PARTS_MOST 32
extern const struct agent_part agent_parts[];
extern const unsigned agent_nparts;

/*
 * parts_run.c, every second, with a->pins open: starts what is to run, stops what is not to, and
 * ticks.
 */
void agent_parts_run(struct agent *a);
/* The last one first; where the maps were replaced, those that go by them before. */
void agent_parts_stop(struct agent *a, bool replaced);

typedef bool agent_part_wanted(struct agent *a);
typedef int agent_part_start(struct agent *a, void **ret_part, struct bwl_err *e);
typedef void agent_part_call(struct agent *a, void *part);

/* closures.c: what is closed in the maps into the journal */
agent_part_wanted agent_closures_wanted;
agent_part_start agent_closures_start;
agent_part_call agent_closures_stop;

/* watch.c: is what guards the ports still there; closes before it speaks */
agent_part_start agent_watch_start;
agent_part_call agent_watch_stop;

/* tamper/part.c: signs of hands on the machine: links, neighbours, the chassis, the last gate */
agent_part_start agent_tamper_start;
agent_part_call agent_tamper_stop;

/* tamper/counters.c: what left by an uplink, or its port, and nobody let out */
agent_part_start agent_counters_start;
agent_part_call agent_counters_stop;

/* orders.c: what bwlimit-ctl tells the agent, and the end of the lease */
agent_part_start agent_orders_start;
agent_part_call agent_orders_stop;

/* documents/part.c: signed documents, and until when they hold */
agent_part_start agent_documents_start;
agent_part_call agent_documents_stop;

/* commands.c: commands of members of bwlimit and bwlimit-read */
agent_part_wanted agent_commands_wanted;
agent_part_start agent_commands_start;
agent_part_call agent_commands_stop;

/* events.c: the data plane's ring buffer to the log and to whoever subscribed */
agent_part_start agent_events_start;
agent_part_call agent_events_stop;

/* ledger/part.c: volumes to disk, and what is on disk to the data plane */
agent_part_start agent_ledger_start;
agent_part_call agent_ledger_tick, agent_ledger_stop;

/* history.c: what passed and when, to disk */
agent_part_wanted agent_history_wanted;
agent_part_start agent_history_start;
agent_part_call agent_history_stop;

/* flows.c: what each flow was, to disk, where the programs record it */
agent_part_wanted agent_flows_wanted;
agent_part_start agent_flows_start;
agent_part_call agent_flows_stop;

/* reconcile.c: what is desired against what is in force */
agent_part_start agent_reconcile_start;
agent_part_call agent_reconcile_tick, agent_reconcile_stop;

/* heartbeat.c */
agent_part_start agent_heartbeat_start;
agent_part_call agent_heartbeat_stop;

/* totals.c: a record of what every port passed and dropped */
agent_part_wanted agent_totals_wanted;
agent_part_start agent_totals_start;
agent_part_call agent_totals_stop;

/* tracking.c: the kernel's SAs, where the policy has encrypted peers */
agent_part_wanted agent_tracking_wanted;
agent_part_start agent_tracking_start;
agent_part_call agent_tracking_stop;

/* checkpoint.c: the audit log's newest checkpoint, for the status that documents/ says */
agent_part_wanted agent_checkpoint_wanted;
agent_part_start agent_checkpoint_start;
agent_part_call agent_checkpoint_stop;

/* recent.c: the end of the audit log, for readers */
agent_part_wanted agent_recent_wanted;
agent_part_start agent_recent_start;
agent_part_call agent_recent_stop;

/* neighbours.c: next hops that cannot be pushed out of the neighbour table */
agent_part_call agent_neighbours_tick;

/* glass.c: an alarm while the glass is broken */
agent_part_call agent_glass_tick;

/* pace.c: can mode shape pace? */
agent_part_call agent_pace_tick;

#endif
