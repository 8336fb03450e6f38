// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The ledger's thread: it waits for the disk, and nothing waits for it. After any failure nothing
 * more is released, and the log says why.
 */
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <syslog.h>
#include <bwl/publish.h>
#include "journal_check.h"
#include "memory_check.h"
#include "release.h"
#include "tpm/tpm.h"
#include "parts.h"
#include "thread.h"
#include "bwl/plural.h"

#define SECOND 1000000000ULL
#define RETRY_FIRST_NS 100000000ULL
#define SLOW_NS (SECOND / 2)
#define TPM_NS 5000000ULL
#define REPEAT_NS (600 * SECOND) /* a lasting alarm is repeated */

enum room { ROOM_ENOUGH, ROOM_LITTLE, ROOM_NONE };

struct ledger_part {
	struct agent_thread thread;
	const char *state_dir;
	_Atomic uint64_t busy_since; /* 0: it does not wait for the disk */
	bool told_stuck;             /* main thread only */
	/* thread */
	struct bwl_pins *pins; /* they outlive the part */
	struct ledger *ledger;
	struct releases *releases;
	struct anchor *anchor;
	uint64_t raises;
	char era[LEDGER_ERA];
	char told[sizeof(((struct bwl_err *)0)->text)];
	uint64_t told_ns, slow_ns, retry_ns, room_ns;
	enum room room; /* as it was last told */
	struct judge judge;
	struct memory_check memory;
	uint32_t waiting;
};

static void tell(struct ledger_part *v, const struct bwl_err *e)
{
	uint64_t now = bwl_now_ns();

	if (!strcmp(v->told, e->text) && now - v->told_ns < REPEAT_NS)
		return;
	snprintf(v->told, sizeof(v->told), "%s", e->text);
	v->told_ns = now;
	agent_log(
		LOG_ALERT, "ledger",
		"%s; no more volume is released until it can be written (disk full, read-only or failing: see %s)",
		e->text, v->state_dir);
}

static void tell_set_aside(const struct ledger_part *v, const struct bwl_err *e)
{
	agent_log(
		LOG_ALERT, "ledger",
		"the ledger cannot be trusted: %s; it is set aside as %s/ledger.db.bad and a new one is started from the maps, which forget nothing before a reboot; volumes that neither knows count as spent until bwlimit-ctl grant NAME volume +V once",
		e->text, v->state_dir);
}

static int open_ledger(struct ledger_part *v, struct bwl_err *e)
{
	enum ledger_how how;
	int r = ledger_open(v->state_dir, &v->ledger, &how, e);

	if (r)
		return r;
	if (how == LEDGER_SET_ASIDE)
		tell_set_aside(v, e);
	agent_log(LOG_INFO, "ledger", "the ledger has %d row%s, at commit %llu",
		  ledger_count(v->ledger), BWL_S(ledger_count(v->ledger)),
		  (unsigned long long)ledger_seq(v->ledger));
	releases_forget(v->releases);
	anchor_forget(v->anchor, how != LEDGER_FOUND);
	return 0;
}

static int begin(struct ledger_part *v, struct bwl_err *e)
{
	int r = 0;

	if (!v->releases) {
		agent_era(v->pins, v->era);
		r = releases_new(v->pins, v->era, &v->releases, e);
	}
	return r || v->ledger ? r : open_ledger(v, e);
}

static void note_pace(struct ledger_part *v, uint64_t took_ns)
{
	struct releases_count c = releases_count(v->releases);
	uint64_t now = bwl_now_ns();

	if (took_ns > SLOW_NS && now - v->slow_ns > 60 * SECOND) {
		v->slow_ns = now;
		agent_log(LOG_WARNING, "ledger",
			  "the disk took %llu ms for a commit; %u of %u volumes wait for it",
			  (unsigned long long)(took_ns / 1000000), c.waiting, c.volumes);
	}
}

/* Is this the ledger that the TPM knows? A flag tells bwlimit-ctl. */
static int look_at_anchor(struct ledger_part *v, struct bwl_err *e)
{
	int r = anchor_run(v->anchor, v->ledger, v->era,
			   v->judge.moved || v->memory.moved || releases_spent_much(v->releases),
			   e);
	uint32_t *flags = &v->pins->ctl->ledger;

	if (anchor_raises(v->anchor) != v->raises) {
		v->raises = anchor_raises(v->anchor);
		releases_forget_spent(v->releases);
		v->judge.moved = v->memory.moved = false;
	}
	if (*flags & BWL_LEDGER_CAME)
		*flags = BWL_LEDGER_CAME | (anchor_holds(v->anchor) ? BWL_LEDGER_TPM : 0) |
			 (*flags & BWL_LEDGER_FULL);
	return r;
}

/* How full it is: an alarm before no more names fit, and one when they do not. */
static void note_room(struct ledger_part *v)
{
	struct releases_count c = releases_count(v->releases);
	uint32_t *flags = &v->pins->ctl->ledger;
	enum room room = c.full ? ROOM_NONE : c.rows / 3 >= c.most / 4 ? ROOM_LITTLE : ROOM_ENOUGH;
	uint64_t now = bwl_now_ns();

	if (*flags & BWL_LEDGER_CAME)
		*flags = c.full || c.rows >= c.most ? *flags | BWL_LEDGER_FULL
						    : *flags & ~BWL_LEDGER_FULL;
	if (room == v->room && (room == ROOM_ENOUGH || now - v->room_ns < REPEAT_NS))
		return;
	v->room_ns = now;
	if (room == ROOM_NONE)
		agent_log(
			LOG_ALERT, "ledger",
			"the ledger is full: all %u rows are taken, and %u volume%s without one stay%s closed (first: %s); rows of windows end when no policy has named them for longer than the window (docs/ledger.md)",
			c.most, c.full, BWL_S(c.full), c.full == 1 ? "s" : "", c.full_key);
	else if (room != ROOM_ENOUGH)
		agent_log(
			LOG_ALERT, "ledger",
			"the ledger has %u of at most %u rows, for %u volumes in force: the rest are names that no policy has any more; beyond that volumes of new names stay closed (docs/ledger.md)",
			c.rows, c.most, c.volumes);
	else
		agent_log(LOG_NOTICE, "ledger", "the ledger has room again: %u of at most %u rows",
			  c.rows, c.most);
	v->room = room;
}

/* Looks once. Returns how long to wait for the next look. */
static uint64_t step(struct ledger_part *v)
{
	struct bwl_err e = { 0 };
	uint64_t ns = RETRY_FIRST_NS, before = bwl_now_ns();
	int r;

	atomic_store(&v->busy_since, before);
	r = begin(v, &e);
	if (!r)
		r = look_at_anchor(v, &e);
	if (!r || r == -EINPROGRESS) {
		int judged = judge_run(&v->judge, v->anchor, v->ledger, v->era, &e);

		r = r ? r : judged;
	}
	if (!r)
		r = memory_check_run(&v->memory, v->anchor, v->ledger, v->era, &e);
	if (!r)
		r = releases_run(v->releases, v->ledger, &ns, &e);
	atomic_store(&v->busy_since, 0);
	if (r == -EINPROGRESS) /* the TPM; the anchor knows what to report */
		return TPM_NS;
	if (!r) {
		if (*v->told)
			agent_log(LOG_NOTICE, "ledger", "the ledger is being written again");
		*v->told = '\0';
		v->retry_ns = RETRY_FIRST_NS;
		note_room(v);
		note_pace(v, bwl_now_ns() - before);
		return ns;
	}
	if (r == -EUCLEAN && v->ledger) {
		ledger_close(v->ledger);
		v->ledger = NULL;
		tell_set_aside(v, &e);
		if (!ledger_set_aside(v->state_dir, &e))
			return 0;
	}
	tell(v, &e);
	v->retry_ns = v->retry_ns * 2 > SECOND ? SECOND : v->retry_ns * 2;
	return v->retry_ns;
}

static void run(void *arg)
{
	struct ledger_part *v = arg;

	while (agent_thread_nap(&v->thread, step(v)))
		;
	ledger_close(v->ledger);
	releases_free(v->releases);
}

static void end(struct ledger_part *v)
{
	anchor_free(v->anchor);
	free(v);
}
BWL_AUTO_DEFINE(end, struct ledger_part *)

int agent_ledger_start(struct agent *a, void **ret_part, struct bwl_err *e)
{
	BWL_AUTO(end) struct ledger_part *v = calloc(1, sizeof(*v));
	int r;

	if (!v)
		return bwl_fail(e, ENOMEM, "out of memory");
	v->pins = a->pins;
	v->state_dir = a->state_dir;
	v->memory = (struct memory_check){ .pins = a->pins, .dir = a->state_dir };
	v->retry_ns = RETRY_FIRST_NS;
	r = anchor_new(a->tpm, tpm_tcti(), a->tpm_every_ns, &v->anchor, e);
	if (!r) {
		judge_begin(&v->judge, v->pins, v->anchor);
		r = agent_thread_start(&v->thread, run, v, e);
	}
	if (!r)
		*ret_part = bwl_take_ptr(&v);
	return r;
}

void agent_ledger_stop(struct agent *a, void *part)
{
	struct ledger_part *v = part;

	(void)a;
	agent_thread_stop(&v->thread);
	end(v);
}

/* Does the disk answer? */
void agent_ledger_tick(struct agent *a, void *part)
{
	struct ledger_part *v = part;
	uint64_t since = atomic_load(&v->busy_since);
	bool stuck = since && bwl_now_ns() - since > 3 * SECOND;

	(void)a;
	if (stuck == v->told_stuck)
		return;
	v->told_stuck = stuck;
	if (stuck)
		agent_log(LOG_ALERT, "ledger",
			  "the disk does not answer: no more volume is released");
	else
		agent_log(LOG_NOTICE, "ledger", "the disk answers again");
}
