// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Files that stay once they were there: sockets, the journal, the ledger, the audit log's key.
 * Without this a removed one looked like one that never was: a tool that finds no socket takes
 * bwlimitd for stopped, and what is not there is read again only at the next start. On a separate
 * thread, because a disk may hang.
 *
 * A file counts as removed when two looks in a row do not find it: tools replace some by a rename
 * to another name and a new file.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <syslog.h>
#include <unistd.h>
#include "audit/log.h"
#include "bwl/agent.h"
#include "journal/journal.h"
#include "parts.h"
#include "thread.h"

#define EVERY_NS 1000000000ULL
#define STOP_S 2
#define FILES 9
#define LOOKS 2

#define NO_SOCKET "nobody reaches bwlimitd by it; systemctl restart bwlimitd"
#define NO_JOURNAL "what is closed opens at the next attach only after bwlimit-ctl journal init"

struct kept {
	struct agent_thread thread;
	struct kept_file {
		char path[512];
		const char *without;
		bool seen;
		unsigned missing; /* looks in a row */
	} file[FILES];
	unsigned n;
};

static void add(struct kept *v, const char *dir, const char *name, const char *without)
{
	struct kept_file *f = &v->file[v->n];

	if (!dir || snprintf(f->path, sizeof(f->path), "%s%s%s", dir, *name ? "/" : "", name) >=
			    (int)sizeof(f->path))
		return;
	f->without = without;
	v->n++;
}

static void add_socket(struct kept *v, const char *pin_dir, const char *ending)
{
	struct sockaddr_un at;

	if (!bwl_agent_address(pin_dir, ending, &at, NULL))
		add(v, at.sun_path, "", NO_SOCKET);
}

static void look_at(struct kept_file *f)
{
	if (!access(f->path, F_OK)) {
		if (f->missing >= LOOKS)
			agent_log(LOG_NOTICE, "missing", "%s is there again", f->path);
		f->seen = true;
		f->missing = 0;
	} else if (f->seen && (errno == ENOENT || errno == ENOTDIR) && ++f->missing == LOOKS) {
		agent_log(LOG_ALERT, "missing", "%s was removed by hand: %s", f->path, f->without);
	}
}

static void run(void *arg)
{
	struct kept *v = arg;

	do
		for (unsigned i = 0; i < v->n; i++)
			look_at(&v->file[i]);
	while (agent_thread_nap(&v->thread, EVERY_NS));
}

int agent_kept_start(struct agent *a, void **ret_part, struct bwl_err *e)
{
	struct kept *v = calloc(1, sizeof(*v));
	const char *journal = bwl_journal_dir(a->pins->ctl->drill);
	int r;

	if (!v)
		return bwl_fail(e, ENOMEM, "out of memory");
	add_socket(v, a->pin_dir, BWL_AGENT_ORDERS);
	add_socket(v, a->pin_dir, BWL_AGENT_EVENTS);
	add_socket(v, a->pin_dir, BWL_AGENT_COMMANDS);
	add_socket(v, a->pin_dir, BWL_AGENT_DOCUMENTS);
	add(v, journal, "log", NO_JOURNAL);
	add(v, journal, "end", NO_JOURNAL);
	add(v, bwl_audit_dir(NULL), "key", "nothing is recorded any more");
	add(v, a->state_dir, "ledger.db", "after a reboot volumes start spent");
	add(v, a->state_dir, "signed.json", "the next start knows no signed document");
	r = agent_thread_start(&v->thread, run, v, e);
	if (r)
		free(v);
	else
		*ret_part = v;
	return r;
}

static void leave(void *arg)
{
	(void)arg;
}

void agent_kept_stop(struct agent *a, void *part)
{
	struct kept *v = part;

	(void)a;
	/* a hanging disk delays nobody */
	if (agent_thread_stop_within(&v->thread, STOP_S, leave, free))
		free(v);
}
