// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * How soon a revocation that is published has reached so many agents. bench/fleet/run starts a
 * store for it:
 *
 *	bench-fleet SERVERS CA CERT KEY PUBLISHER-CERT PUBLISHER-KEY [AGENTS [ROUNDS]]
 *
 * An agent is the loop of bwlimit-sync with its connection to the store, on a thread of its own; in
 * bwlimitd's place is a function that notes when it was given the document. All have the name of
 * one tray, and so one certificate: what they ask of the store is the same as of many trays.
 */
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <unistd.h>
#include "bwl/clock.h"
#include "fleet/store/publish.h"
#include "loop.h"
#include "store_etcd.h"

#define PREFIX "/bwl/v1"
#define TRAY "tray-1"
#define AGENTS_MOST 20000
#define STACK (256U << 10)
#define PATIENCE_NS (60 * SYNC_S)

struct agent {
	pthread_t thread;
	atomic_uint_least64_t got_ns; /* when this round's document came; 0: not yet */
	atomic_bool connected;
	bool has; /* a document is with it */
};

static struct {
	const char *servers[SYNC_SERVERS_MOST];
	unsigned nservers, agents, rounds;
	struct bwl_grpc_tls tls, publisher;
	struct agent *agent;
} b;

static long who(void *arg)
{
	(void)arg;
	return 1;
}

static int give(void *arg, enum doc_lane lane, const struct bwl_doc_at *at, const void *bytes,
		size_t len, struct bwl_err *e)
{
	struct agent *a = arg;

	(void)lane;
	(void)bytes;
	(void)len;
	(void)e;
	if (at->kind == BWL_DOC_revocation)
		a->got_ns = bwl_now_ns();
	a->has = true;
	return 0;
}

static enum given look(void *arg, enum doc_lane lane, struct bwl_err *why)
{
	struct agent *a = arg;

	(void)lane;
	(void)why;
	a->has = false;
	return GIVEN_TAKEN;
}

static ssize_t no_status(void *arg, void *to, size_t most)
{
	(void)arg;
	(void)to;
	(void)most;
	return 0;
}

static const struct sync_agent ops = {
	.who = who, .give = give, .look = look, .status = no_status
};

static uint32_t chance(void)
{
	uint32_t n = 0;

	(void)!getrandom(&n, sizeof(n), 0);
	return n;
}

static void say(void *arg, const struct sync_says *s)
{
	struct agent *a = arg;

	if (s->word == SYNC_CONNECTED || s->word == SYNC_LOST)
		a->connected = s->word == SYNC_CONNECTED;
}

static void *run(void *arg)
{
	struct store_etcd_conf conf = {
		.tls = b.tls, .prefix = PREFIX, .tray = TRAY, .accept_holes = true
	};
	struct store_etcd *store = store_etcd_new(&conf);
	struct sync s = { .servers = b.servers,
			  .nservers = b.nservers,
			  .server = chance() % b.nservers,
			  .store = &store_etcd_ops,
			  .store_arg = store,
			  .agent = &ops,
			  .agent_arg = arg,
			  .now_ns = bwl_now_ns,
			  .chance = chance,
			  .say = say,
			  .say_arg = arg };

	for (;;) {
		uint64_t next_ns = sync_step(&s), now_ns = bwl_now_ns();

		store_etcd_wait(store,
				next_ns > now_ns ? (unsigned)((next_ns - now_ns) / 1000000) : 0,
				NULL, 0);
	}
	return NULL;
}

static unsigned count(bool of_round)
{
	unsigned n = 0;

	for (unsigned i = 0; i < b.agents; i++)
		n += of_round ? b.agent[i].got_ns != 0 : b.agent[i].connected;
	return n;
}

static unsigned wait_for_all(bool of_round)
{
	uint64_t end_ns = bwl_now_ns() + PATIENCE_NS;

	while (count(of_round) < b.agents && bwl_now_ns() < end_ns)
		usleep(2000);
	return count(of_round);
}

static int by_number(const void *x, const void *y)
{
	uint64_t p = *(const uint64_t *)x, q = *(const uint64_t *)y;

	return p < q ? -1 : p > q;
}

static int round_of(struct bwl_grpc *g, unsigned number)
{
	char text[700]; /* about an envelope with one signature */
	struct bwl_doc d = { .prefix = PREFIX,
			     .kind = BWL_DOC_revocation,
			     .name = "bench",
			     .at = text,
			     .len = sizeof(text) };
	uint64_t *ns = calloc(b.agents, sizeof(*ns)), start_ns, put_ns;
	struct bwl_err e = { 0 };
	int64_t revision;
	unsigned n;

	memset(text, 'x', sizeof(text));
	snprintf(text, sizeof(text), "%u", number);
	for (unsigned i = 0; i < b.agents; i++)
		b.agent[i].got_ns = 0;
	start_ns = bwl_now_ns();
	if (!ns || bwl_doc_publish(g, &d, BWL_ETCD_ANY, &revision, &e)) {
		bwl_err_print(&e, "bench-fleet", false);
		return 1;
	}
	put_ns = bwl_now_ns();
	n = wait_for_all(true);
	for (unsigned i = 0; i < b.agents; i++)
		ns[i] = b.agent[i].got_ns > start_ns ? b.agent[i].got_ns - start_ns : 0;
	qsort(ns, b.agents, sizeof(*ns), by_number);
	printf("%5u  %6u of %u  %8.1f  %8.1f  %8.1f  %8.1f\n", number, n, b.agents,
	       (double)(put_ns - start_ns) / 1e6, (double)ns[b.agents / 2] / 1e6,
	       (double)ns[(size_t)b.agents * 99 / 100] / 1e6, (double)ns[b.agents - 1] / 1e6);
	fflush(stdout);
	free(ns);
	return n < b.agents;
}

static int start(void)
{
	pthread_attr_t attr;
	int r = 0;

	pthread_attr_init(&attr);
	pthread_attr_setstacksize(&attr, STACK);
	for (unsigned i = 0; i < b.agents && !r; i++) {
		r = pthread_create(&b.agent[i].thread, &attr, run, &b.agent[i]);
		usleep(2000); /* a fleet does not come in one instant */
	}
	return r;
}

int main(int argc, char **argv)
{
	struct bwl_grpc *g = NULL;
	struct bwl_err e = { 0 };
	struct rusage use;
	int bad = 0;
	char *at;

	if (argc < 7) {
		fputs("usage: see bench/fleet/fleet.c; bench/fleet/run starts a store for it\n",
		      stderr);
		return 2;
	}
	for (char *one = strtok_r(argv[1], ",", &at); one && b.nservers < SYNC_SERVERS_MOST;
	     one = strtok_r(NULL, ",", &at))
		b.servers[b.nservers++] = one;
	b.tls = (struct bwl_grpc_tls){ argv[2], argv[3], argv[4] };
	b.publisher = (struct bwl_grpc_tls){ argv[2], argv[5], argv[6] };
	b.agents = argc > 7 ? (unsigned)atoi(argv[7]) : 1000;
	b.rounds = argc > 8 ? (unsigned)atoi(argv[8]) : 10;
	if (!b.agents || b.agents > AGENTS_MOST || !b.nservers)
		return 2;
	signal(SIGPIPE, SIG_IGN);
	b.agent = bwl_must(calloc(b.agents, sizeof(*b.agent)));
	if (start() || bwl_grpc_open(b.servers[0], &b.publisher, &g, &e)) {
		bwl_err_print(&e, "bench-fleet", false);
		return 1;
	}
	printf("%u of %u agents are connected\n", wait_for_all(false), b.agents);
	printf("round   have it      put ms  median ms    99 %% ms   last ms\n");
	for (unsigned i = 1; i <= b.rounds; i++)
		bad |= round_of(g, i);
	getrusage(RUSAGE_SELF, &use);
	printf("%ld KB of memory at most, %ld KB an agent\n", use.ru_maxrss,
	       use.ru_maxrss / (long)b.agents);
	fflush(stdout);
	_exit(bad); /* threads that wait for the store end with it */
}
