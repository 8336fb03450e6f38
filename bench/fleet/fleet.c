// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * How soon published policies and revocations reach that many agents: bench/fleet/run starts a
 * store, a controller and real trays for it.
 *
 *	bench-fleet --servers URL,… --ca FILE --cert FILE --key FILE --publisher-cert FILE
 *		--publisher-key FILE --signer FILE --root FILE --enrolment FILE --policy FILE
 *		[--trays PIN-DIR,…] [--agents N] [--rounds N] [--peers N]
 *
 * Agents: agents.h; trays: trays.h. Both take the same documents. Times are from the moment before
 * the document is put into the store.
 */
#include <getopt.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>
#include <bwl/policy.h>
#include "agents.h"
#include "bwl/clock.h"
#include "fleet/store/publish.h"
#include "signed/envelope.h"
#include "signed/root.h"
#include "trays.h"

#define AGENTS_MAX 20000
#define PATIENCE_NS (300 * SYNC_S)
#define LOOK_US 1000
#define CALM_S 3 /* between two documents: meanwhile agents report their statuses */

static struct fleet b = { .nagents = 1000, .npeers = 10000 };
static struct bwl_grpc_tls publisher;
static struct trays *trays;
static const char *signer;
static unsigned rounds = 10;

enum what { CONNECTED, FETCHED, VERIFIED, JUDGED, REVOKED };

static uint64_t when(const struct light *a, enum what w)
{
	return w == CONNECTED  ? a->connected
	       : w == FETCHED  ? a->fetched_ns
	       : w == VERIFIED ? a->verified_ns
	       : w == JUDGED   ? a->judged_ns
			       : a->revoked_ns;
}

static unsigned count(enum what w)
{
	unsigned n = 0;

	for (unsigned i = 0; i < b.nagents; i++)
		n += when(&b.agent[i], w) != 0;
	return n;
}

/* Waits until all agents have got that far, and all trays. look: asks the trays. */
static void wait_for(enum what w, unsigned (*look)(struct trays *t, const char *peer),
		     const char *peer)
{
	uint64_t end_ns = bwl_now_ns() + PATIENCE_NS;
	unsigned ntrays = 0;

	trays_begin(trays);
	while (bwl_now_ns() < end_ns) {
		if (look)
			ntrays = look(trays, peer);
		if (count(w) == b.nagents && (!look || ntrays == trays_count(trays)))
			return;
		usleep(LOOK_US);
	}
}

static int by_number(const void *x, const void *y)
{
	uint64_t p = *(const uint64_t *)x, q = *(const uint64_t *)y;

	return p < q ? -1 : p > q;
}

struct spread {
	unsigned n;
	double median_s, most_s, last_s; /* most: of 99 in 100 */
};

static struct spread spread_of(enum what w, uint64_t start_ns)
{
	uint64_t *ns = bwl_must(calloc(b.nagents, sizeof(*ns)));
	struct spread s = { 0 };

	for (unsigned i = 0; i < b.nagents; i++)
		if (when(&b.agent[i], w) > start_ns)
			ns[s.n++] = when(&b.agent[i], w) - start_ns;
	qsort(ns, s.n, sizeof(*ns), by_number);
	if (s.n) {
		s.median_s = (double)ns[s.n / 2] / 1e9;
		s.most_s = (double)ns[(size_t)s.n * 99 / 100] / 1e9;
		s.last_s = (double)ns[s.n - 1] / 1e9;
	}
	free(ns);
	return s;
}

static unsigned lost(void)
{
	unsigned n = 0;

	for (unsigned i = 0; i < b.nagents; i++)
		n += b.agent[i].lost;
	return n;
}

static void say_trouble(void)
{
	for (unsigned i = 0, told = 0; i < b.nagents && told < 3; i++)
		if (*b.agent[i].why) {
			printf("  %s: %s\n", b.agent[i].tray, b.agent[i].why);
			*b.agent[i].why = '\0';
			told++;
		}
}

static int publish(struct bwl_grpc *g, enum bwl_doc_kind kind, const char *name, const char *text,
		   size_t len)
{
	struct bwl_doc d = { .prefix = PREFIX, .kind = kind, .name = name, .at = text, .len = len };
	struct bwl_err e = { 0 };
	int64_t revision;

	if (!bwl_doc_publish(g, &d, BWL_ETCD_ANY, &revision, &e))
		return 0;
	bwl_err_print(&e, "bench-fleet", false);
	return 1;
}

static void moment(int64_t s, char to[static 32])
{
	const time_t t = s;
	struct tm tm;

	strftime(to, 32, "%Y-%m-%dT%H:%M:%SZ", gmtime_r(&t, &tm));
}

/* Signed by one person, as by `bwlimit-ctl --fleet revoke`. */
static char *revocation(unsigned number, const char *fleet)
{
	BWL_AUTO(bwl_key_free) struct bwl_key *k = NULL;
	struct bwl_envelope v;
	struct bwl_err e = { 0 };
	char name[32], peer[32], from[32], to[32], *text;
	json_t *body;
	size_t len;

	moment(time(NULL), from);
	moment(time(NULL) + 86400, to);
	snprintf(name, sizeof(name), "bench-%u", number);
	snprintf(peer, sizeof(peer), PEER, number);
	body = json_pack("{s:s, s:i, s:I, s:s, s:s, s:[s], s:s}", "name", name, "epoch", 1,
			 "version", (json_int_t)time(NULL), "issued_at", from, "not_after", to,
			 "peers", peer, "reason", "bench");
	if (bwl_key_read(signer, &k, &e) ||
	    bwl_envelope_new(BWL_SIGNED_REVOCATION, fleet, "all", body, &v, &e) ||
	    bwl_envelope_sign(&v, k, &e)) {
		bwl_err_print(&e, "bench-fleet", false);
		exit(1);
	}
	json_decref(body);
	text = bwl_envelope_text(&v, &len);
	bwl_envelope_free(&v);
	return text;
}

static unsigned say_spread(const char *what, enum what w, uint64_t start_ns)
{
	struct spread s = spread_of(w, start_ns);

	printf("  %-40s %5u of %u %9.2f %9.2f %9.2f\n", what, s.n, b.nagents, s.median_s, s.most_s,
	       s.last_s);
	return s.n;
}

static double since_s(uint64_t start_ns)
{
	uint64_t last_ns = trays_last_ns(trays);

	return last_ns > start_ns ? (double)(last_ns - start_ns) / 1e9 : 0;
}

static int policy(struct bwl_grpc *g, const char *file)
{
	BWL_AUTO_FREE char *text = NULL;
	char last[32];
	struct bwl_err e = { 0 };
	uint64_t start_ns;
	unsigned before = lost(), judged, in_force;
	size_t len;

	snprintf(last, sizeof(last), PEER, b.npeers - 1);
	if (bwl_policy_bytes(file, &text, &len, &e)) {
		bwl_err_print(&e, "bench-fleet", false);
		return 1;
	}
	start_ns = bwl_now_ns();
	if (publish(g, BWL_DOC_policy, "base", text, len))
		return 1;
	wait_for(JUDGED, trays_have, last);
	printf("a policy of %u peers, %zu bytes, s %27s median      99 %%      last\n", b.npeers,
	       len, "");
	say_spread("fetched by agents", FETCHED, start_ns);
	say_spread("verified (signatures, versions, times)", VERIFIED, start_ns);
	judged = say_spread("parsed, and compared with what holds", JUDGED, start_ns);
	in_force = trays_have(trays, last);
	printf("  %-40s %5u of %u %32.2f\n", "in force in the maps of trays", in_force,
	       trays_count(trays), since_s(start_ns));
	printf("  CPU of an agent, ms: %.1f to verify, %.1f to parse and compare; servers were lost %u times\n",
	       (double)b.verify_cpu_ns / 1e6 / b.nagents, (double)b.judge_cpu_ns / 1e6 / b.nagents,
	       lost() - before);
	say_trouble();
	fflush(stdout);
	return judged < b.nagents || in_force < trays_count(trays);
}

static int round_of(struct bwl_grpc *g, unsigned number, const char *fleet)
{
	BWL_AUTO_FREE char *text = revocation(number, fleet);
	char name[40], peer[32];
	uint64_t start_ns, put_ns;
	struct spread s;

	snprintf(name, sizeof(name), "bench-%u", number);
	snprintf(peer, sizeof(peer), PEER, number);
	for (unsigned i = 0; i < b.nagents; i++)
		b.agent[i].revoked_ns = 0;
	start_ns = bwl_now_ns();
	if (publish(g, BWL_DOC_revocation, name, text, strlen(text)))
		return 1;
	put_ns = bwl_now_ns();
	wait_for(REVOKED, trays_revoked, peer);
	s = spread_of(REVOKED, start_ns);
	printf("%5u  %6u of %u  %8.0f  %8.0f  %8.0f  %8.0f  %4u of %u  %8.0f\n", number, s.n,
	       b.nagents, (double)(put_ns - start_ns) / 1e6, s.median_s * 1e3, s.most_s * 1e3,
	       s.last_s * 1e3, trays_revoked(trays, peer), trays_count(trays),
	       since_s(start_ns) * 1e3);
	fflush(stdout);
	return s.n < b.nagents || trays_revoked(trays, peer) < trays_count(trays);
}

static char *file_text(const char *file)
{
	struct bwl_err e = { 0 };
	char *text = NULL;
	size_t len;

	if (bwl_policy_bytes(file, &text, &len, &e)) {
		bwl_err_print(&e, "bench-fleet", false);
		exit(1);
	}
	return text;
}

static const struct option options[] = {
	{ "servers", required_argument, NULL, 's' },
	{ "ca", required_argument, NULL, 'c' },
	{ "cert", required_argument, NULL, 'C' },
	{ "key", required_argument, NULL, 'k' },
	{ "publisher-cert", required_argument, NULL, 'P' },
	{ "publisher-key", required_argument, NULL, 'K' },
	{ "signer", required_argument, NULL, 'S' },
	{ "root", required_argument, NULL, 'r' },
	{ "enrolment", required_argument, NULL, 'e' },
	{ "policy", required_argument, NULL, 'p' },
	{ "trays", required_argument, NULL, 't' },
	{ "agents", required_argument, NULL, 'a' },
	{ "rounds", required_argument, NULL, 'n' },
	{ "peers", required_argument, NULL, 'N' },
	{ NULL, 0, NULL, 0 },
};

static const char *read_options(int argc, char **argv)
{
	static char none[] = "";
	const char *policy_file = NULL;
	char *dirs = none;
	struct bwl_err e = { 0 };
	int c;

	while ((c = getopt_long(argc, argv, "", options, NULL)) != -1) {
		switch (c) {
		case 's':
			if (bwl_etcd_servers(optarg, b.servers, &b.nservers, &e))
				return NULL;
			break;
		case 'c':
			b.tls.ca = publisher.ca = optarg;
			break;
		case 'C':
			b.tls.cert = optarg;
			break;
		case 'k':
			b.tls.key = optarg;
			break;
		case 'P':
			publisher.cert = optarg;
			break;
		case 'K':
			publisher.key = optarg;
			break;
		case 'S':
			signer = optarg;
			break;
		case 'r':
			b.root = file_text(optarg);
			break;
		case 'e':
			b.enrolment = file_text(optarg);
			break;
		case 'p':
			policy_file = optarg;
			break;
		case 't':
			dirs = optarg;
			break;
		case 'a':
			b.nagents = (unsigned)atoi(optarg);
			break;
		case 'n':
			rounds = (unsigned)atoi(optarg);
			break;
		case 'N':
			b.npeers = (unsigned)atoi(optarg);
			break;
		default:
			return NULL;
		}
	}
	if (optind != argc || !b.nservers || !b.root || !b.enrolment || !signer || !b.nagents ||
	    b.nagents > AGENTS_MAX || !b.npeers || rounds >= b.npeers)
		return NULL;
	trays = trays_open(dirs);
	return policy_file;
}

int main(int argc, char **argv)
{
	const char *policy_file = read_options(argc, argv);
	BWL_AUTO(bwl_root_free) struct bwl_root *root = NULL;
	struct bwl_grpc *g = NULL;
	struct bwl_err e = { 0 };
	struct rusage use;
	int bad = 0;

	if (!policy_file) {
		fputs("usage: see bench/fleet/fleet.c; bench/fleet/run starts a store for it\n",
		      stderr);
		return 2;
	}
	signal(SIGPIPE, SIG_IGN);
	if (bwl_root_first(b.root, strlen(b.root), &root, &e) ||
	    bwl_grpc_open(b.servers[0], &publisher, &g, &e)) {
		bwl_err_print(&e, "bench-fleet", false);
		return 1;
	}
	fleet_start(&b);
	wait_for(CONNECTED, NULL, NULL);
	printf("%u of %u agents are connected\n", count(CONNECTED), b.nagents);
	sleep(CALM_S);
	getrusage(RUSAGE_SELF, &use);
	printf("%ld KiB resident, %ld KiB an agent, before the policy\n", use.ru_maxrss,
	       use.ru_maxrss / (long)b.nagents);
	fflush(stdout);
	bad = policy(g, policy_file);
	printf("\nrevocations, ms until they are in the maps:\n"
	       "round   agents          put ms    median      99 %%      last     trays      last\n");
	for (unsigned i = 1; i <= rounds; i++) {
		sleep(CALM_S);
		bad |= round_of(g, i, bwl_root_fleet(root));
	}
	getrusage(RUSAGE_SELF, &use);
	printf("\n%ld KiB resident at most, %ld KiB an agent; servers were lost %u times in all\n",
	       use.ru_maxrss, use.ru_maxrss / (long)b.nagents, lost());
	say_trouble();
	fflush(stdout);
	_exit(bad); /* _exit also ends threads that wait for the store */
}
