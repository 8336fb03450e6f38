/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Many agents in one process. Each is the loop of bwlimit-sync with its own connections to the
 * store, on a thread, and judges what it is given as bwlimitd does (docs_judge(): envelope,
 * Ed25519, versions, the whole policy parsed and compared), with a memory of its own. What it does
 * not have is a disk, a policy in force, and programs: of the maps it has bwl_gate_v1, by which a
 * peer is revoked. A policy is judged by as many threads as there are CPUs, in turn, as the machine
 * would.
 */
#ifndef BWL_BENCH_FLEET_AGENTS_H
#define BWL_BENCH_FLEET_AGENTS_H

#include <pthread.h>
#include <stdatomic.h>
#include "documents/docs.h"
#include "loop.h"
#include "store_etcd.h"

#define PREFIX "/bwl/v1"
#define PEER "p%u" /* the peers of the policy */

struct light {
	pthread_t thread;
	char tray[32];
	pthread_mutex_t lock; /* of docs and policy: its own thread's, and a worker's */
	struct docs docs;
	int gate; /* a map */
	atomic_bool connected;
	/* When: 0, not yet. A policy was fetched, verified, judged; a revocation is in the map. */
	atomic_uint_least64_t fetched_ns, verified_ns, judged_ns, revoked_ns;
	unsigned lost; /* servers */
	unsigned refused;
	char why[200];
	/* the policy that waits: to be verified, its bytes; to be judged, what they say */
	struct light *next;
	char *bytes;
	size_t len;
	struct docs_verdict verdict;
	atomic_int at; /* enum given: of LANE_REST; GIVEN_WAIT while it waits */
	enum given closes;
	uint8_t policy[32];
};

struct fleet {
	const char *servers[BWL_ETCD_SERVERS_MOST];
	unsigned nservers, nagents, npeers;
	unsigned nverified; /* agents that have verified the policy */
	struct bwl_grpc_tls tls;
	char *root, *enrolment;
	struct light *agent;
	atomic_uint_least64_t verify_cpu_ns, judge_cpu_ns; /* of all, for policies */
};

void fleet_start(struct fleet *f);

#endif
