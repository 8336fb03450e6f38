/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * `check`: each judgement about a DPU is a function that adds findings. The words and exit codes
 * are those of Nagios' plugins.
 */
#ifndef BWL_CTL_CHECK_H
#define BWL_CTL_CHECK_H

#include "ctl.h"

/* By severity. */
enum check_result { CHECK_OK, CHECK_UNKNOWN, CHECK_WARNING, CHECK_CRITICAL, CHECK_RESULTS };
struct check_word {
	const char *word, *head;
	int code; /* of Nagios' plugins */
};
extern const struct check_word check_words[CHECK_RESULTS];

struct check_limits {
	uint64_t volume_warning, volume_critical, limit; /* percent */
	uint64_t limit_ns, ends_ns, verify_ns, history_ns;
};

/* The findings, and reported numbers; < 0: unknown. */
struct check {
	struct ctl *c;
	const struct bwl_view *v;
	struct check_limits at;
	struct bwl_peer_count *count; /* by peer id */
	json_t *checks;
	enum check_result worst;
	unsigned n;
	double volume_percent, heartbeat_s, lease_s, verify_failed;
	unsigned closed, peers;
	bool bare; /* a peer of mode monitor has neither rate nor volume */
	uint64_t passed_bytes, dropped_bytes;
};

/* check_say.c: adds a finding; todo: the next step if it is not ok. */
void check_say(struct check *k, const char *id, enum check_result r, const char *todo,
	       const char *what, ...) __attribute__((format(printf, 5, 6)));

/* check_maps.c: from the maps only. Without a policy in force: the first two. */
void check_switch(struct check *k);
void check_policy(struct check *k);
void check_silence(struct check *k); /* heartbeat, clamp, lease */
void check_peers(struct check *k);   /* closures, grants that end, SAs */
void check_volumes(struct check *k); /* and the ledger */

/* check_around.c: from files, sockets and the clock. */
void check_agent(struct check *k);
void check_verify(struct check *k);
void check_clock(struct check *k);
void check_history(struct check *k); /* and its report of limits that were reached for long */

/* usage.c: "released", or what keeps a volume from being spent, other than being spent. */
const char *ctl_ledger_word(const struct bwl_release *m, const struct bwl_left *left);

#endif
