// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Is the journal an old copy? See journal_check.h. A row of the ledger has the head of the journal,
 * and follows it within a second. The file `bound` in the journal's folder has it too, with the
 * counter's epoch, for attach, which does not read the ledger.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <syslog.h>
#include "agent.h"
#include <bwl/publish.h>
#include "journal_check.h"
#include "journal/journal.h"
#include "tpm/tpm.h"

#define SECOND 1000000000ULL
#define WAIT_NS (5 * SECOND)
#define REPEAT_NS (600 * SECOND)
#define LOAD(word) __atomic_load_n(&(word), __ATOMIC_SEQ_CST)
#define KEY "journal" /* key of the ledger's row; no limit has this name */

_Static_assert(BWL_JOURNAL_TAG == TPM_TAG, "a counter's tag");

static const char *dir_of(const struct judge *g)
{
	return bwl_journal_dir(g->pins->ctl->drill);
}

static void tell(struct judge *g, const char *text, const char *then)
{
	uint64_t now = bwl_now_ns();

	if (!strcmp(g->told, text) && now - g->told_ns < REPEAT_NS)
		return;
	snprintf(g->told, sizeof(g->told), "%s", text);
	g->told_ns = now;
	agent_log(LOG_ALERT, "journal", "%s; %s", text, then);
}

static void bind_to(struct judge *g, const struct bwl_journal_bound *b)
{
	char text[300];
	int r = bwl_journal_bind(dir_of(g), b);

	g->written = b->epoch;
	if (!r)
		return;
	snprintf(text, sizeof(text),
		 "the journal of closures cannot be bound to the TPM's counter: %s", strerror(-r));
	tell(g, text, "after a reboot everything is closed, unless the journal is bound by then");
}

/*
 * Moves the binding to the new epoch, if it is bound to the previous one. Anything else is judged
 * first.
 */
static void write_bound(const uint8_t tag[TPM_TAG], uint64_t count, uint64_t epoch, void *arg)
{
	struct bwl_journal_bound b;
	struct judge *g = arg;
	const char *dir = dir_of(g);

	if (!dir || bwl_journal_bound_read(dir, &b) || memcmp(b.tag, tag, TPM_TAG) ||
	    b.epoch == epoch)
		return;
	if (b.epoch != count && b.epoch != count + 1 && b.epoch != g->written)
		return;
	b.epoch = epoch;
	bind_to(g, &b);
}

void judge_begin(struct judge *g, struct bwl_pins *p, struct anchor *a)
{
	g->pins = p;
	anchor_follow(a, write_bound, g);
}

static const struct ledger_row *row_of(const struct ledger *l)
{
	int at = ledger_find(l, KEY);

	return at < 0 ? NULL : ledger_at(l, at);
}

/* The journal's head, b, is in the ledger and bound to the counter. */
static int record(struct judge *g, struct ledger *l, const char *era,
		  const struct bwl_journal_bound *b, struct bwl_err *e)
{
	const struct ledger_row *was = row_of(l);
	struct ledger_row row = { .key = KEY, .spent = b->seq };
	struct bwl_journal_bound is;
	int r = 0;

	memcpy(row.slice, b->digest, sizeof(b->digest));
	if (!was || was->spent != row.spent || memcmp(was->slice, row.slice, sizeof(row.slice))) {
		g->moved = true;
		snprintf(row.era, sizeof(row.era), "%s", era);
		r = ledger_put(l, &row) ? bwl_fail(e, ENOMEM, "out of memory")
					: ledger_commit(l, e);
	}
	if (!r && (bwl_journal_bound_read(dir_of(g), &is) || memcmp(&is, b, sizeof(is))))
		bind_to(g, b);
	return r;
}

static bool is_old(const struct judge *g, const struct anchor *a, const struct ledger_row *row,
		   const struct bwl_journal_bound *now, char why[BWL_JOURNAL_WHY])
{
	struct bwl_journal_bound b;
	int r = bwl_journal_bound_read(dir_of(g), &b);

	if (!g->judged && !r && !bwl_journal_fits(dir_of(g), &b, now->tag, anchor_count(a), why))
		return true;
	if (row && !bwl_journal_has(dir_of(g), row->spent, (const uint8_t *)row->slice)) {
		snprintf(
			why, BWL_JOURNAL_WHY,
			"it ends at %llu, but the ledger, which is bound to a TPM's counter, knows another record %llu: an old copy",
			(unsigned long long)now->seq, (unsigned long long)row->spent);
		return true;
	}
	if (g->judged || !r || row || !anchor_took_over(a))
		return false;
	snprintf(why, BWL_JOURNAL_WHY,
		 "the TPM has a counter, but neither ledger nor journal is bound to it");
	return true;
}

/*
 * Nobody can have granted anything since the refusal. A new generation means that an attach had
 * read the journal before it was refused.
 */
static void close_again(struct judge *g)
{
	uint32_t now = LOAD(g->pins->ctl->generation);

	if (!g->refused || now == g->refused_at)
		return;
	bwl_revoke(g->pins, NULL, NULL);
	g->refused_at = now;
}

/*
 * Anything may have been closed since the copy was made. The next journal's numbers begin above all
 * that were known of this one.
 */
static void refuse(struct judge *g, const struct ledger_row *row, struct bwl_journal_bound *b,
		   const char *why)
{
	struct bwl_err e = { 0 };

	g->refused = true;
	g->refused_at = LOAD(g->pins->ctl->generation);
	bwl_journal_stop(g->pins);
	bwl_revoke(g->pins, NULL, NULL);
	if (bwl_journal_set_aside(dir_of(g), &e))
		agent_log(LOG_ALERT, "journal", "%s", e.text);
	agent_log(
		LOG_ALERT, "journal",
		"the journal of closures cannot be trusted: %s; everything is stopped and revoked: bwlimit-ctl journal init, stop --off, and grant NAME for each that may send",
		why);
	b->seq = row && row->spent > b->seq ? row->spent : b->seq + 1;
	memset(b->digest, 0, sizeof(b->digest));
}

static void release(struct judge *g, const char *why)
{
	if (bwl_journal_is_unjudged(g->pins))
		agent_log(LOG_NOTICE, "journal", "%s: whatever it leaves open passes", why);
	bwl_journal_judged(g->pins);
	g->judged = true;
	g->waits_ns = 0;
}

static int judge(struct judge *g, struct anchor *a, struct ledger *l, const char *era,
		 struct bwl_err *e)
{
	const struct ledger_row *row = row_of(l);
	struct bwl_journal_bound b = { 0 };
	char why[BWL_JOURNAL_WHY];
	struct bwl_journal j;

	bwl_journal_look(dir_of(g), &j);
	b.epoch = anchor_epoch(a, b.tag);
	b.seq = j.seq;
	memcpy(b.digest, j.digest, sizeof(b.digest));
	bwl_journal_free(&j);
	if (j.state != BWL_JOURNAL_OK && bwl_journal_is_unjudged(g->pins)) {
		refuse(g, row, &b, j.why); /* attach has relied on it */
	} else if (j.state != BWL_JOURNAL_OK) {
		close_again(g);
		if (!row)
			return 0;
		b.seq = row->spent; /* the next journal's numbers begin above this */
		memcpy(b.digest, row->slice, sizeof(b.digest));
	} else if (is_old(g, a, row, &b, why)) {
		refuse(g, row, &b, why);
	}
	return record(g, l, era, &b, e);
}

/* Everything was closed by attach, and the TPM has not answered yet. */
static void say_waiting(struct judge *g)
{
	if (g->judged || !bwl_journal_is_unjudged(g->pins))
		return;
	if (!g->waits_ns)
		g->waits_ns = bwl_now_ns();
	if (bwl_now_ns() - g->waits_ns > WAIT_NS)
		tell(g,
		     "cannot tell whether the journal of closures is an old copy before the TPM answers",
		     "nothing passes until then; to do without the TPM for good: --tpm none; for now: bwlimit-ctl stop, then stop --off");
}

int judge_run(struct judge *g, struct anchor *a, struct ledger *l, const char *era,
	      struct bwl_err *e)
{
	uint64_t now = bwl_now_ns();
	int r;

	if (now - g->looked_ns < SECOND && (g->judged || !anchor_holds(a)))
		return 0;
	g->looked_ns = now;
	if (!dir_of(g) || anchor_is_off(a)) {
		if (dir_of(g) && !g->judged)
			bwl_journal_unbind(dir_of(g));
		release(g, "the journal is not checked against a TPM");
		return 0;
	}
	if (!anchor_holds(a)) {
		say_waiting(g);
		return 0;
	}
	r = judge(g, a, l, era, e);
	if (!r)
		release(g, "the TPM's counter confirms the journal");
	return r;
}
