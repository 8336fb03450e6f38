// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The limit of the one peer that a host port sends to, judged by its tokens: what the port's
 * counters say that was charged and passed, and refused for the peer's rate, on the kernel's clock.
 *
 *   bwl-tokens PIN_DIR PORT BITS-PER-SECOND BURST LARGEST refusing SECONDS
 *   bwl-tokens PIN_DIR PORT BITS-PER-SECOND BURST LARGEST using SECONDS PER-CENT [port]
 *
 * For PORT also peer:NAME: by that peer's own counters, for one of many peers. They do not say why
 * it refused: only its rate may. They count what arrives from it, too: so not for TCP, which
 * answers.
 *
 * LARGEST: what one packet is charged at most, in bytes. Prints "# ready", later one line: "excess
 * BYTES passed BYTES allowed BYTES ns NS". No number in it depends on how fast the machine is, or
 * on when anybody had his turn:
 *
 * excess: the most by which what passed between any two looks exceeds rate x time between them. A
 * look has a time before and one after it, and the longer way counts; so it is above BURST only if
 * the limit is broken.
 *
 * refusing: a limit that refuses has no tokens for that packet. Between two refusals all that came
 * in passes, unless the bucket was full between; it cannot be if they are nearer to each other than
 * the time in which it fills. allowed is what came in from the first refusal to the last of such a
 * chain, less what those CPUs may still hold that have passed or refused something; passed is what
 * passed. It ends when a chain has lasted SECONDS. While the sender is kept from sending there is
 * none, and it goes on.
 *
 * using: it ends when in SECONDS or more, anywhere, PER-CENT of what came in has passed: for a
 * sender that slows down by itself. They begin with a refusal, when the bucket is empty: what it
 * may still hold then, less than a packet and what CPUs hold, does not count as passed. With the
 * word port the limit is the port's own, and its refusals are those that count.
 *
 * It gives up after two minutes, and with SIGTERM, with exit code 1.
 */
#include <errno.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include "bwl/tables.h"
#include "maps/reason.h"

#define SECOND 1000000000ULL
#define LOOK_NS 2000000 /* between looks */
#define PATIENCE_NS (120 * SECOND)
#define SHARE 16     /* each CPU may hold this part of a burst while another refuses */
#define LOOKS 100000 /* 200 s */

static volatile sig_atomic_t stopped;

struct look {
	uint64_t before, after; /* ns */
	uint64_t passed, refused;
};

struct judge {
	double rate; /* bytes in a ns */
	uint64_t burst, largest, last_ns;
	double share; /* 0: refusing */
	uint32_t row; /* of the port's counters */
	uint32_t refusal;
	uint32_t peer;   /* 0: by the port's counters */
	int possible;    /* CPUs */
	uint64_t *first; /* frames of each CPU and reason at the first look */
	bool *ran;       /* each CPU: it has passed or refused something since */
	struct bwl_pins *pins;
	struct bwl_reason_count *count; /* a CPU each */
	struct bwl_peer_count *of_peer; /* likewise */
	struct look *at;
	/* from: the first look that has refused, of the chain or of SECONDS; 0: none */
	size_t n, from;
	size_t last;  /* refusing: look that has refused; 0: none. using: the next to begin with */
	double least; /* the smallest passed - rate x time so far */
	double excess;
};

static void on_signal(int sig)
{
	(void)sig;
	stopped = 1;
}

static uint64_t mono_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * SECOND + (uint64_t)t.tv_nsec;
}

static int read_counts(struct judge *j, int which, uint32_t reason, struct bwl_reason_count *ret)
{
	uint64_t *first = j->first + (size_t)which * (size_t)j->possible;
	int r = bwl_reason_at(j->pins, j->row + reason, j->count, ret), c;

	for (c = 0; c < j->possible; c++) {
		if (!j->n)
			first[c] = j->count[c].frames;
		j->ran[c] |= j->count[c].frames != first[c];
	}
	return r;
}

static int read_peer(struct judge *j, struct look *l)
{
	int c;

	if (bpf_map_lookup_elem(j->pins->fd[BWL_PIN_peercnt], &j->peer, j->of_peer))
		return -errno;
	l->passed = l->refused = 0;
	for (c = 0; c < j->possible; c++) {
		const struct bwl_peer_count *n = &j->of_peer[c];

		if (!j->n)
			j->first[c] = n->frames + n->drop_frames;
		j->ran[c] |= n->frames + n->drop_frames != j->first[c];
		l->passed += n->bytes;
		l->refused += n->drop_frames;
	}
	return 0;
}

static int read_port(struct judge *j, struct look *l)
{
	struct bwl_reason_count passed, refused;
	/* What is refused later than it is seen here only shortens a chain. */
	int r = read_counts(j, 0, BWL_R_PASS, &passed);

	r = r ? r : read_counts(j, 1, j->refusal, &refused);
	if (r)
		return r;
	l->passed = passed.charged;
	l->refused = refused.frames;
	return 0;
}

/* What CPUs may hold of the bucket that another finds empty. */
static double held(const struct judge *j)
{
	int c, n = 0;

	for (c = 0; c < j->possible; c++)
		n += j->ran[c];
	return (double)j->burst / SHARE * n;
}

static int look(struct judge *j)
{
	struct look *l = &j->at[j->n];
	int r;

	l->before = mono_ns();
	r = j->peer ? read_peer(j, l) : read_port(j, l);
	l->after = mono_ns();
	if (r) {
		fprintf(stderr, "bwl-tokens: %s\n", strerror(-r));
		return -1;
	}
	j->n++;
	return 0;
}

static double came_in(const struct judge *j, uint64_t from, uint64_t to)
{
	return to > from ? (double)(to - from) * j->rate : 0;
}

/* In every window that ends here. */
static void follow_excess(struct judge *j)
{
	const struct look *first = j->at, *l = &j->at[j->n - 1];
	double passed = (double)(l->passed - first->passed);
	double over = passed - came_in(j, first->before, l->after) - j->least;
	double here = passed - came_in(j, first->before, l->before);

	if (j->n > 1 && over > j->excess)
		j->excess = over;
	if (j->n == 1 || here < j->least)
		j->least = here;
}

static bool done(const struct judge *j, double passed, double allowed, uint64_t ns)
{
	printf("excess %.0f passed %.0f allowed %.0f ns %llu\n", j->excess, passed, allowed,
	       (unsigned long long)ns);
	return true;
}

/*
 * A look has refused since the one before: somewhere between before of that one and after of this
 * one there were no tokens for the packet.
 */
static bool refusing(struct judge *j)
{
	size_t i = j->n - 1, last = j->last;
	const struct look *l = &j->at[i];
	double allowed;
	uint64_t ns;

	if (i < 1 || l->refused == l[-1].refused)
		return false;
	j->last = i;
	if (!last ||
	    came_in(j, j->at[last - 1].before, l->after) + (double)j->largest > (double)j->burst)
		j->from = i;
	if (l[-1].before <= j->at[j->from].after)
		return false;
	ns = l[-1].before - j->at[j->from].after;
	allowed = came_in(j, 0, ns) - held(j);
	return ns >= j->last_ns &&
	       done(j, (double)(l->passed - j->at[j->from - 1].passed), allowed, ns);
}

/*
 * A window begins at from, where something was refused between before of the look before it and
 * after of itself; what passed after the next look passed after that.
 */
static bool using(struct judge *j)
{
	const struct look *l = &j->at[j->n - 1], *f;
	double passed, allowed;
	size_t i;

	for (i = j->last ? j->last : 1; i + 1 < j->n; i++) {
		if (l->before < j->at[i + 1].after + j->last_ns)
			break;
		if (j->at[i].refused != j->at[i - 1].refused)
			j->from = i;
	}
	j->last = i;
	if (!j->from)
		return false;
	f = &j->at[j->from];
	passed = (double)(l->passed - f[1].passed) - (double)j->largest - held(j);
	allowed = came_in(j, f[-1].before, l->after);
	return passed >= j->share * allowed && done(j, passed, allowed, l->after - f[-1].before);
}

static int judge(struct judge *j)
{
	const struct timespec pause = { .tv_nsec = LOOK_NS };
	uint64_t end = mono_ns() + PATIENCE_NS;

	while (j->n < LOOKS) {
		if (look(j))
			return 1;
		if (j->n == 1) {
			printf("# ready\n");
			fflush(stdout);
		}
		follow_excess(j);
		if (j->share > 0 ? using(j) : refusing(j))
			return 0;
		if (stopped || mono_ns() > end)
			break;
		nanosleep(&pause, NULL);
	}
	done(j, 0, 0, 0);
	return 1;
}

int main(int argc, char **argv)
{
	struct sigaction act = { .sa_handler = on_signal };
	struct judge j = { 0 };
	struct bwl_err e = { 0 };
	uint32_t port = 0;
	bool own = argc == 10 && !strcmp(argv[9], "port");
	bool use = (argc == 9 || own) && !strcmp(argv[6], "using");

	if (!use && (argc != 8 || strcmp(argv[6], "refusing"))) {
		fputs("usage: bwl-tokens PIN_DIR PORT|peer:NAME BITS-PER-SECOND BURST LARGEST refusing SECONDS | using SECONDS PER-CENT [port]\n",
		      stderr);
		return 2;
	}
	sigaction(SIGTERM, &act, NULL);
	if (bwl_pins_open(argv[1], false, &j.pins, &e)) {
		fprintf(stderr, "bwl-tokens: %s\n", e.text);
		return 1;
	}
	if (!strncmp(argv[2], "peer:", 5)) {
		j.peer = bwl_name_id(j.pins, argv[2] + 5);
		if (!j.peer) {
			fprintf(stderr, "bwl-tokens: there is no peer '%s'\n", argv[2] + 5);
			return 1;
		}
	}
	while (!j.peer && port < BWL_MAX_PORTS && strcmp(j.pins->dev[port].name, argv[2]))
		port++;
	j.row = port * BWL_REASON_COLUMNS;
	j.rate = atof(argv[3]) / 8e9;
	j.burst = strtoull(argv[4], NULL, 10);
	j.largest = strtoull(argv[5], NULL, 10);
	j.last_ns = (uint64_t)(atof(argv[7]) * 1e9);
	j.refusal = own ? BWL_R_PORT_RATE : BWL_R_PEER_RATE;
	j.share = use ? atof(argv[8]) / 100 : 0;
	j.possible = libbpf_num_possible_cpus();
	if (port == BWL_MAX_PORTS || j.possible < 1)
		return 1;
	j.count = calloc((size_t)j.possible, sizeof(*j.count));
	j.of_peer = calloc((size_t)j.possible, sizeof(*j.of_peer));
	j.first = calloc((size_t)j.possible * 2, sizeof(*j.first));
	j.ran = calloc((size_t)j.possible, sizeof(*j.ran));
	j.at = calloc(LOOKS, sizeof(*j.at));
	return !j.count || !j.of_peer || !j.first || !j.ran || !j.at || judge(&j);
}
