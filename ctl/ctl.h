/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Shared by the commands of bwlimit-ctl: the entry of a command table, arguments, and printing. A
 * command returns 0, a negative errno with c->err filled, CTL_USAGE, CTL_SILENT or CTL_EXIT.
 */
#ifndef BWL_CTL_H
#define BWL_CTL_H

#include <jansson.h>
#include "bwl/exfil.h"
#include "bwl/model.h"
#include "bwl/plural.h"
#include "bwl/publish.h"

#define CTL_PROGRAM "bwlimit-ctl"
#define CTL_USAGE 2  /* wrong use: c->err says what is wrong */
#define CTL_EXIT 16  /* plus n: everything is printed, and the exit code is n */
#define CTL_SILENT 3 /* published, but not every tray has confirmed it */

struct ctl {
	const char *pin_dir; /* --pin-dir, or NULL */
	bool json;
	bool fleet; /* --fleet: the command is for many trays */
	struct bwl_err err;
};

struct ctl_cmd {
	const char *noun, *verb; /* verb NULL: the noun alone is the command */
	const char *usage;       /* what follows the words */
	const char *about;
	const char *more; /* options and examples, for --help */
	int (*run)(struct ctl *c, int argc, char **argv);
};

/* One table per file; each ends with a NULL noun. */
extern const struct ctl_cmd ctl_peer_cmds[], ctl_grant_cmds[], ctl_revoke_cmds[], ctl_zone_cmds[],
	ctl_policy_cmds[], ctl_stats_cmds[], ctl_top_cmds[], ctl_watch_cmds[], ctl_explain_cmds[],
	ctl_exfil_cmds[], ctl_heartbeat_cmds[], ctl_drill_cmds[], ctl_ipsec_cmds[],
	ctl_ipsec_track_cmds[], ctl_pki_cmds[], ctl_usage_cmds[], ctl_history_cmds[],
	ctl_flows_cmds[], ctl_tap_cmds[], ctl_audit_cmds[], ctl_audit_prove_cmds[],
	ctl_audit_tiles_cmds[], ctl_audit_ack_cmds[], ctl_tamper_cmds[], ctl_lease_cmds[],
	ctl_journal_cmds[], ctl_metrics_cmds[], ctl_key_cmds[], ctl_approve_cmds[],
	ctl_break_glass_cmds[], ctl_enrol_cmds[], ctl_check_cmds[], ctl_status_cmds[],
	ctl_evidence_cmds[], ctl_latency_cmds[], ctl_drill_live_cmds[];

/* check.c: an error in a Nagios plugin's form; returns the exit code */
int ctl_check_unknown(const struct ctl *c);

/* flows_intervals.c: the verb, whose noun is in flows.c */
int ctl_flows_intervals(struct ctl *c, int argc, char **argv);
/* revoke.c: the command, also called by others */
int ctl_revoke(struct ctl *c, int argc, char **argv);

/*
 * ask.c: a non-blocking connection to the socket with that ending, after sending one line (NULL:
 * none); or -1. doc: a descriptor sent with the line; -1: none.
 */
int ctl_say_to_agent(const struct ctl *c, const char *ending, const json_t *what, int doc,
		     uint64_t end_ns);
/* A sealed document to send with it, read from its start. -1: errno. */
int ctl_sealed(const char *bytes, size_t len);
/* NULL: no answer in that time. */
json_t *ctl_ask_agent(const struct ctl *c, const json_t *what, unsigned wait_s);
/*
 * The same at another of its sockets (bwl/agent.h), with a sealed document; -1: none. NULL with
 * errno ENOENT or ECONNREFUSED: bwlimitd does not run; any other: it may have received the request.
 */
json_t *ctl_ask_at(const struct ctl *c, const char *ending, const json_t *what, int doc,
		   unsigned wait_s);
/*
 * An order with a document, a sealed memfd. false: it was not accepted in that time, and will not
 * be. *ret: the answer, which may take its time; NULL: bwlimitd ended before it.
 */
bool ctl_order_document(const struct ctl *c, const json_t *what, int doc, unsigned wait_s,
			json_t **ret);
/* Converts an answer's error to c->err; 0: none. */
int ctl_answer_err(struct ctl *c, const json_t *answer);

/* args.c: parsing of arguments */
int ctl_usage(struct ctl *c, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* The word of the list (ends with NULL) that s probably means, or NULL. */
const char *ctl_nearest(const char *s, const char *const *words);

struct ctl_opt {
	const char *name; /* "--port"; NULL ends the list */
	bool *flag;       /* an option without a value */
	const char **value;
};
/* Takes the options out of argv; "--" ends them. */
int ctl_opts(struct ctl *c, int *argc, char **argv, const struct ctl_opt *opts);
/* For a command without other arguments. */
int ctl_only_opts(struct ctl *c, int argc, char **argv, const struct ctl_opt *opts);
/* A count of 1 to max; `what` names it in the error. */
int ctl_number(struct ctl *c, const char *what, const char *s, uint64_t max, uint64_t *ret);

enum ctl_word {
	CTL_W_RATE = 1 << 0,
	CTL_W_BURST = 1 << 1,
	CTL_W_VOLUME = 1 << 2,
	CTL_W_MODE = 1 << 3,
	CTL_W_ACCEPT = 1 << 4,
	CTL_W_FOR = 1 << 5,
	CTL_W_REASON = 1 << 6,
	CTL_W_ZONE = 1 << 7,
	CTL_W_VIA = 1 << 8,
	CTL_W_VIA6 = 1 << 9,
	CTL_W_PATH = 1 << 10,
	CTL_W_FROM = 1 << 11,
	CTL_W_UPLINK = 1 << 12,
	CTL_W_IPSEC = 1 << 13,
	CTL_W_CONTAINED = 1 << 14,
	CTL_W_MARK = 1 << 15,
	CTL_W_MORE = 1 << 16, /* accepted: `volume +1gb` */
	CTL_W_LIMIT = CTL_W_RATE | CTL_W_BURST | CTL_W_VOLUME,
};
#define CTL_REASON 256
struct ctl_words {
	unsigned int seen; /* enum ctl_word */
	struct bwl_lim lim;
	bool add_volume, once;     /* `volume +V`, `volume +V once` */
	uint64_t for_ns, burst_ns; /* for_ns 0, and CTL_W_FOR seen: for ever */
	uint8_t mode, mark_pct, path;
	struct bwl_lim accept;
	bool accept_none;
	const char *zone, *from, *uplink, *ipsec;
	uint8_t via4[4], via6[16];
	char reason[CTL_REASON];
};
/* "rate 1gbit burst 64kb …": any of `allowed`, each once. */
int ctl_words(struct ctl *c, int argc, char **argv, unsigned int allowed, struct ctl_words *w);

/*
 * For commands that take names and options, most of which close: cuts `reason TEXT…`, which takes
 * the rest of the line but for options of `opts` (NULL: none), off argv, before options are read.
 * first: from where on it is that word. ret: empty if there is none. Nothing fails for its reason:
 * what is too long is cut, with a warning.
 */
void ctl_reason(const struct ctl_opt *opts, int first, int *argc, char **argv,
		char ret[static CTL_REASON]);
void ctl_fit_reason(const char *text, char ret[static CTL_REASON]); /* the same, of one text */

/* Everything except the expiry and the authorisation. */
void ctl_change_from_words(const struct ctl_words *w, struct bwl_change *ch);
struct bwl_journal_limits ctl_journal_limits(const struct ctl_words *w); /* journal.c */
/* The words back as one line, for the audit log. */
char *ctl_join(int argc, char **argv, char *buf, size_t size);

/* print.c */
/* {"version", "kind", KEY: value}; takes the reference. */
void ctl_print_list(const char *kind, const char *key, json_t *value);
/* bwlimitd's answer, as a document. */
void ctl_print_answer(const char *kind, const json_t *answer);
void ctl_warn_shape(const struct bwl_pins *pins);

/* limits.c: prints for people the peer's limits in force, with a warning if its volume is spent. */
void ctl_say_limits(const struct ctl *c, struct bwl_pins *pins, const char *name);

/* Prints what a new policy changed on stdout; doc: the document that gets `report`. */
void ctl_print_report(struct ctl *c, const struct bwl_publish_report *r, json_t *doc);

/* view.c: the pinned maps with the generation in force */
/* Without a policy in force: -ENOENT. */
int ctl_view_open(struct ctl *c, bool writable, struct bwl_view *v);
/* The body of peer id in this generation, or NULL. */
const struct bwl_peer *ctl_view_peer(const struct bwl_view *v, uint32_t id);
/* Ids in the policy, by name. The caller frees. -ENOENT names the missing one. */
int ctl_view_ids(struct ctl *c, const struct bwl_view *v, int argc, char **argv, uint32_t **ret,
		 size_t *ret_n);
int ctl_view_no_peer(struct ctl *c, const struct bwl_view *v, const char *name);
/*
 * Locks, and reads the policy in force into *pol for an edit. Refused while a --confirm is pending.
 */
int ctl_edit_begin(struct ctl *c, struct bwl_pins **ret_pins, struct bwl_policy **ret_pol);
/* fresh_volume: a volume that the command names is granted, although its past is unknown. */
int ctl_edit_end(struct ctl *c, struct bwl_pins *pins, struct bwl_policy *pol, bool fresh_volume,
		 struct bwl_publish_report *ret);

/* Set by SIGINT and SIGTERM once ctl_catch_signals() has been called. */
extern volatile int ctl_stopped;
void ctl_catch_signals(void);

#endif
