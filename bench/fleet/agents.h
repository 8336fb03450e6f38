/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Many agents in one process. Each is the loop of bwlimit-sync on a thread, with its own
 * connections to the store, and judges documents as bwlimitd does (docs_judge(): envelope, Ed25519,
 * versions, the whole policy parsed and compared), with its own memory of documents. It has no
 * disk, no policy in force and no programs; of the maps it has only bwl_gate_v1, by which a peer is
 * revoked. As many threads as there are CPUs judge policies in turn, as on a real machine.
 */
#ifndef BWL_BENCH_FLEET_AGENTS_H
#define BWL_BENCH_FLEET_AGENTS_H

#include <pthread.h>
#include <stdatomic.h>
#include "documents/docs.h"
#include "loop.h"
#include "store_etcd.h"

#define PREFIX "/bwl/v1"
#define PEER "p%u" /* name of a peer of the policy */

struct light {
	pthread_t thread;
	char tray[32];
	pthread_mutex_t lock; /* of docs and policy: taken by its own thread and by a worker */
	struct docs docs;
	int gate; /* its bwl_gate_v1 */
	atomic_bool connected;
	/* Times; 0: not yet. A policy was fetched, verified, judged; a revocation is in the map. */
	atomic_uint_least64_t fetched_ns, verified_ns, judged_ns, revoked_ns;
	unsigned lost; /* servers lost */
	unsigned refused;
	char why[200];
	/* the policy that waits: its bytes to be verified, then their content to be judged */
	struct light *next;
	char *bytes;
	size_t len;
	struct docs_verdict verdict;
	atomic_int at; /* enum given, of LANE_REST; GIVEN_WAIT while it waits */
	enum given closes;
	uint8_t policy[32];
};

struct fleet {
	const char *servers[BWL_ETCD_SERVERS_MAX];
	unsigned nservers, nagents, npeers;
	unsigned nverified; /* agents that have verified the policy */
	struct bwl_grpc_tls tls;
	char *root, *enrolment;
	struct light *agent;
	atomic_uint_least64_t verify_cpu_ns, judge_cpu_ns; /* of all agents, for policies */
};

void fleet_start(struct fleet *f);

#endif
