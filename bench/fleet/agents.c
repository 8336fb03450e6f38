// SPDX-License-Identifier: GPL-2.0-or-later
/* See agents.h. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <time.h>
#include <unistd.h>
#include <bpf/bpf.h>
#include <bwl/encode.h>
#include "agents.h"
#include "bwl/clock.h"
#include "documents/store.h"
#include "maps/policy.h"
#include "signed/envelope.h"
#include "signed/payload.h"

#define STACK (512U << 10)

static struct fleet *fleet;
enum { TO_VERIFY, TO_JUDGE, STEPS };
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t more = PTHREAD_COND_INITIALIZER;
static struct {
	struct light *first, **last;
} queue[STEPS] = { { NULL, &queue[0].first }, { NULL, &queue[1].first } };

static void die(const char *what, const struct bwl_err *e)
{
	fprintf(stderr, "bench-fleet: %s: %s\n", what, e->text);
	_exit(1);
}

static uint64_t cpu_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

/* By the map; reads it back. */
static bool close_in_map(struct light *a, const struct bwl_signed *d)
{
	const json_t *peers = json_object_get(d->body, "peers"), *one;
	struct bwl_peer_ref ref = { .revoked = 1 }, is = { 0 };
	uint32_t id;
	size_t i;

	json_array_foreach(peers, i, one)
	{
		if (sscanf(json_string_value(one), PEER, &id) != 1 || id >= fleet->npeers ||
		    bpf_map_update_elem(a->gate, &id, &ref, 0) ||
		    bpf_map_lookup_elem(a->gate, &id, &is) || !is.revoked)
			return false;
	}
	return true;
}

static enum given judge(struct light *a, const char *bytes, size_t len)
{
	struct docs_clock c = docs_clock_now();
	struct docs_verdict v;
	struct bwl_err e = { 0 };
	int r;

	pthread_mutex_lock(&a->lock);
	r = docs_judge(&a->docs, bytes, len, &c, &v, &e);
	if (r) {
		pthread_mutex_unlock(&a->lock);
		a->refused++;
		snprintf(a->why, sizeof(a->why), "%.199s", e.text);
		return GIVEN_REFUSED;
	}
	if (!v.known && v.d.type == BWL_SIGNED_REVOCATION && !close_in_map(a, &v.d)) {
		r = -EIO;
	} else if (!v.known && !v.root) {
		r = bwl_memory_accept(a->docs.m, &v.d, &e);
		if (v.d.type == BWL_SIGNED_REVOCATION)
			a->revoked_ns = bwl_now_ns();
	}
	pthread_mutex_unlock(&a->lock);
	docs_verdict_free(&v);
	return r ? GIVEN_REFUSED : GIVEN_TAKEN;
}

static void put(struct light *a, unsigned step)
{
	pthread_mutex_lock(&lock);
	a->next = NULL;
	*queue[step].last = a;
	queue[step].last = &a->next;
	fleet->nverified += step == TO_JUDGE;
	pthread_cond_broadcast(&more);
	pthread_mutex_unlock(&lock);
}

/*
 * A tray has its own CPUs; here they are shared. So parsing, which is not timed, waits until the
 * last agent has verified.
 */
static struct light *get(unsigned *ret_step)
{
	struct light *a = NULL;

	pthread_mutex_lock(&lock);
	while (!queue[TO_VERIFY].first &&
	       !(queue[TO_JUDGE].first && fleet->nverified == fleet->nagents))
		pthread_cond_wait(&more, &lock);
	*ret_step = queue[TO_VERIFY].first ? TO_VERIFY : TO_JUDGE;
	a = queue[*ret_step].first;
	queue[*ret_step].first = a->next;
	if (!a->next)
		queue[*ret_step].last = &queue[*ret_step].first;
	pthread_mutex_unlock(&lock);
	return a;
}

/* docs_judge() in two halves. */
static int verify_policy(struct light *a, struct bwl_err *e)
{
	const struct bwl_memory *m = a->docs.m;
	struct bwl_envelope v;
	int r = bwl_envelope_parse(a->bytes, a->len, &v, e);

	if (r)
		return r;
	a->verdict = (struct docs_verdict){ 0 };
	r = bwl_signed_open_envelope(&v, bwl_memory_root(m), bwl_memory_tray(m), time(NULL),
				     &a->verdict.d, e);
	if (!r)
		r = bwl_memory_judge(m, &a->verdict.d, e);
	bwl_envelope_free(&v);
	free(a->bytes);
	return r;
}

static int judge_policy(struct light *a, struct bwl_err *e)
{
	struct docs_clock c = docs_clock_now();
	int r = docs_judge_more(&a->docs, &a->verdict, &c, e);

	if (!r)
		r = bwl_memory_accept(a->docs.m, &a->verdict.d, e);
	memcpy(a->policy, a->verdict.d.digest, sizeof(a->policy));
	docs_verdict_free(&a->verdict);
	return r;
}

static void *work(void *arg)
{
	uint64_t before_ns;
	unsigned step;

	(void)arg;
	for (;;) {
		struct light *a = get(&step);
		struct bwl_err e = { 0 };

		pthread_mutex_lock(&a->lock);
		before_ns = cpu_ns();
		if (step == TO_VERIFY ? verify_policy(a, &e) : judge_policy(a, &e)) {
			snprintf(a->why, sizeof(a->why), "%.199s", e.text);
			a->at = GIVEN_REFUSED;
		} else if (step == TO_VERIFY) {
			a->verified_ns = bwl_now_ns();
			fleet->verify_cpu_ns += cpu_ns() - before_ns;
			put(a, TO_JUDGE);
		} else {
			a->judged_ns = bwl_now_ns();
			fleet->judge_cpu_ns += cpu_ns() - before_ns;
			a->at = GIVEN_TAKEN;
		}
		pthread_mutex_unlock(&a->lock);
	}
	return NULL;
}

static long who(void *arg)
{
	(void)arg;
	return 1;
}

static int give(void *arg, enum doc_lane lane, const struct bwl_doc_at *at, const void *bytes,
		size_t len, struct bwl_err *e)
{
	struct light *a = arg;

	(void)e;
	if (lane == LANE_CLOSES) {
		a->closes = judge(a, bytes, len);
		return 0;
	}
	if (at->kind != BWL_DOC_policy) {
		a->at = judge(a, bytes, len);
		return 0;
	}
	a->fetched_ns = bwl_now_ns();
	a->bytes = memcpy(bwl_must(malloc(len)), bytes, len);
	a->len = len;
	a->at = GIVEN_WAIT;
	put(a, TO_VERIFY);
	return 0;
}

static enum given look(void *arg, enum doc_lane lane, struct bwl_err *why)
{
	struct light *a = arg;

	(void)why;
	return lane == LANE_CLOSES ? a->closes : (enum given)a->at;
}

/* A tray's status, as a controller reads it (docs/fleet.md). */
static ssize_t status(void *arg, uint64_t cosigned, void *to, size_t most)
{
	static const uint8_t none[32];
	struct light *a = arg;
	char policy[200] = "null", hex[65];
	int n;

	(void)cosigned;
	pthread_mutex_lock(&a->lock);
	if (memcmp(a->policy, none, sizeof(none)))
		snprintf(
			policy, sizeof(policy),
			"{\"name\": \"base\", \"version\": 1, \"sha256\": \"%s\", \"since\": \"2026-01-01T00:00:00Z\"}",
			bwl_hex_encode(a->policy, 32, hex));
	n = snprintf(
		to, most,
		"{\"tray\": \"%s\", \"epoch\": 1, \"seq\": %llu, \"policy\": %s, \"taken\": {}, \"refused\": {}, \"fresh\": true, \"closed\": [], \"closed_count\": 0, \"alarms\": [], \"health\": {\"passed_packets\": 1, \"dropped_packets\": 0, \"sas_down\": 0, \"lease_s\": 0}}",
		a->tray, (unsigned long long)bwl_memory_seq(a->docs.m), policy);
	pthread_mutex_unlock(&a->lock);
	return n < (int)most ? n : 0;
}

static const struct sync_agent ops = { .who = who, .give = give, .look = look, .status = status };

static uint32_t chance(void)
{
	uint32_t n = 0;

	(void)!getrandom(&n, sizeof(n), 0);
	return n;
}

static void say(void *arg, const struct sync_says *s)
{
	struct light *a = arg;

	if (s->word == SYNC_CONNECTED || s->word == SYNC_LOST)
		a->connected = s->word == SYNC_CONNECTED;
	if (s->word == SYNC_LOST)
		a->lost++;
	if (s->err)
		snprintf(a->why, sizeof(a->why), "%.199s", s->err->text);
}

static void *run(void *arg)
{
	struct light *a = arg;
	struct store_etcd_conf conf = {
		.tls = fleet->tls, .prefix = PREFIX, .tray = a->tray, .accept_holes = true
	};
	struct store_etcd *store = store_etcd_new(&conf);
	struct sync s = { .servers = fleet->servers,
			  .nservers = fleet->nservers,
			  .server = chance() % fleet->nservers,
			  .store = &store_etcd_ops,
			  .store_arg = store,
			  .agent = &ops,
			  .agent_arg = a,
			  .now_ns = bwl_now_ns,
			  .chance = chance,
			  .say = say,
			  .say_arg = a };

	for (;;) {
		uint64_t next_ns = sync_step(&s), now_ns = bwl_now_ns();

		store_etcd_wait(store,
				next_ns > now_ns ? (unsigned)((next_ns - now_ns) / 1000000) : 0,
				NULL, 0);
	}
	return NULL;
}

static void make(struct light *a, unsigned n)
{
	struct bwl_err e = { 0 };

	pthread_mutex_init(&a->lock, NULL);
	snprintf(a->tray, sizeof(a->tray), "light-%04u", n);
	if (bwl_memory_enrol("/nonexistent", fleet->root, strlen(fleet->root), fleet->enrolment,
			     strlen(fleet->enrolment), time(NULL), &a->docs.m, &e))
		die("the enrolment", &e);
	a->gate = bpf_map_create(BPF_MAP_TYPE_ARRAY, "bwl_gate_v1", sizeof(uint32_t),
				 sizeof(struct bwl_peer_ref), fleet->npeers, NULL);
	if (a->gate < 0) {
		bwl_fail(&e, errno, "%s", strerror(errno));
		die("a map", &e);
	}
}

void fleet_start(struct fleet *f)
{
	long cpus = sysconf(_SC_NPROCESSORS_ONLN);
	pthread_attr_t attr;
	pthread_t worker;

	fleet = f;
	f->agent = bwl_must(calloc(f->nagents, sizeof(*f->agent)));
	pthread_attr_init(&attr);
	pthread_attr_setstacksize(&attr, STACK);
	for (long i = 0; i < cpus; i++)
		if (pthread_create(&worker, NULL, work, NULL))
			abort();
	for (unsigned i = 0; i < f->nagents; i++) {
		make(&f->agent[i], i);
		if (pthread_create(&f->agent[i].thread, &attr, run, &f->agent[i]))
			abort();
		usleep(2000); /* the agents of a fleet do not all start in one instant */
	}
}
