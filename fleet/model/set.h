/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What a controller knows of its trays' numbers: a fixed amount per tray, whatever it sends. Filled
 * from the documents that trays serve (take.c), queried by answer.c and metrics.c. No I/O, no
 * clock, no lock.
 *
 * Memory: MODEL_TRAY_BYTES_MAX per tray, an exfil curve of 2.3 KB for each different policy, and
 * common names. 10 000 trays: 80 MB, plus 23 MB if every policy is different.
 */
#ifndef BWL_FLEET_MODEL_SET_H
#define BWL_FLEET_MODEL_SET_H

#include <jansson.h>
#include "bwl/exfil.h"
#include "fleet/status/signer.h"
#include "fleet/status/status.h"
#include "fleet/store/layout.h"
#include "maps/reason.h"
#include "names.h"

#define MODEL_TRAYS_MAX 20000
#define MODEL_PEERS 16   /* per tray: its busiest */
#define MODEL_VOLUMES 32 /* per tray: the most spent */
#define MODEL_LABELS 8
#define MODEL_MINUTES 60
#define MODEL_TRAY_BYTES_MAX 8192

/* Words of docs/schema, the worst last. */
enum model_state {
	MODEL_LIVE,
	MODEL_NO_GRANT,
	MODEL_EXPIRED,
	MODEL_SILENT,
	MODEL_REVOKED,
	MODEL_STATES
};
enum model_ledger {
	MODEL_RELEASED,
	MODEL_LEDGER_NONE,
	MODEL_BEHIND,
	MODEL_AWAITED,
	MODEL_CLOSED,
	MODEL_PAST_UNKNOWN,
	MODEL_LEDGERS
};
enum model_switch {
	MODEL_RUNNING,
	MODEL_UNJUDGED,
	MODEL_UPGRADING,
	MODEL_SWITCH_CLOSED,
	MODEL_STOPPED,
	MODEL_SWITCHES
};
extern const char *const model_states[], *const model_ledgers[], *const model_switches[];

struct model_peer {
	model_name name;
	uint8_t state;
	bool limited, unenforced; /* limited: rate says by how much; unenforced: mode monitor */
	float passed_bps, dropped_bps;
	double rate_bps;
};

struct model_volume {
	model_name key;
	uint8_t ledger;
	bool limited, has_window, unenforced; /* unenforced: its peer is in mode monitor */
	uint64_t used, volume;
	double window_s;
};

#define MODEL_MERGED _BWL_REASON_MAX

struct model_count {
	uint64_t frames, bytes, charged;
};

struct model_minute {
	uint32_t minute; /* since 1970; 0: nothing */
	uint64_t sent, dropped;
};

/* Amounts by time; trays with the same policy share one curve. */
struct model_curve {
	unsigned users;
	double bytes[BWL_EXFIL_POINTS];
};

struct model_tray {
	char name[BWL_DOC_NAME_MAX];
	/* From the store: */
	char at[64]; /* address where it serves its numbers; empty: none */
	bool alive;
	bool there, seen; /* in the current listing: alive, and to be kept */
	int64_t at_mod, status_mod, labels_mod, cosigned_mod;
	model_name label[MODEL_LABELS];
	uint8_t nlabels;
	struct status_signer by; /* key of its status */
	struct status_last last;
	bool has_policy, fresh;
	char policy[BWL_DOC_NAME_MAX];
	uint64_t policy_version;
	uint32_t closed, alarms;
	/* What is closed, and what it lacks or refuses: see fleet/status/status.h. */
	model_name closed_peer[STATUS_CLOSED_MAX], missing[STATUS_MISSING_MAX],
		refused[STATUS_REFUSED_MAX];
	int64_t closed_s[STATUS_CLOSED_MAX], stopped_s, clamped_s;
	uint8_t nclosed, nmissing, nrefused, alarm_bits;
	int64_t cosigned_s; /* when its audit log was cosigned, since 1970; 0: never */
	/* From its numbers: */
	uint32_t names_left; /* new names that it may still add */
	uint64_t heard_ns;   /* when it last answered; 0: never */
	int64_t cert_end_s;  /* end of its certificate, since 1970; 0: unknown */
	char why[96];        /* the error since then; empty: none */
	double passed_bps, dropped_bps;
	uint64_t passed_bytes, dropped_bytes; /* its own counters; a new attach begins at 0 */
	bool counted;
	uint8_t sw, npeers, nvolumes;
	struct model_peer peer[MODEL_PEERS];
	struct model_volume volume[MODEL_VOLUMES];
	/*
	 * By hook: ingress, gate. MODEL_MERGED: what merged packets stood for, beyond the frames
	 * of the reasons.
	 */
	struct model_count reason[2][MODEL_MERGED + 1];
	struct model_minute minute[MODEL_MINUTES];
	struct model_curve *curve; /* NULL: not known */
	double long_run_bps, at_once;
	uint32_t exits, contained, unlimited;
	char binding[96];
	/* For pull.c: */
	uint64_t next_ns;
	unsigned step, rounds, failures;
	bool busy;
};
_Static_assert(sizeof(struct model_tray) <= MODEL_TRAY_BYTES_MAX, "what a tray takes is bounded");

struct model_set {
	struct model_tray **tray; /* by name */
	size_t n;
	struct model_names names;
};

struct model_tray *model_tray(const struct model_set *s, const char *name, size_t len);
/* NULL: there are MODEL_TRAYS_MAX already. */
struct model_tray *model_tray_add(struct model_set *s, const char *name, size_t len);
/* Removes trays that were not seen since all were marked. */
void model_sweep(struct model_set *s);
void model_set_done(struct model_set *s);

/* The selected trays: "tray", "label"; both NULL: all. */
struct model_choice {
	const char *tray, *label;
};
bool model_chosen(const struct model_set *s, const struct model_tray *t,
		  const struct model_choice *c);

/*
 * Stores a document of a tray: -EBADMSG: it is not of that kind, and the tray is unchanged. List
 * items without room are left out.
 */
int model_take_top(struct model_set *s, struct model_tray *t, const json_t *o, int64_t wall_s);
int model_take_usage(struct model_set *s, struct model_tray *t, const json_t *o);
int model_take_reasons(struct model_tray *t, const json_t *o);
int model_take_exfil(struct model_set *s, struct model_tray *t, const json_t *o);
/* Its status from the store. */
void model_take_status(struct model_set *s, struct model_tray *t, const struct status_now *now,
		       const char *at, size_t len);
/* The witness's note on its audit log, from the store. */
void model_take_cosigned(struct model_tray *t, const char *at, size_t len);

#endif
