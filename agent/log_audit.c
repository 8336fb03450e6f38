/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What the agent says, into the audit log where there is one (audit/README.md). On a thread of its
 * own: a disk that hangs holds up a line, never the loop. What does not fit the queue is counted,
 * and the count is a record.
 */
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <syslog.h>
#include <time.h>
#include "audit/log.h"
#include "log.h"
#include "thread.h"

#define LINES 256
#define EVENTS                                                                                     \
	(LINES / 2) /* of them that events of the data plane may take: what a host causes hides no \
		       alarm */
/* after each line: who waits for the log's lock gets it, however slow the disk is */
#define YIELD_NS 20000000

static struct {
	pthread_mutex_t lock;
	pthread_cond_t news;
	pthread_t thread;
	struct line {
		char event[32], text[1100];
		json_t *data; /* NULL: none */
		enum bwl_audit_urgency urgency;
	} line[LINES];
	unsigned first, n;
	unsigned long long lost;
	bool on, stop;
} q = { .lock = PTHREAD_MUTEX_INITIALIZER, .news = PTHREAD_COND_INITIALIZER };

static void put(enum bwl_audit_urgency u, const char *event, const char *text, json_t *data)
{
	pthread_mutex_lock(&q.lock);
	if (q.on && q.n >= (u == BWL_AUDIT_AFTER ? LINES : EVENTS)) {
		q.lost++;
	} else if (q.on) {
		struct line *l = &q.line[(q.first + q.n++) % LINES];

		snprintf(l->event, sizeof(l->event), "%s", event);
		snprintf(l->text, sizeof(l->text), "%s", text);
		l->data = data;
		l->urgency = u;
		data = NULL;
		pthread_cond_signal(&q.news);
	}
	pthread_mutex_unlock(&q.lock);
	json_decref(data);
}

void agent_record(const char *event, const char *text, json_t *data)
{
	put(BWL_AUDIT_AFTER, event, text, data);
}

void agent_record_event(bool junk, const char *event, const char *text, json_t *data)
{
	put(junk ? BWL_AUDIT_JUNK : BWL_AUDIT_EVENT, event, text, data);
}

/* 0: it is in the log, or there is none. */
static int append(struct bwl_audit_log **log, const struct line *l, struct bwl_err *e)
{
	int r = *log ? 0 : bwl_audit_open(NULL, log, e);

	return r ? r : bwl_audit_append(*log, l->urgency, l->event, l->text, l->data, NULL, e);
}

/* Nothing of its own may come back here as a record: agent_log_line() is for the journal alone. */
static void *run(void *arg)
{
	struct bwl_audit_log *log = NULL;
	bool told = false;

	(void)arg;
	pthread_mutex_lock(&q.lock);
	while (q.n || q.lost || !q.stop) {
		unsigned long long lost = q.lost;
		struct bwl_err e = { 0 };
		struct line l;
		int r;

		if (!q.n && !lost) {
			pthread_cond_wait(&q.news, &q.lock);
			continue;
		}
		if (q.n) {
			l = q.line[q.first];
		} else {
			l.data = NULL;
			l.urgency = BWL_AUDIT_EVENT; /* takes no room that is kept */
			snprintf(l.event, sizeof(l.event), "lost");
			snprintf(l.text, sizeof(l.text),
				 "%llu lines of the agent are not in this log", lost);
		}
		pthread_mutex_unlock(&q.lock);
		r = append(&log, &l, &e);
		if (r && !told)
			agent_log_line(LOG_ERR, "audit", "not in the audit log: %s", e.text);
		told = r;
		if (!q.stop)
			nanosleep(&(struct timespec){ .tv_nsec = YIELD_NS }, NULL);
		pthread_mutex_lock(&q.lock);
		if (r && e.code == EBUSY && q.n && !q.stop)
			continue; /* somebody holds the log (pruning takes seconds): said again */
		json_decref(l.data);
		if (q.n) {
			q.first = (q.first + 1) % LINES;
			q.n--;
			q.lost += r != 0;
		} else if (!r) {
			q.lost -= lost;
		}
		/* not written now: with the next line, not before */
		if (r && !q.n && !q.stop)
			pthread_cond_wait(&q.news, &q.lock);
		else if (r && !q.n)
			break;
	}
	pthread_mutex_unlock(&q.lock);
	bwl_audit_close(log);
	return NULL;
}

void agent_record_start(void)
{
	q.on = !pthread_create(&q.thread, NULL, run, NULL);
	if (!q.on)
		agent_log_line(LOG_ERR, "audit",
			       "cannot start a thread: nothing of the agent is in the audit log");
}

void agent_record_stop(void)
{
	if (!q.on)
		return;
	pthread_mutex_lock(&q.lock);
	q.stop = true;
	pthread_cond_signal(&q.news);
	pthread_mutex_unlock(&q.lock);
	/* a disk that hangs does not keep us from ending */
	if (!agent_join_within(q.thread, 2))
		agent_log_line(LOG_ERR, "audit",
			       "the audit log's disk hangs: the last lines are not in it");
}
