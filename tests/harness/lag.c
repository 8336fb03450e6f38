// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * bwl-lag PINS HOST-NETNS WIRE-NETNS WIRE-DEV NAME|--all ROUNDS FLOW-MS QUIET-MS MBIT DEST…: how
 * long packets still arrive at the wire after a revocation. A child sends UDP from the host to the
 * destinations in turn, paced by fq at its device, whose queue is never empty. Each round: packets
 * flow for FLOW-MS, the revocation is written, after QUIET-MS everything must be quiet for as long
 * again; then the mark is undone and packets flow again. What `bwlimit-ctl revoke` does first is
 * bwl_revoke(); this calls it, so that no program has to start in between. Also marks every peer as
 * having an SA (the tracker's part).
 *
 * Prints JSON: ns from before and from after the write to the last packet, the worst of all rounds;
 * negative if no packet came after the write. Also how many packets came after it, having waited in
 * the uplink's queue: the minimum and maximum of all rounds.
 */
#include <arpa/inet.h>
#include <bpf/bpf.h>
#include <errno.h>
#include <fcntl.h>
#include <net/if.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>
#include <bwl/publish.h>
#include "wire.skel.h"

#define PAYLOAD 958    /* frames of 1000 bytes */
#define TCX_INGRESS 46 /* enum bpf_attach_type from kernel 6.6 */

static int fail(const char *what)
{
	fprintf(stderr, "bwl-lag: %s: %s\n", what, strerror(errno));
	return 1;
}

static long long now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000000000LL + t.tv_nsec;
}

static void wait_ms(long ms)
{
	struct timespec t = { .tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000 };

	nanosleep(&t, NULL);
}

static int enter(const char *netns)
{
	int fd = open(netns, O_RDONLY | O_CLOEXEC);
	int r = fd < 0 || setns(fd, CLONE_NEWNET);

	close(fd);
	return r;
}

static int send_for_ever(const char *netns, double mbit, int n, char **dest)
{
	static char payload[PAYLOAD];
	struct sockaddr_in *to = calloc((size_t)n, sizeof(*to));
	unsigned rate = (unsigned)(mbit * 1e6 / 8);
	int i, fd;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (!to || enter(netns))
		return fail(netns);
	fd = socket(AF_INET, SOCK_DGRAM, 0);
	if (fd < 0 || setsockopt(fd, SOL_SOCKET, SO_MAX_PACING_RATE, &rate, sizeof(rate)))
		return fail("socket");
	for (i = 0; i < n; i++) {
		to[i].sin_family = AF_INET;
		to[i].sin_port = htons(9);
		if (!inet_aton(dest[i], &to[i].sin_addr))
			return fail(dest[i]);
	}
	for (i = 0;; i = (i + 1) % n) /* packets that the queue refuses are not needed */
		if (sendto(fd, payload, sizeof(payload), 0, (void *)&to[i], sizeof(*to)) < 0 &&
		    errno != ENOBUFS)
			return fail("sendto");
}

static void all_have_sas(struct bwl_pins *p)
{
	unsigned i;

	for (i = 1; i < p->schema.max_peers; i++)
		if (p->name[i].name[0])
			p->tunnel[i].flags = BWL_TUN_SA;
}

static void take_back(struct bwl_pins *p)
{
	unsigned i;

	p->ctl->revoked_all = 0;
	for (i = 1; i < p->schema.max_peers; i++)
		p->gate[i].revoked = 0;
}

static int rounds(struct bwl_pins *p, const char *name, int n, long flow_ms, long quiet_ms,
		  struct wire *w)
{
	long long before, after, lag, worst_before = -__LONG_LONG_MAX__, worst_after = worst_before;
	unsigned long long were, fewest = ~0ULL, waited, least_waited = ~0ULL, most_waited = 0;
	struct bwl_err e = { 0 };
	int i, late = 0;

	for (i = -1; i < n; i++) { /* the first round warms up: caches, neighbours, the burst */
		were = w->bss->wire_esp;
		wait_ms(i < 0 ? 500 : flow_ms);
		if (w->bss->wire_esp - were < fewest)
			fewest = w->bss->wire_esp - were;
		before = now();
		if (bwl_revoke(p, name, &e)) {
			fprintf(stderr, "bwl-lag: %s\n", e.text);
			return 1;
		}
		after = now();
		waited = w->bss->wire_esp;
		wait_ms(quiet_ms);
		were = w->bss->wire_esp;
		waited = were - waited;
		lag = (long long)w->bss->wire_last_ns;
		wait_ms(quiet_ms);
		late += w->bss->wire_esp != were;
		take_back(p);
		if (i < 0)
			continue;
		least_waited = waited < least_waited ? waited : least_waited;
		most_waited = waited > most_waited ? waited : most_waited;
		worst_before = lag - before > worst_before ? lag - before : worst_before;
		worst_after = lag - after > worst_after ? lag - after : worst_after;
	}
	printf("{\"rounds\": %d, \"worst_ns\": %lld, \"worst_after_ns\": %lld, \"fewest_packets\": %llu, \"waited_least\": %llu, \"waited_most\": %llu, \"late\": %d, \"not_esp\": %llu}\n",
	       n, worst_before, worst_after, fewest, least_waited, most_waited, late,
	       (unsigned long long)w->bss->wire_other);
	return 0;
}

int main(int argc, char **argv)
{
	struct bwl_err e = { 0 };
	struct bwl_pins *p;
	struct wire *w;
	pid_t child;
	int r;

	if (argc < 11) {
		fprintf(stderr,
			"usage: bwl-lag PINS HOST-NETNS WIRE-NETNS WIRE-DEV NAME|--all ROUNDS FLOW-MS QUIET-MS MBIT DEST…\n");
		return 2;
	}
	if (bwl_pins_open(argv[1], true, &p, &e)) {
		fprintf(stderr, "bwl-lag: %s\n", e.text);
		return 1;
	}
	all_have_sas(p);
	w = wire__open_and_load();
	if (!w || enter(argv[3]) ||
	    bpf_link_create(bpf_program__fd(w->progs.wire_end), (int)if_nametoindex(argv[4]),
			    TCX_INGRESS, NULL) < 0)
		return fail(argv[4]);
	child = fork();
	if (!child)
		_exit(send_for_ever(argv[2], atof(argv[9]), argc - 10, argv + 10));
	r = rounds(p, strcmp(argv[5], "--all") ? argv[5] : NULL, atoi(argv[6]), atol(argv[7]),
		   atol(argv[8]), w);
	kill(child, SIGKILL);
	return r;
}
