// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * See checkpoint.h. A reported checkpoint is the one that will be cosigned. So the last reported
 * ones are kept as marks, and a proof from the newest of them is made before it is requested. A
 * proof from an older checkpoint, or from one that another process of ours reported, is made from
 * the files, which may take seconds.
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <syslog.h>
#include <unistd.h>
#include "audit/grown.h"
#include "checkpoint.h"
#include "parts.h"
#include "signed/enrolled.h"
#include "thread.h"

#define EVERY_NS 1000000000ULL
#define REST 20 /* after a proof, wait this many times as long as it took */
#define MARKS 4
#define STOP_S 2
#define TELL_NS (600 * 1000000000ULL)

struct proof {
	bool holds;
	uint64_t from;
	struct bwl_audit_mark to;
	struct bwl_prover p;
	uint64_t due_ns; /* not made again before: the log may be growing all the time */
};

/* Shared by all threads, under the lock. A process has one log, as log_audit.c has it. */
static struct {
	pthread_mutex_t lock;
	bool any;
	struct bwl_audit_mark newest;
	char key[BWL_NOTE_KEY_TEXT];
	uint64_t asked;
	struct bwl_audit_mark told[MARKS]; /* the newest first */
	unsigned ntold;
	struct proof proof[2]; /* from the requested one, and from the last reported one */
} shared = { .lock = PTHREAD_MUTEX_INITIALIZER };

struct checkpoint {
	struct agent_thread thread;
	const char *dir;
	struct stat seen[2]; /* the folder and the newest checkpoint's file, when read */
	struct bwl_audit_mark newest;
	struct bwl_audit_mark base; /* where the requested proof begins; size 0: none */
	struct proof proof[2];
	char told[200]; /* last error, reported once */
	uint64_t told_ns;
	uint64_t files_due_ns; /* no proof from the files before, whatever it begins from */
};

/*
 * The checkpoint that the proof leads to, if there is one. A reported size is never followed by a
 * smaller one: that would look like a truncated log.
 */
static const struct bwl_audit_mark *choose(uint64_t from, struct agent_checkpoint *ret)
{
	const struct bwl_audit_mark *at = &shared.newest;
	uint64_t least = shared.ntold ? shared.told[0].c.size : 0;

	for (unsigned i = 0; i < 2 && from && !ret->proven; i++) {
		const struct proof *x = &shared.proof[i];

		ret->proven = x->holds && x->from == from && x->to.c.size >= least;
		if (!ret->proven)
			continue;
		at = &x->to;
		ret->nproof = x->p.count;
		memcpy(ret->proof, x->p.hash, sizeof(ret->proof));
	}
	return at;
}

bool agent_checkpoint_tell(uint64_t from, struct agent_checkpoint *ret)
{
	const struct bwl_audit_mark *at;
	bool any;

	memset(ret, 0, sizeof(*ret));
	ret->from = from;
	pthread_mutex_lock(&shared.lock);
	any = shared.any;
	shared.asked = from;
	if (any) {
		at = choose(from, ret);
		memcpy(ret->note, at->note, sizeof(ret->note));
		memcpy(ret->key, shared.key, sizeof(ret->key));
		if (!shared.ntold || shared.told[0].c.size != at->c.size) {
			memmove(shared.told + 1, shared.told, (MARKS - 1) * sizeof(*shared.told));
			shared.told[0] = *at;
			shared.ntold += shared.ntold < MARKS;
		}
	}
	pthread_mutex_unlock(&shared.lock);
	return any;
}

/* Not into the audit log, and seldom: whoever can write to the store controls the requests. */
static void trouble(struct checkpoint *v, const struct bwl_err *e)
{
	uint64_t now_ns = bwl_now_ns();

	if (!strcmp(v->told, e->text) || (v->told_ns && now_ns - v->told_ns < TELL_NS))
		return;
	agent_log_line(LOG_WARNING, "audit", "the audit log is not reported to the fleet: %s",
		       e->text);
	snprintf(v->told, sizeof(v->told), "%.199s", e->text);
	v->told_ns = now_ns;
}

static bool is_as_seen(const char *path, struct stat *seen)
{
	struct stat st = { 0 };
	bool same;

	stat(path, &st); /* a missing file has inode 0 */
	same = st.st_ino && st.st_ino == seen->st_ino && st.st_size == seen->st_size &&
	       st.st_mtim.tv_sec == seen->st_mtim.tv_sec &&
	       st.st_mtim.tv_nsec == seen->st_mtim.tv_nsec;
	*seen = st;
	return same;
}

/* The newest checkpoint is read again only if a file came or went, or its own file changed. */
static bool is_same(struct checkpoint *v)
{
	char path[BWL_AUDIT_PATH];
	bool folder = is_as_seen(v->dir, &v->seen[0]);

	return *v->newest.file && !bwl_audit_path(path, v->dir, v->newest.file, NULL) &&
	       is_as_seen(path, &v->seen[1]) && folder;
}

/* The mark at `from`: the previous base, or a reported one. */
static bool find_base(struct checkpoint *v, uint64_t from)
{
	if (v->base.c.size == from)
		return true;
	for (unsigned i = 0; i < shared.ntold; i++)
		if (shared.told[i].c.size == from) {
			v->base = shared.told[i];
			return true;
		}
	return false;
}

/* base NULL: the proof is made from the files. */
static void prove(struct checkpoint *v, struct proof *x, const struct bwl_note_key *k,
		  uint64_t from, const struct bwl_audit_mark *base)
{
	uint64_t now_ns = bwl_now_ns();
	struct bwl_err e = { 0 };
	int r;

	if (x->from == from && (x->to.c.size == v->newest.c.size || now_ns < x->due_ns))
		return;
	if (!base && now_ns < v->files_due_ns)
		return;
	x->from = from;
	x->to = v->newest;
	if (from > v->newest.c.size)
		r = bwl_fail(
			&e, ERANGE,
			"the store asks for a checkpoint past the end of the log: the log was cut, or the store is wrong");
	else
		r = base ? bwl_audit_prove_from(v->dir, base, x->to.c.size, &x->p, &e)
			 : bwl_audit_prove(v->dir, k, from, x->to.c.size, &x->p, &e);
	x->holds = !r;
	if (r)
		trouble(v, &e);
	x->due_ns = bwl_now_ns() + REST * (bwl_now_ns() - now_ns);
	if (!base)
		v->files_due_ns = x->due_ns;
}

static void look(struct checkpoint *v)
{
	struct bwl_audit_mark last;
	struct bwl_note_key k;
	struct bwl_err e = { 0 };
	bool has_base, has_last;
	uint64_t asked;
	int r = bwl_audit_public_key(v->dir, &k, &e);

	if (!r && !is_same(v))
		r = bwl_audit_newest(v->dir, &k, &v->newest, &e);
	if (r) {
		trouble(v, &e);
		return;
	}
	pthread_mutex_lock(&shared.lock);
	asked = shared.asked;
	has_base = asked && find_base(v, asked);
	has_last = shared.ntold;
	last = shared.told[0];
	pthread_mutex_unlock(&shared.lock);
	if (asked)
		prove(v, &v->proof[0], &k, asked, has_base ? &v->base : NULL);
	if (has_last)
		prove(v, &v->proof[1], &k, last.c.size, &last);
	pthread_mutex_lock(&shared.lock);
	shared.any = true;
	shared.newest = v->newest;
	bwl_note_key_format(&k, false, shared.key);
	memcpy(shared.proof, v->proof, sizeof(shared.proof));
	pthread_mutex_unlock(&shared.lock);
}

static void run(void *arg)
{
	struct checkpoint *v = arg;

	do
		look(v);
	while (agent_thread_nap(&v->thread, EVERY_NS));
}

bool agent_checkpoint_wanted(struct agent *a)
{
	const char *dir = bwl_audit_dir(NULL);
	char path[BWL_AUDIT_PATH];

	return dir && bwl_is_enrolled(a->state_dir) &&
	       !bwl_audit_path(path, dir, "key.pub", NULL) && !access(path, F_OK);
}

int agent_checkpoint_start(struct agent *a, void **ret_part, struct bwl_err *e)
{
	BWL_AUTO_FREE struct checkpoint *v = bwl_must(calloc(1, sizeof(*v)));
	int r;

	(void)a;
	v->dir = bwl_audit_dir(NULL);
	r = agent_thread_start(&v->thread, run, v, e);
	if (!r)
		*ret_part = bwl_take_ptr(&v);
	return r;
}

static void leave(void *arg)
{
	(void)arg;
}

void agent_checkpoint_stop(struct agent *a, void *part)
{
	struct checkpoint *v = part;

	(void)a;
	pthread_mutex_lock(&shared.lock);
	shared.any = false;
	pthread_mutex_unlock(&shared.lock);
	/* a hanging disk delays nobody */
	if (agent_thread_stop_within(&v->thread, STOP_S, leave, free))
		free(v);
}
