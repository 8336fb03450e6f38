/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The parts of bwlimitd while maps are attached: parts.c has the list. A part knows nothing of the
 * others; it is started when the maps exist, and stopped before their pins are closed.
 */
#ifndef BWL_AGENT_PARTS_H
#define BWL_AGENT_PARTS_H

#include "agent.h"
#include "bwl/cleanup.h"

struct agent_part {
	const char *name;
	const char *event;   /* the word of its lines in the log */
	int priority;        /* of the message that it cannot be started, */
	const char *without; /* and what that means; NULL: nothing to add */
	/* Called every second: should it run? NULL: always. */
	bool (*wanted)(struct agent *a);
	/* *ret_part: its state, for the other calls. A failed start is retried every second. */
	int (*start)(struct agent *a, void **ret_part, struct bwl_err *e);
	/* Called every second, also at once after the start. */
	void (*tick)(struct agent *a, void *part);
	/*
	 * It answers or closes by these maps: if they are replaced it is stopped before the others,
	 * which may wait for a disk.
	 */
	bool by_maps;
	/* a->pins are still open. */
	void (*stop)(struct agent *a, void *part);
};

/* parts.c: the list */
#define AGENT_PARTS_MAX 32
extern const struct agent_part agent_parts[];
extern const unsigned agent_nparts;

/*
 * parts_run.c, every second, with a->pins open: starts parts that should run, stops those that
 * should not, and ticks.
 */
void agent_parts_run(struct agent *a);
/* In reverse order; if the maps were replaced, parts with by_maps first. */
void agent_parts_stop(struct agent *a, bool replaced);

typedef bool agent_part_wanted(struct agent *a);
typedef int agent_part_start(struct agent *a, void **ret_part, struct bwl_err *e);
typedef void agent_part_call(struct agent *a, void *part);

/* closures.c: records the maps' closures in the journal */
agent_part_wanted agent_closures_wanted;
agent_part_start agent_closures_start;
agent_part_call agent_closures_stop;

/* watch.c: checks that the ports' protection is still there; closes before it reports */
agent_part_start agent_watch_start;
agent_part_call agent_watch_stop;

/* tamper/part.c: signs of tampering with links, neighbours, the chassis, the last gate */
agent_part_start agent_tamper_start;
agent_part_call agent_tamper_stop;

/* tamper/counters.c: detects what left through an uplink, or its port, without being let out */
agent_part_start agent_counters_start;
agent_part_call agent_counters_stop;

/* orders.c: orders from bwlimit-ctl, and the end of the lease */
agent_part_start agent_orders_start;
agent_part_call agent_orders_stop;

/* documents/part.c: signed documents, and until when they hold */
agent_part_start agent_documents_start;
agent_part_call agent_documents_stop;

/* commands.c: commands of members of bwlimit and bwlimit-read */
agent_part_wanted agent_commands_wanted;
agent_part_start agent_commands_start;
agent_part_call agent_commands_stop;

/* events.c: passes the data plane's ring buffer to the log and to subscribers */
agent_part_start agent_events_start;
agent_part_call agent_events_stop;

/* ledger/part.c: writes volumes to disk, and releases to the data plane */
agent_part_start agent_ledger_start;
agent_part_call agent_ledger_tick, agent_ledger_stop;

/* history.c: writes what passed and when to disk */
agent_part_wanted agent_history_wanted;
agent_part_start agent_history_start;
agent_part_call agent_history_stop;

/* flows.c: writes flow records to disk, if the programs record them */
agent_part_wanted agent_flows_wanted;
agent_part_start agent_flows_start;
agent_part_call agent_flows_stop;

/* reconcile.c: compares the desired policy with the one in force */
agent_part_start agent_reconcile_start;
agent_part_call agent_reconcile_tick, agent_reconcile_stop;

/* heartbeat.c */
agent_part_start agent_heartbeat_start;
agent_part_call agent_heartbeat_stop;

/* totals.c: records what each port passed and dropped */
agent_part_wanted agent_totals_wanted;
agent_part_start agent_totals_start;
agent_part_call agent_totals_stop;

/* tracking.c: tracks the kernel's SAs, if the policy has encrypted peers */
agent_part_wanted agent_tracking_wanted;
agent_part_start agent_tracking_start;
agent_part_call agent_tracking_stop;

/* checkpoint.c: the audit log's newest checkpoint, for the status that documents/ sends */
agent_part_wanted agent_checkpoint_wanted;
agent_part_start agent_checkpoint_start;
agent_part_call agent_checkpoint_stop;

/* recent.c: the end of the audit log, for readers */
agent_part_wanted agent_recent_wanted;
agent_part_start agent_recent_start;
agent_part_call agent_recent_stop;

/* neighbours.c: protects next hops in the neighbour table */
agent_part_call agent_neighbours_tick;

/* kept.c: files that were there and are not any more */
agent_part_start agent_kept_start;
agent_part_call agent_kept_stop;

/* glass.c: an alarm while the glass is broken */
agent_part_call agent_glass_tick;

/* awaited.c: names the policy's ports that are absent */
agent_part_start agent_awaited_start;
agent_part_call agent_awaited_tick, agent_awaited_stop;

/* pace.c: checks whether mode shape can pace */
agent_part_call agent_pace_tick;

#endif
