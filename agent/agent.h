/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What the parts of bwlimitd share. The main thread runs an sd-event loop: policy, heartbeat,
 * events. What may wait for a disk or for the kernel has a thread of its own (tracking.c).
 */
#ifndef BWL_AGENT_H
#define BWL_AGENT_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <systemd/sd-event.h>
#include "bwl/pins.h"
#include "bwl/tables.h"
#include "ledger/anchor.h"
#include "log.h"
#include "source.h"

#define AGENT_PROGRAM "bwlimitd"
#define AGENT_STATE_DIR "/var/lib/bwlimit"
#define AGENT_POLICY "/etc/bwlimit/policy.yaml"

struct agent_events;
struct agent_tracking;
struct agent_ledger;
struct agent_history;
struct agent_watch;
struct agent_closures;
struct agent_tamper;

struct agent {
	const char *policy, *state_dir, *pin_dir;
	bool once;
	enum anchor_mode tpm;
	uint64_t tpm_every_ns;
	sd_event *loop;
	struct bwl_pins *pins;		/* NULL: nothing is attached */
	struct agent_source *source;
	struct agent_events *events;
	struct agent_tracking *tracking;
	struct agent_ledger *ledger;
	struct agent_history *history;
	uint64_t history_bytes;		/* on disk at most; 0: none is kept */
	struct agent_watch *watch;
	struct agent_closures *closures;
	struct agent_tamper *tamper;
	struct reconcile *reconcile;
};

/* state_file.c: a small file in the state directory, replaced as a whole; a missing or damaged one reads
 * as -ENOENT.
 */
int agent_memory_read(const char *state_dir, const char *name, char *buf, size_t size);
int agent_memory_write(const char *state_dir, const char *name, const char *text, struct bwl_err *e);
/* Names the maps among all that were ever made: boot, moment, tag. */
void agent_era(const struct bwl_pins *p, char buf[static 96]);

/* closures.c: what is closed in the maps into the journal */
void agent_closures_start(struct agent *a);
void agent_closures_stop(struct agent *a);

/* totals.c: a record of what every port passed and dropped */
void agent_totals(const struct agent *a);

/* reconcile.c */
struct reconcile *reconcile_new(struct agent *a);
void reconcile_free(struct reconcile *r);	/* NULL-safe */
/* Other maps: what was seen of the old ones says nothing of these. */
void reconcile_forget(struct reconcile *r);
/* Every second: volumes that a writer who was killed left spent. */
void reconcile_held(struct reconcile *r);
/* Compares what is desired with what is in force. 0, or what kept it from it (logged). */
int reconcile_run(struct reconcile *r);

/* heartbeat.c: renews the heartbeat; returns when the next one is due. */
uint64_t agent_beat(struct agent *a);

/* events.c: the data plane's ring buffer into the log, by sums.h */
int agent_events_start(struct agent *a);
void agent_events_stop(struct agent *a);	/* NULL-safe */

/* thread.c: waits are by CLOCK_MONOTONIC; false: it hangs, and nobody waits for it */
void agent_cond_init(pthread_cond_t *cond);
bool agent_join_within(pthread_t thread, unsigned seconds);

/* neighbours.c, every second: next hops that cannot be pushed out of the neighbour table */
void agent_keep_neighbours(struct agent *a);

/* tracking.c: the kernel's SAs, where the policy has encrypted peers */
void agent_tracking_update(struct agent *a);
void agent_tracking_stop(struct agent *a);

/* ledger/part.c: volumes to disk, and what is on disk to the data plane; on a thread of its own */
void agent_ledger_start(struct agent *a);
void agent_ledger_stop(struct agent *a);
/* Every second: does the disk answer? */
void agent_ledger_watch(struct agent *a);

/* history.c: what passed and when, to disk; on a thread of its own */
void agent_history_start(struct agent *a);
void agent_history_stop(struct agent *a);

/*
 * deferred.c: what comes after something was closed, and may hang: the log, and charon. Both return at once;
 * one thread does it.
 */
void agent_after_start(void);
void agent_after_stop(void);
void agent_later(int priority, const char *event, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));
/* npeers 0: of every peer. */
void agent_end_sas(const struct bwl_pins *p, const uint32_t *peer, unsigned npeers);

/* watch.c: is what guards the ports still there; closes before it speaks */
void agent_watch_start(struct agent *a);
void agent_watch_stop(struct agent *a);

/* tamper/part.c: signs of hands on the machine: links, neighbours, the chassis, the last gate */
void agent_tamper_start(struct agent *a);
void agent_tamper_stop(struct agent *a);

/* tamper/act.c: what the policy says about a sign */
struct agent_sign {
	enum bwl_tamper_input input;
	const char *what;
	unsigned port;		/* id of the port where it was; 0 where none is told */
	const uint32_t *peer;	/* whose it was, by id */
	unsigned npeers;	/* 0: nobody's, or not known */
	enum bwl_action *did;	/* may be NULL: what was done */
};
/*
 * Acts on it, from any thread, and waits for nothing that may hang. quiet: says nothing where there is
 * nothing left to close. true: it was acted on, and will be said as far as tamper/say.h allows.
 */
bool agent_tamper(struct bwl_pins *p, const struct agent_sign *s, bool quiet);
void agent_tamper_policy(const struct bwl_policy *pol);
/* Before that everything is only logged. */
bool agent_tamper_is_told(void);
#endif
