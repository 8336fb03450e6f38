/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * One leader among several, by etcd's own recipe (client/v3/concurrency/election.go): each
 * candidate has a key under its own lease, and the oldest key is the leader's. A lease that nobody
 * renews ends, and its key is deleted.
 *
 * Time does not protect writes: a leader that was stopped past its lease and continues still
 * believes that it leads. So every write of a leader has bwl_election_fence() in its transaction,
 * which holds only while its original key exists.
 */
#ifndef BWL_FLEET_ELECTION_H
#define BWL_FLEET_ELECTION_H

#include "etcd.h"

struct bwl_election {
	char key[BWL_ETCD_KEY_MAX]; /* empty: not a candidate */
	int64_t lease, created;
	bool leads; /* when last checked */
};
#define BWL_ELECTION_NAME 80
/* Becomes a candidate below prefix, which ends in '/'. name: for people. */
int bwl_election_run(struct bwl_grpc *g, const char *prefix, const char *name, int64_t ttl_s,
		     struct bwl_election *el, struct bwl_err *e);
/*
 * Who leads? ret_leader: the leader's name, or empty. -ENOENT: this one is no longer a candidate,
 * because its lease has ended.
 */
int bwl_election_look(struct bwl_grpc *g, const char *prefix, struct bwl_election *el,
		      char ret_leader[static BWL_ELECTION_NAME], struct bwl_err *e);
/* So that the next leader need not wait for the lease to end. */
void bwl_election_leave(struct bwl_grpc *g, struct bwl_election *el);
struct bwl_etcd_put bwl_election_fence(const struct bwl_election *el);

#endif
