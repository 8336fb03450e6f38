/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * One leader among several, as etcd's own recipe has it (client/v3/concurrency/election.go): each
 * has a key under a lease of its own, and the key that was made first is the leader's. A lease that
 * nobody keeps ends, and its key goes.
 *
 * Time decides nothing of what is written: who was stopped past its lease and goes on believes that
 * it leads. So every write of a leader has bwl_election_fence() in its transaction, which holds as
 * long as its key is the one that was made then.
 */
#ifndef BWL_FLEET_ELECTION_H
#define BWL_FLEET_ELECTION_H

#include "etcd.h"

struct bwl_election {
	char key[BWL_ETCD_KEY_MOST]; /* empty: it does not run */
	int64_t lease, created;
	bool leads; /* at the last look */
};
#define BWL_ELECTION_NAME 80
/* Runs: below prefix, which ends in '/'. name: for people. */
int bwl_election_run(struct bwl_grpc *g, const char *prefix, const char *name, int64_t ttl_s,
		     struct bwl_election *el, struct bwl_err *e);
/*
 * Who leads? ret_leader: the name of that one, or empty. -ENOENT: this one runs no more, because
 * its lease has ended.
 */
int bwl_election_look(struct bwl_grpc *g, const char *prefix, struct bwl_election *el,
		      char ret_leader[static BWL_ELECTION_NAME], struct bwl_err *e);
/* So that the next one need not wait for the lease to end. */
void bwl_election_leave(struct bwl_grpc *g, struct bwl_election *el);
struct bwl_etcd_put bwl_election_fence(const struct bwl_election *el);

#endif
