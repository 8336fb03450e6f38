// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Writes the end of the audit log and its newest checkpoint as files in /run/bwlimit, for members
 * of bwlimit-read: what happened here, and a checkpoint to compare with one that was kept. The log
 * itself stays root's. Tools append to it directly, so it is polled, by a separate thread, because
 * the log's disk may hang. A file's age tells when it was last checked.
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <syslog.h>
#include <unistd.h>
#include "audit/grown.h"
#include "audit/recent.h"
#include "bwl/agent.h"
#include "bwl/doc.h"
#include "bwl/for_readers.h"
#include "parts.h"
#include "thread.h"

#define EVERY_NS 1000000000ULL
#define STOP_S 2

struct recent {
	struct agent_thread thread;
	const char *dir;
	char log[sizeof(((struct sockaddr_un *)0)->sun_path)];
	char checkpoint[sizeof(((struct sockaddr_un *)0)->sun_path)];
	struct bwl_audit_recent *lines;
	bool written;   /* both, by us */
	char told[200]; /* last error, reported once */
};

BWL_AUTO_DEFINE(json_decref, json_t *)

static int put(const char *path, const json_t *o, struct bwl_err *e)
{
	BWL_AUTO_FREE char *text = bwl_must(json_dumps(o, JSON_COMPACT));

	return bwl_for_readers_put(path, text, e);
}

static int put_lines(struct recent *v, struct bwl_err *e)
{
	BWL_AUTO(json_decref) json_t *o = bwl_doc("log-lines");

	json_object_set_new(o, "lines", bwl_audit_recent_lines(v->lines));
	return put(v->log, o, e);
}

/* As `audit checkpoint --json` prints it. */
static int put_checkpoint(struct recent *v, struct bwl_err *e)
{
	BWL_AUTO(json_decref) json_t *o = NULL;
	struct bwl_audit_mark newest;
	struct bwl_note_key k;
	int r = bwl_audit_public_key(v->dir, &k, e);

	if (!r)
		r = bwl_audit_newest(v->dir, &k, &newest, e);
	if (r)
		return r;
	o = bwl_doc("audit-checkpoint");
	json_object_set_new(o, "checkpoint", json_string(newest.note));
	json_object_set_new(o, "proof", json_array());
	json_object_set_new(o, "record_count", bwl_json_u64(newest.c.size));
	return put(v->checkpoint, o, e);
}

/* No new records: the files are up to date. */
static int touch(const struct recent *v, struct bwl_err *e)
{
	if (utimensat(AT_FDCWD, v->log, NULL, AT_SYMLINK_NOFOLLOW) ||
	    utimensat(AT_FDCWD, v->checkpoint, NULL, AT_SYMLINK_NOFOLLOW))
		return bwl_fail(e, errno, "cannot mark %s as current: %s", v->log, strerror(errno));
	return 0;
}

static void look(struct recent *v)
{
	struct bwl_err e = { 0 };
	int news = bwl_audit_recent_read(v->lines, &e), r = news < 0 ? news : 0;

	if (!r && !news && v->written && !touch(v, &e))
		return;
	if (!r)
		r = put_lines(v, &e);
	if (!r)
		r = put_checkpoint(v, &e);
	v->written = !r;
	/* Not into the audit log: it may be the unreadable one. */
	if (r && strcmp(v->told, e.text))
		agent_log_line(LOG_WARNING, "audit", "readers do not see recent events: %s",
			       e.text);
	snprintf(v->told, sizeof(v->told), "%.199s", r ? e.text : "");
}

static void run(void *arg)
{
	struct recent *v = arg;

	do
		look(v);
	while (agent_thread_nap(&v->thread, EVERY_NS));
}

bool agent_recent_wanted(struct agent *a)
{
	const char *dir = bwl_audit_dir(NULL);
	char path[BWL_AUDIT_PATH];

	(void)a;
	return dir && !bwl_audit_path(path, dir, "key", NULL) && !access(path, F_OK);
}

static void free_recent(void *arg)
{
	struct recent *v = arg;

	bwl_audit_recent_free(v->lines);
	free(v);
}

int agent_recent_start(struct agent *a, void **ret_part, struct bwl_err *e)
{
	struct recent *v = bwl_must(calloc(1, sizeof(*v)));
	struct sockaddr_un log, checkpoint;
	int r = bwl_agent_address(a->pin_dir, BWL_LOGGED, &log, e);

	if (!r)
		r = bwl_agent_address(a->pin_dir, BWL_SIGNED, &checkpoint, e);
	v->dir = bwl_audit_dir(NULL);
	v->lines = bwl_audit_recent_new(v->dir);
	if (!r) {
		strcpy(v->log, log.sun_path);
		strcpy(v->checkpoint, checkpoint.sun_path);
		r = agent_thread_start(&v->thread, run, v, e);
	}
	if (r)
		free_recent(v);
	else
		*ret_part = v;
	return r;
}

static void leave(void *arg)
{
	(void)arg;
}

/* The files stay: they show what happened until now, and get old. */
void agent_recent_stop(struct agent *a, void *part)
{
	struct recent *v = part;

	(void)a;
	/* a hanging disk delays nobody */
	if (agent_thread_stop_within(&v->thread, STOP_S, leave, free_recent))
		free_recent(v);
}
