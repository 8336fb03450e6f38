/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * State that the parts of bwlimitd share (parts.h). The main thread runs an sd-event loop: policy,
 * heartbeat. Whatever may wait for a disk or for the kernel has its own thread (thread.h).
 */
#ifndef BWL_AGENT_H
#define BWL_AGENT_H

#include <stdbool.h>
#include <stdint.h>
#include <systemd/sd-event.h>
#include "bwl/pins.h"
#include "bwl/tables.h"
#include "key_order.h"
#include "ledger/anchor.h"
#include "log.h"
#include "source.h"

#define AGENT_PROGRAM "bwlimitd"

struct agent {
	const char *policy, *state_dir, *pin_dir;
	bool once;
	enum anchor_mode tpm;
	uint64_t tpm_every_ns;
	uint64_t history_bytes; /* maximum on disk; 0: none is kept */
	uint64_t flows_bytes;   /* maximum of flow records on disk; 0: none are written */
	uint64_t flows_every_ns;
	uint64_t totals_us; /* between two records; 0: none */
	sd_event *loop;
	bool ends;             /* the process ends, not only these pins */
	struct bwl_pins *pins; /* NULL: nothing is attached */
	struct agent_source *source;
};

/*
 * state_file.c: a small file in the state directory, replaced as a whole; a missing or damaged one
 * reads as -ENOENT.
 */
int agent_state_read(const char *state_dir, const char *name, char *buf, size_t size);
int agent_state_write(const char *state_dir, const char *name, const char *text, struct bwl_err *e);

/* maps_era.c: a unique name for these maps: boot, moment, tag */
#define AGENT_ERA 96
void agent_era(const struct bwl_pins *p, char buf[static AGENT_ERA]);

/*
 * timer.c: a timer of the loop, which sd_event_source_disable_unref() ends; and when it fires again
 */
int agent_timer(struct agent *a, uint64_t us, sd_event_time_handler_t fn, void *arg,
		sd_event_source **ret, struct bwl_err *e);
int agent_again(sd_event_source *s, uint64_t us);

/* reconcile.c: puts the desired policy in force, for --once. 0, or the error (logged) */
int agent_reconcile_once(struct agent *a);

/* heartbeat.c: renews it; returns when the next one is due. */
uint64_t agent_beat(struct agent *a);
/* A new policy's heartbeat may be shorter. */
void agent_beat_now(void);

/*
 * deferred.c: what follows a closure and may hang: the log, and charon. Both return at once; one
 * thread does the work.
 */
void agent_deferred_start(void);
void agent_deferred_stop(void);
void agent_later(int priority, const char *event, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));
/*
 * Only a line, like agent_log_line(), about something that a host may cause: it leaves half of the
 * queue to alarms.
 */
void agent_later_line(int priority, const char *event, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));
/* Destroys this tray's own long-lived IKE keys (ipsec/expel.h); retried until none is left. */
void agent_destroy_keys(enum key_order_why why);
/* The tray was enrolled again: keys not destroyed yet are kept, because they may be new. */
void agent_spare_keys(void);
/* npeers 0: for every peer. */
void agent_end_sas(const struct bwl_pins *p, const uint32_t *peer, unsigned npeers);

/* tamper/respond.c: performs the policy's action for a sign */
struct agent_sign {
	enum bwl_tamper_input input;
	const char *what;
	unsigned port;        /* id of the port where it occurred; 0: none */
	const uint32_t *peer; /* ids of the peers concerned */
	unsigned npeers;      /* 0: none, or unknown */
	enum bwl_action *did; /* may be NULL: the action taken */
};
/*
 * Acts on it, from any thread, and waits for nothing that may hang. quiet: silent if there is
 * nothing left to close. true: it was acted on, and will be reported as far as tamper/line_budget.h
 * allows.
 */
bool agent_tamper(struct bwl_pins *p, const struct agent_sign *s, bool quiet);
void agent_tamper_policy(const struct bwl_policy *pol);
/* Before that everything is only logged. */
bool agent_tamper_is_told(void);
/*
 * When a sign last clamped what was already clamped, in wall-clock seconds; 0: not since this
 * process began. closures.c writes it to the journal.
 */
uint64_t agent_clamped_again_s(void);
/* The same for revocations of peers that were already revoked. */
uint64_t agent_revoked_again_s(void);
/*
 * closures.c: a document's closures are in progress, and go into the journal with the time of its
 * signing: the part must not record them meanwhile with another time.
 */
void agent_closing(bool yes);
#endif
