/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The leader's work: signed times, leases, rollouts, cosignatures. Every write is one transaction
 * that includes the fence of its election: a leader that has lost writes nothing, however late it
 * learns of it.
 */
#ifndef BWL_CONTROLLER_LEAD_H
#define BWL_CONTROLLER_LEAD_H

#include "fleet/store/election.h"
#include "fleet/store/publish.h"
#include "module.h"
#include "view.h"

#define LEAD_TIME_NS (60 * CTRL_S)
#define LEAD_TIME_FOR_S 86400 /* validity of a signed time */
#define LEAD_ROLLOUT_FOR_S (365LL * 86400)
#define LEAD_LOGS_NS (10 * CTRL_S)
#define LEAD_STEP_NS CTRL_S
#define LEAD_MAX_NS (2 * CTRL_S)    /* of a step: the lease of the election is kept between two */
#define LEAD_AGAIN_NS (10 * CTRL_S) /* retry after a refusal whose reason may go away */

struct lead_rollout;

struct lead {
	struct ctrl *c;
	struct view *v;
	struct bwl_grpc *g;
	struct bwl_election *el;
	struct bwl_key *online, *witness; /* NULL: not configured */
	uint64_t time_ns;                 /* when the next signed time is due */
	uint64_t logs_ns;                 /* when logs with a fault are checked again */
	uint64_t health_ns;               /* when people are told about a rollout again */
	struct lead_rollout **rollout;    /* by tray and name, as policies */
	size_t nrollouts;
	uint64_t root_version; /* version of the root that judged copies of closing documents */
	bool told_clock;
	/*
	 * Number of closing documents without room in the signed time, and their signers, in words.
	 */
	size_t told_left_out;
	char told_whose[512];
	uint64_t until_ns; /* what is not done by then is left for the next step */
};

/* Begins to lead: reads what the previous leader left. */
int lead_begin(struct lead *l, struct bwl_err *e);
/* Stops leading. */
void lead_end(struct lead *l);
/*
 * Does what is due. -EEXIST: the fence did not hold, or somebody changed what was to be changed;
 * other errors: the store.
 */
int lead_step(struct lead *l, uint64_t now_ns, int64_t now_s, struct bwl_err *e);

/* lead_publish.c: a document of the online key, put where its policy lies. */
struct lead_document {
	enum bwl_signed_type type;
	const char *tray;     /* its location; empty: for all */
	const char *key_name; /* its name in the store */
	const char *name;     /* its own name */
	const char *audience;
	uint64_t version; /* higher than the previous one's */
	int64_t now_s, not_after_s;
	json_t *more; /* fields of its type; takes the reference */
};
/* with: done in the same step, at most BWL_DOC_WITH_MAX - 1. */
int lead_publish(struct lead *l, const struct lead_document *d, const struct bwl_etcd_put *with,
		 unsigned nwith, struct bwl_err *e);
/* The key of a state of the controllers' own: PREFIX/controller/WHAT/PLACE/NAME */
int lead_key(const struct lead *l, const char *what, const char *tray, const char *name,
	     char key[static BWL_ETCD_KEY_MAX]);
/* Writes our own values, with the fence. */
int lead_put(struct lead *l, const struct bwl_etcd_put *put, unsigned n, struct bwl_err *e);

/* Has this step used up its time? */
bool lead_is_late(const struct lead *l);

/* lead_lease.c */
int lead_leases(struct lead *l, uint64_t now_ns, int64_t now_s, struct bwl_err *e);
/* lead_rollout.c */
int lead_rollouts_read(struct lead *l, struct bwl_err *e);
void lead_rollouts_forget(struct lead *l);
int lead_rollouts(struct lead *l, uint64_t now_ns, int64_t now_s, struct bwl_err *e);
/* The rollout of a policy, or NULL. */
struct rollout;
const struct rollout *lead_rollout_of(const struct lead *l, const struct view_policy *p);
/* lead_closing.c: closing documents that earlier leaders saw; copies of those seen since */
int lead_closings_read(struct lead *l, struct bwl_err *e);
int lead_closings(struct lead *l, int64_t now_s, struct bwl_err *e);
/* lead_logs.c */
int lead_logs_read(struct lead *l, struct bwl_err *e);
int lead_logs(struct lead *l, uint64_t now_ns, int64_t now_s, struct bwl_err *e);

#endif
