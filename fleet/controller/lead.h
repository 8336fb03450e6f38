/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What the leader does: signed times, leases, rollouts, cosignatures. Every write is one
 * transaction with the fence of its election in it: who has lost writes nothing, however late it
 * learns of it.
 */
#ifndef BWL_CONTROLLER_LEAD_H
#define BWL_CONTROLLER_LEAD_H

#include "fleet/store/election.h"
#include "fleet/store/publish.h"
#include "module.h"
#include "view.h"

#define LEAD_TIME_NS (60 * CTRL_S)
#define LEAD_TIME_FOR_S 86400 /* a signed time is taken for so long */
#define LEAD_ROLLOUT_FOR_S (365LL * 86400)
#define LEAD_LOGS_NS (10 * CTRL_S)
#define LEAD_STEP_NS CTRL_S
#define LEAD_MOST_NS (2 * CTRL_S)   /* of a step: the lease of the election is kept between two */
#define LEAD_AGAIN_NS (10 * CTRL_S) /* after what was refused for a reason that may go away */

struct lead_rollout;

struct lead {
	struct ctrl *c;
	struct view *v;
	struct bwl_grpc *g;
	struct bwl_election *el;
	struct bwl_key *online, *witness; /* NULL: none was named */
	uint64_t time_ns;                 /* when the next signed time is due */
	uint64_t logs_ns;                 /* when logs that are wrong are looked at again */
	uint64_t health_ns;               /* when people are told of a rollout again */
	struct lead_rollout **rollout;    /* by tray and name, as policies */
	size_t nrollouts;
	uint64_t root_version; /* by which copies of what closes were judged */
	bool told_clock;
	/* So many that closes found no room in the signed time, and of whom, in words. */
	size_t told_left_out;
	char told_whose[512];
	uint64_t until_ns; /* what is not done by then is left for the next step */
};

/* It leads from now on: reads what the last one left. */
int lead_begin(struct lead *l, struct bwl_err *e);
/* It leads no more. */
void lead_end(struct lead *l);
/*
 * What is due. -EEXIST: the fence did not hold, or somebody changed what it was about to; others:
 * the store.
 */
int lead_step(struct lead *l, uint64_t now_ns, int64_t now_s, struct bwl_err *e);

/* lead_publish.c: a document of the online key, put where the policy lies that it is of. */
struct lead_document {
	enum bwl_signed_type type;
	const char *tray;     /* where it lies; empty: for all */
	const char *key_name; /* its name in the store */
	const char *name;     /* its own */
	const char *audience;
	uint64_t version; /* more than of the one before */
	int64_t now_s, not_after_s;
	json_t *more; /* what is of its type alone; the reference is taken */
};
/* with: done in the same step, at most BWL_DOC_WITH_MOST - 1. */
int lead_publish(struct lead *l, const struct lead_document *d, const struct bwl_etcd_put *with,
		 unsigned nwith, struct bwl_err *e);
/* Of a state of the controllers' own: PREFIX/controller/WHAT/PLACE/NAME */
int lead_key(const struct lead *l, const char *what, const char *tray, const char *name,
	     char key[static BWL_ETCD_KEY_MOST]);
/* Values of ours, behind the fence. */
int lead_put(struct lead *l, const struct bwl_etcd_put *put, unsigned n, struct bwl_err *e);

/* Has this step taken its time? */
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
/* lead_closing.c: what the ones before have seen that closes; a copy of what was seen since */
int lead_closings_read(struct lead *l, struct bwl_err *e);
int lead_closings(struct lead *l, int64_t now_s, struct bwl_err *e);
/* lead_logs.c */
int lead_logs_read(struct lead *l, struct bwl_err *e);
int lead_logs(struct lead *l, uint64_t now_ns, int64_t now_s, struct bwl_err *e);

#endif
