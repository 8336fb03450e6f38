// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Writes the agent's messages to the audit log, if there is one (audit/README.md). On a separate
 * thread: a hanging disk delays a line, but never the loop. Lines that do not fit the queue are
 * counted, and the count becomes a record.
 */
#include <errno.h>
#include <stdio.h>
#include <syslog.h>
#include <time.h>
#include "audit/log.h"
#include "log.h"
#include "queue.h"

#define LINES 256
/* of LINES, what the data plane's events may use: a host must not be able to crowd out an alarm */
#define EVENTS (LINES / 2)
/* after each line, so that others who wait for the log's lock get it, however slow the disk is */
#define YIELD_NS 20000000

static struct queue_line lines[LINES];
static struct queue q = QUEUE_OF(lines);

static void put(enum bwl_audit_urgency u, const char *event, const char *text, json_t *data)
{
	queue_put(&q, u == BWL_AUDIT_AFTER ? LINES : EVENTS, (int)u, event, text, data, &q.lost);
}

void agent_record(const char *event, const char *text, json_t *data)
{
	put(BWL_AUDIT_AFTER, event, text, data);
}

void agent_record_event(bool junk, const char *event, const char *text, json_t *data)
{
	put(junk ? BWL_AUDIT_JUNK : BWL_AUDIT_EVENT, event, text, data);
}

void agent_record_regular(const char *event, const char *text, json_t *data)
{
	put(BWL_AUDIT_REGULAR, event, text, data);
}

/* 0: it is in the log, or there is no log. */
static int append(struct bwl_audit_log **log, const struct queue_line *l, struct bwl_err *e)
{
	int r = *log ? 0 : bwl_audit_open(NULL, log, e);

	return r ? r
		 : bwl_audit_append(*log, (enum bwl_audit_urgency)l->kind, l->event, l->text,
				    l->data, NULL, e);
}

/*
 * The thread's own messages must not come back here as records: agent_log_line() writes to the
 * journal only.
 */
static void *run(void *arg)
{
	struct bwl_audit_log *log = NULL;
	bool told = false;

	(void)arg;
	pthread_mutex_lock(&q.lock);
	while (q.n || q.lost || !q.stop) {
		unsigned long long lost = q.lost;
		struct bwl_err e = { 0 };
		struct queue_line l;
		bool is_count; /* about lines that did not fit: it is not in the queue */
		int r;

		if (!q.n && !lost) {
			pthread_cond_wait(&q.news, &q.lock);
			continue;
		}
		is_count = !q.n;
		if (!is_count) {
			l = *queue_first(&q);
		} else {
			l.data = NULL;
			l.kind = BWL_AUDIT_EVENT; /* uses none of the reserved room */
			snprintf(l.event, sizeof(l.event), "lost");
			snprintf(l.text, sizeof(l.text),
				 "%llu of bwlimitd's lines are missing from this log", lost);
		}
		pthread_mutex_unlock(&q.lock);
		r = append(&log, &l, &e);
		if (r && !told)
			agent_log_line(LOG_ERR, "audit", "not in the audit log: %s", e.text);
		told = r;
		if (!q.stop)
			nanosleep(&(struct timespec){ .tv_nsec = YIELD_NS }, NULL);
		pthread_mutex_lock(&q.lock);
		if (r && e.code == EBUSY && !is_count && !q.stop)
			continue; /* somebody holds the log (pruning takes seconds): try again */
		json_decref(l.data);
		if (!is_count) {
			queue_drop_first(&q);
			q.lost += r != 0;
		} else if (!r) {
			q.lost -= lost;
		}
		/* if it could not be written now, it is tried again with the next line */
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
	if (!queue_start(&q, run))
		agent_log_line(
			LOG_ERR, "audit",
			"cannot start a thread: none of bwlimitd's lines are in the audit log");
}

void agent_record_stop(void)
{
	/* a disk that hangs does not keep us from ending */
	if (!queue_stop(&q, 2))
		agent_log_line(LOG_ERR, "audit",
			       "the audit log's disk hangs: the last lines are missing from it");
}
