// SPDX-License-Identifier: GPL-2.0-or-later
/* See memory_check.h. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <syslog.h>
#include <bwl/publish.h>
#include "agent.h"
#include "enrolled/glass.h"
#include "journal/journal.h"
#include "memory_check.h"

#define SECOND 1000000000ULL
#define REPEAT_NS (600 * SECOND)
#define KEY "signed"            /* key of the ledger's row; no limit has this name */
enum { EPOCH, VERSION, GLASS }; /* the row's slices; its `spent` has the memory's number */

static struct bwl_memory_bound bound_of(const struct ledger_row *r)
{
	return (struct bwl_memory_bound){ r->slice[EPOCH], r->slice[VERSION], r->spent };
}

const char *memory_judge(const struct memory_seen *s, const struct memory_known *k)
{
	struct bwl_memory_bound was;

	if (s->state == MEMORY_DAMAGED)
		return "it is damaged";
	if (!k->row && s->state == MEMORY_NONE)
		return k->enrolled ? "it was removed" : NULL;
	if (!k->row)
		return k->took_over && !k->began
			       ? "the TPM knows an earlier ledger, and what that one knew is lost"
			       : NULL;
	if (s->state == MEMORY_NONE)
		return "it was removed";
	was = bound_of(k->row);
	if (bwl_memory_is_older(&was, &s->bound))
		return "it is an old copy: the ledger knows a newer one";
	if (!bwl_memory_is_begun(&was, &s->bound) && s->glass < k->row->slice[GLASS])
		return "the record of broken glass was removed, or is an old copy";
	return NULL;
}

static bool is_unmoved(struct memory_check *c)
{
	static const char *const name[] = { BWL_MEMORY, BWL_GLASS };
	bool same = c->looked;
	char path[512];
	struct stat st;

	for (unsigned i = 0; i < 2; i++) {
		snprintf(path, sizeof(path), "%s/%s", c->dir, name[i]);
		if (stat(path, &st))
			st = (struct stat){ 0 };
		same = same && st.st_ino == c->ino[i] &&
		       !memcmp(&st.st_mtim, &c->at[i], sizeof(st.st_mtim));
		c->ino[i] = st.st_ino;
		c->at[i] = st.st_mtim;
	}
	c->looked = true;
	return same;
}

/* The files' inodes and times were taken before: what changes during the reading is read again. */
static void look(struct memory_check *c)
{
	BWL_AUTO(bwl_memory_free) struct bwl_memory *m = NULL;
	bool first = !c->looked;
	int r;

	if (is_unmoved(c))
		return;
	r = bwl_memory_open(c->dir, &m, NULL);
	c->seen = (struct memory_seen){ .state = r == -ENOENT ? MEMORY_NONE
						 : r          ? MEMORY_DAMAGED
							      : MEMORY_OK };
	if (!r)
		c->seen.bound = bwl_memory_bound(m);
	if (bwl_glass_used(c->dir, &c->seen.glass, NULL))
		c->seen.state = MEMORY_DAMAGED;
	if (first)
		c->began = c->seen.state == MEMORY_NONE;
}

static void close_all(struct memory_check *c, const char *why)
{
	uint64_t now = bwl_now_ns();

	bwl_enrolled_set(c->pins, BWL_ENROLLED | BWL_MEMORY_LOST);
	if (!bwl_is_clamped(c->pins) && !bwl_clamp(c->pins) && !c->lost)
		bwl_revoke(c->pins, NULL, NULL); /* without a heartbeat there is no clamp */
	if (c->lost && now - c->told_ns < REPEAT_NS)
		return;
	c->lost = true;
	c->told_ns = now;
	agent_log(
		LOG_ALERT, "memory",
		"%s/" BWL_MEMORY
		": the record of accepted signed documents cannot be trusted: %s; everything stays at its floor until two people enrol this tray again, by a newer enrolment (docs/fleet.md)",
		c->dir, why);
}

/* Two people have signed that this tray starts anew: the clamp ends, whatever caused it. */
static void open_again(struct memory_check *c)
{
	struct bwl_err e = { 0 };

	if (bwl_is_clamped(c->pins) && bwl_journal_opening(c->pins, BWL_J_LIFT, &e)) {
		agent_log_err(LOG_ERR, "memory", &e);
		return;
	}
	bwl_unclamp(c->pins);
	bwl_enrolled_clear(c->pins, BWL_MEMORY_LOST);
	c->lost = false;
	agent_log(LOG_NOTICE, "memory", "this tray was enrolled again: the clamp is lifted");
}

static int record(struct memory_check *c, struct ledger *l, const struct ledger_row *was,
		  const char *era, struct bwl_err *e)
{
	struct ledger_row row = { .key = KEY, .spent = c->seen.bound.seq };

	row.slice[EPOCH] = c->seen.bound.epoch;
	row.slice[VERSION] = c->seen.bound.version;
	row.slice[GLASS] = c->seen.glass;
	if (c->seen.state == MEMORY_NONE ||
	    (was && was->spent == row.spent && !memcmp(was->slice, row.slice, sizeof(row.slice))))
		return 0;
	c->moved = true;
	snprintf(row.era, sizeof(row.era), "%s", era);
	if (ledger_put(l, &row))
		return bwl_fail(e, ENOMEM, "out of memory");
	return ledger_commit(l, e);
}

int memory_check_run(struct memory_check *c, struct anchor *a, struct ledger *l, const char *era,
		     struct bwl_err *e)
{
	uint64_t now = bwl_now_ns();
	struct memory_known k = { .took_over = anchor_took_over(a) };
	const char *why;
	int at, r;

	if (now - c->looked_ns < SECOND)
		return 0;
	c->looked_ns = now;
	look(c);
	at = ledger_find(l, KEY);
	k.row = at < 0 ? NULL : ledger_at(l, at);
	k.enrolled = bwl_enrolled(c->pins) & BWL_ENROLLED;
	k.began = c->began;
	why = memory_judge(&c->seen, &k);
	if (why) {
		close_all(c, why);
		return 0;
	}
	r = record(c, l, k.row, era, e);
	if (!r && bwl_enrolled(c->pins) & BWL_MEMORY_LOST)
		open_again(c);
	return r;
}
