// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Writes whatever is found closed in the maps into the journal (docs/journal.md): closed by a tool
 * that could not write it, by the agent after a sign of tampering, or by the gate. On a separate
 * thread, which may wait for the disk.
 */
#include <errno.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <syslog.h>
#include <unistd.h>
#include "hook/attached.h"
#include "journal/journal.h"
#include "parts.h"
#include "thread.h"

#define SECOND 1000000000ULL
#define REPEAT_NS (600 * SECOND)
#define MINUTE_NS (60 * SECOND)

/* These change with everything that closes, and are cheap to read. */
struct numbers {
	uint32_t seq, all, stop, generation, edits;
	bool clamped;
};

/* The last repeated closure that was written, and its time. */
struct again {
	uint64_t said_s, ns;
};

struct closures {
	struct agent_thread thread;
	struct bwl_pins *pins; /* they outlive the thread */
	bool written;
	struct numbers at; /* everything up to here is in the journal */
	struct again clamp, revoked;
	char told[sizeof(((struct bwl_err *)0)->text)];
	uint64_t told_ns;
};

static struct numbers numbers_of(const struct bwl_pins *p)
{
	const volatile struct bwl_ctl *c = p->ctl;
	struct numbers n;

	memset(&n, 0, sizeof(n));
	n = (struct numbers){ c->seq,        c->revoked_all, c->stop,
			      c->generation, c->edits,       bwl_is_clamped(p) };
	return n;
}

static bool is_same(const struct numbers *a, const struct numbers *b)
{
	return a->seq == b->seq && a->all == b->all && a->stop == b->stop &&
	       a->generation == b->generation && a->edits == b->edits && a->clamped == b->clamped;
}

static void tell(struct closures *v, const struct bwl_err *e)
{
	uint64_t now = bwl_now_ns();

	if (!strcmp(v->told, e->text) && now - v->told_ns < REPEAT_NS)
		return;
	snprintf(v->told, sizeof(v->told), "%s", e->text);
	v->told_ns = now;
	agent_log(LOG_ALERT, "journal",
		  "%s; what is closed in the maps stays closed only until a reboot", e->text);
}

/*
 * A sign that closes what is already closed changes nothing in the maps, and a host may cause many
 * of them: so only the newest per minute is written. due.c asks for those in between. Repeated
 * revocations are not told apart: each counts for all revoked peers.
 */
static void write_again(struct closures *v, struct again *a, enum bwl_journal_kind kind,
			uint64_t said_s, bool now)
{
	uint64_t now_ns = bwl_now_ns();
	struct bwl_err e = { 0 };

	if (said_s == a->said_s || (!now && a->ns && now_ns - a->ns < MINUTE_NS))
		return;
	a->ns = now_ns;
	if (bwl_journal_again(bwl_journal_dir(v->pins->ctl->drill), kind, NULL, said_s, &e))
		tell(v, &e);
	else
		a->said_s = said_s;
}

static void again(struct closures *v, bool now)
{
	write_again(v, &v->clamp, BWL_J_CLAMP, agent_clamped_again_s(), now);
	write_again(v, &v->revoked, BWL_J_CLOSE, agent_revoked_again_s(), now);
}

static atomic_bool closing;

void agent_closing(bool yes)
{
	atomic_store(&closing, yes);
}

static void step(struct closures *v)
{
	struct numbers now = numbers_of(v->pins);
	struct bwl_err e = { 0 };
	int still, r;

	if ((v->written && is_same(&now, &v->at)) || atomic_load(&closing))
		return;
	/*
	 * Not during a grant: the grant's record comes first. Where somebody removed the folder
	 * nobody can lock it, and nobody grants.
	 */
	still = bwl_pins_still(v->pins);
	if (still < 0 && (still != -ENOENT || bwl_pins_end(v->pins, NULL) != BWL_PINS_REMOVED))
		return;
	r = bwl_journal_note(v->pins, &e);
	if (still >= 0)
		close(still);
	if (r == -EAGAIN)
		return;
	v->written = !r;
	v->at = now;
	if (r)
		tell(v, &e);
	else if (*v->told)
		agent_log(LOG_NOTICE, "journal", "closures are journalled again");
	if (!r)
		*v->told = '\0';
}

static void run(void *arg)
{
	struct closures *v = arg;

	do {
		step(v);
		again(v, false);
	} while (agent_thread_nap(&v->thread, SECOND));
	step(v);
	again(v, true);
}

bool agent_closures_wanted(struct agent *a)
{
	return bwl_journal_dir(a->pins->ctl->drill);
}

int agent_closures_start(struct agent *a, void **ret_part, struct bwl_err *e)
{
	BWL_AUTO_FREE struct closures *v = calloc(1, sizeof(*v));
	int r;

	if (!v)
		return bwl_fail(e, ENOMEM, "out of memory");
	v->pins = a->pins;
	r = agent_thread_start(&v->thread, run, v, e);
	if (!r)
		*ret_part = bwl_take_ptr(&v);
	return r;
}

void agent_closures_stop(struct agent *a, void *part)
{
	struct closures *v = part;

	(void)a;
	agent_thread_stop(&v->thread);
	free(v);
}
