// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * What follows a closure and may wait: the log, whose disk or reader may hang, and charon, which
 * may hang too. On a separate thread, so that the next sign is handled meanwhile. Lines that do not
 * fit the queue are counted; SAs that must end are never lost.
 */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <syslog.h>
#include <time.h>
#include "agent.h"
#include "ipsec/expel.h"
#include "ipsec/xfrm.h"
#include "key_order.h"
#include "queue.h"
#include "bwl/plural.h"

#define LINES 64
#define ALARM_TEXT 400
#define CHARON_NS 2000000000ULL

struct ended {
	uint32_t max; /* peers' ids are below it; `all` means all of them */
	bool all;
	uint32_t *id;
	const char **name; /* allocated */
	size_t n;
};

static struct queue_line lines[LINES];
static struct queue q = QUEUE_OF(lines);
static unsigned long long unsaid; /* lost lines without a record; under the queue's lock */
static struct ended ended;        /* under the same lock */
static struct key_order keys;     /* under the same lock; never freed */

/* A flag beside the priority in a line's kind: the line has no record in the audit log. */
#define ALONE 0x100

static void write_line(const struct queue_line *l)
{
	if (l->kind & ALONE)
		agent_log_line(l->kind & ~ALONE, l->event, "%s", l->text);
	else
		agent_log(l->kind, l->event, "%s", l->text);
}

__attribute__((format(printf, 3, 0))) static void put(int kind, const char *event, const char *fmt,
						      va_list ap)
{
	bool alone = kind & ALONE;
	struct queue_line l = { .kind = kind };

	vsnprintf(l.text, ALARM_TEXT, fmt, ap);
	snprintf(l.event, sizeof(l.event), "%s", event);
	if (!queue_put(&q, alone ? LINES / 2 : LINES, kind, l.event, l.text, NULL,
		       alone ? &unsaid : &q.lost))
		write_line(&l);
}

void agent_later(int priority, const char *event, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	put(priority, event, fmt, ap);
	va_end(ap);
}

void agent_later_line(int priority, const char *event, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	put(priority | ALONE, event, fmt, ap);
	va_end(ap);
}

static bool is_ended(uint32_t peer, const void *arg)
{
	const struct ended *x = arg;

	if (!peer || peer >= x->max)
		return false;
	for (size_t i = 0; i < x->n && !x->all; i++)
		if (x->id[i] == peer)
			return true;
	return x->all;
}

static void add(struct ended *x, uint32_t id, const char *name)
{
	uint32_t *ids;
	const char **names;

	if (x->all || is_ended(id, x))
		return;
	ids = realloc(x->id, (x->n + 1) * sizeof(*ids));
	if (ids)
		x->id = ids;
	names = realloc(x->name, (x->n + 1) * sizeof(*names));
	if (names)
		x->name = names;
	if (!ids || !names)
		abort();
	x->id[x->n] = id;
	x->name[x->n] = strndup(name, BWL_NAME_LEN);
	if (!x->name[x->n++])
		abort();
}

void agent_end_sas(const struct bwl_pins *p, const uint32_t *peer, unsigned npeers)
{
	pthread_mutex_lock(&q.lock);
	ended.max = p->schema.max_peers;
	if (!npeers)
		ended.all = true;
	for (unsigned i = 0; i < npeers; i++)
		add(&ended, peer[i], p->name[peer[i]].name);
	pthread_cond_signal(&q.news);
	pthread_mutex_unlock(&q.lock);
}

void agent_destroy_keys(enum key_order_why why)
{
	pthread_mutex_lock(&q.lock);
	key_order_give(&keys, why);
	pthread_cond_signal(&q.news);
	pthread_mutex_unlock(&q.lock);
}

void agent_spare_keys(void)
{
	pthread_mutex_lock(&q.lock);
	key_order_take_back(&keys, KEYS_EXPELLED);
	pthread_mutex_unlock(&q.lock);
}

/* Returns true if some are left. */
static bool destroy_keys(void)
{
	struct bwl_err e = { 0 };
	unsigned files, unloaded;
	char why[256];

	bool left = bwl_ipsec_destroy(NULL, NULL, CHARON_NS, &files, &unloaded, why, &e);

	if (left)
		agent_log_err(LOG_ALERT, "keys", &e);
	agent_log(LOG_ALERT, "keys",
		  "this tray's own IKE keys are %s: %u file%s, %u that charon had%s%s",
		  left ? "not all destroyed; retried in a minute" : "destroyed", files,
		  BWL_S(files), unloaded, *why ? "; charon: " : "", why);
	return left;
}

/* Under the lock. Waits for the next line or order, or until the keys are tried again. */
static void wait_for_news(void)
{
	uint64_t now_ns = bwl_now_ns(), ns;
	struct timespec t;

	if (!keys.why) {
		pthread_cond_wait(&q.news, &q.lock);
		return;
	}
	clock_gettime(CLOCK_MONOTONIC, &t);
	ns = (uint64_t)t.tv_nsec + (keys.again_ns > now_ns ? keys.again_ns - now_ns : 0);
	t.tv_sec += (time_t)(ns / 1000000000);
	t.tv_nsec = (long)(ns % 1000000000);
	pthread_cond_clockwait(&q.news, &q.lock, CLOCK_MONOTONIC, &t);
}

/*
 * First the kernel, which depends on nobody; then charon, which may hang; then the kernel again,
 * for SAs that charon made meanwhile.
 */
static void end_sas(struct ended *x)
{
	struct bwl_xfrm_dropped sas = { 0 };
	struct bwl_ipsec_drop charon = { 0 };
	struct bwl_err e = { 0 };

	bwl_xfrm_drop(is_ended, x, &sas, NULL);
	if (bwl_ipsec_drop_peers(NULL, x->name, x->n, x->all, CHARON_NS, &charon, &e))
		agent_log_err(LOG_WARNING, "tamper", &e);
	if (bwl_xfrm_drop(is_ended, x, &sas, &e))
		agent_log_err(LOG_WARNING, "tamper", &e);
	for (size_t i = 0; i < x->n; i++)
		free((char *)x->name[i]);
	free(x->name);
	free(x->id);
}

static bool take_line(struct queue_line *l)
{
	const struct queue_line *first = queue_first(&q);

	if (first) {
		*l = *first;
		queue_drop_first(&q);
		return true;
	}
	if (!q.lost && !unsaid)
		return false;
	*l = (struct queue_line){ .kind = q.lost ? LOG_ALERT : LOG_NOTICE | ALONE,
				  .event = "lost" };
	snprintf(l->text, sizeof(l->text), "%llu %s are not in this log", q.lost ? q.lost : unsaid,
		 q.lost ? "alarms" : "lines on events");
	*(q.lost ? &q.lost : &unsaid) = 0;
	return true;
}

static void *run(void *arg)
{
	struct ended x;
	struct queue_line l;
	bool left;

	(void)arg;
	pthread_mutex_lock(&q.lock);
	for (;;) {
		if (take_line(&l)) {
			pthread_mutex_unlock(&q.lock);
			write_line(&l);
		} else if (key_order_is_due(&keys, bwl_now_ns())) {
			key_order_begin(&keys);
			pthread_mutex_unlock(&q.lock);
			left = destroy_keys();
			pthread_mutex_lock(&q.lock);
			key_order_end(&keys, left, bwl_now_ns());
			continue;
		} else if (ended.all || ended.n) {
			x = ended;
			ended = (struct ended){ 0 };
			pthread_mutex_unlock(&q.lock);
			end_sas(&x);
		} else if (q.stop) {
			break;
		} else {
			wait_for_news();
			continue;
		}
		pthread_mutex_lock(&q.lock);
	}
	pthread_mutex_unlock(&q.lock);
	return NULL;
}

void agent_deferred_start(void)
{
	if (!queue_start(&q, run))
		agent_log(
			LOG_ERR, "tamper",
			"cannot start a thread: alarms wait for the log, and charon is not told of them");
}

void agent_deferred_stop(void)
{
	queue_stop(&q, 3); /* a log or a charon that hangs does not keep us from ending */
}
