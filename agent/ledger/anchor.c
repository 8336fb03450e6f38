// SPDX-License-Identifier: GPL-2.0-or-later
/* Ledger and counter, step by step: see anchor.h. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <syslog.h>
#include "agent.h"
#include "anchor.h"
#include "tpm/tpm.h"

#define SECOND 1000000000ULL
#define HANGS_NS (5 * SECOND)
#define RETRY_NS SECOND
#define LOOSE_RETRY_NS (60 * SECOND)
#define REPEAT_NS (600 * SECOND)
#define CREDIT 24 /* raises that may be saved up */
#define KEY "tpm" /* key of the ledger's row; no limit has this name */

enum step {
	UNKNOWN, /* the TPM must be queried */
	LOOKING,
	RAISING,
	HELD,  /* or, with behind(), to be raised again */
	LOOSE, /* mode auto, no TPM, and the ledger never had one; or mode none */
};

struct anchor {
	enum anchor_mode mode;
	struct tpm *tpm;
	uint64_t every_ns;
	char tcti[100];
	enum step step;
	bool proven, is_new; /* proven: this ledger is the one that the TPM knows */
	bool loose;     /* it was LOOSE, so releases do not wait for the TPM to be queried again */
	bool unsaved;   /* the row may not be on disk: no raise until it is */
	bool binding;   /* the TPM may not have the counter yet */
	bool took_over; /* the counter's past was unknown */
	void (*follow)(const uint8_t tag[TPM_TAG], uint64_t count, uint64_t epoch, void *arg);
	void *follow_arg;
	uint8_t tag[TPM_TAG];
	uint64_t epoch, count; /* on disk; in the TPM as far as we know: epoch or one less */
	char era[LEDGER_ERA];  /* the maps in which this process raised it */
	uint64_t seq, wrote_ns, raised_ns, raises;
	uint64_t credit_ns, credit_at_ns;
	uint64_t asked_ns, again_ns;
	bool hangs;
	char told[sizeof(((struct bwl_err *)0)->text)];
	uint64_t told_ns;
};

int anchor_new(enum anchor_mode mode, const char *tcti, uint64_t every_ns, struct anchor **ret,
	       struct bwl_err *e)
{
	struct anchor *a = calloc(1, sizeof(*a));

	if (!a)
		return bwl_fail(e, ENOMEM, "out of memory");
	a->mode = mode;
	a->every_ns = every_ns;
	a->credit_at_ns = bwl_now_ns();
	snprintf(a->tcti, sizeof(a->tcti), "%s", tcti);
	if (tpm_new(tcti, &a->tpm, e)) {
		free(a);
		return -ENOMEM;
	}
	*ret = a;
	return 0;
}

void anchor_free(struct anchor *a)
{
	if (a)
		tpm_free(a->tpm);
	free(a);
}

void anchor_forget(struct anchor *a, bool is_new)
{
	a->step = UNKNOWN;
	a->proven = a->loose = a->unsaved = false;
	a->is_new = is_new;
	a->again_ns = 0;
}

bool anchor_holds(const struct anchor *a)
{
	return a->proven;
}

uint64_t anchor_raises(const struct anchor *a)
{
	return a->raises;
}

uint64_t anchor_count(const struct anchor *a)
{
	return a->count;
}

uint64_t anchor_epoch(const struct anchor *a, uint8_t tag[TPM_TAG])
{
	memcpy(tag, a->tag, TPM_TAG);
	return a->epoch;
}

bool anchor_took_over(const struct anchor *a)
{
	return a->took_over;
}

bool anchor_is_off(const struct anchor *a)
{
	return a->mode == ANCHOR_NONE;
}

void anchor_follow(struct anchor *a,
		   void (*fn)(const uint8_t tag[TPM_TAG], uint64_t count, uint64_t epoch,
			      void *arg),
		   void *arg)
{
	a->follow = fn;
	a->follow_arg = arg;
}

static const struct ledger_row *row_of(const struct ledger *l)
{
	static const uint64_t none[TPM_TAG / 8];
	int at = ledger_find(l, KEY);

	if (at < 0 || !memcmp(ledger_at(l, at)->slice, none, sizeof(none)))
		return NULL;
	return ledger_at(l, at);
}

/* A ledger without volumes contains nothing that could be old. */
static bool is_empty(const struct ledger *l)
{
	return ledger_count(l) - (ledger_find(l, KEY) >= 0) == 0;
}

static int write_row(struct anchor *a, struct ledger *l, const char *era, struct bwl_err *e)
{
	struct ledger_row r = {
		.key = KEY, .spent = a->epoch, .pending = a->binding, .at_ns = bwl_now_ns()
	};
	int err;

	if (a->follow)
		a->follow(a->tag, a->count, a->epoch, a->follow_arg);
	snprintf(r.era, sizeof(r.era), "%s", era);
	memcpy(r.slice, a->tag, TPM_TAG);
	if (ledger_put(l, &r))
		return bwl_fail(e, ENOMEM, "out of memory");
	err = ledger_commit(l, e);
	a->unsaved = err;
	a->seq = ledger_seq(l);
	a->wrote_ns = r.at_ns;
	return err;
}

/* The result while the TPM works on a request. */
static int meanwhile(const struct anchor *a)
{
	return a->proven || a->loose ? 0 : -EINPROGRESS;
}

static void tell(struct anchor *a, const char *text, const char *then)
{
	uint64_t now = bwl_now_ns();

	if (!strcmp(a->told, text) && now - a->told_ns < REPEAT_NS)
		return;
	snprintf(a->told, sizeof(a->told), "%s", text);
	a->told_ns = now;
	agent_log(LOG_ALERT, "tpm", "%s; %s", text, then);
}

/* The TPM does not answer, or answers with an error. */
static int unanswered(struct anchor *a, const struct ledger *l, const struct bwl_err *why)
{
	a->again_ns = bwl_now_ns() + RETRY_NS;
	if (a->proven) {
		a->step = HELD;
		tell(a, why->text,
		     "the ledger's counter is not raised: an old copy would give back what is spent meanwhile; retried every second");
		return 0;
	}
	if (a->mode == ANCHOR_AUTO && (a->is_new || !row_of(l))) {
		if (strcmp(a->told, why->text))
			agent_log(
				LOG_NOTICE, "tpm",
				"%s; so an old copy of the whole ledger, put in place while this machine is off, would not be detected; retried every minute",
				why->text);
		snprintf(a->told, sizeof(a->told), "%s", why->text);
		a->step = LOOSE;
		a->loose = true;
		a->again_ns = bwl_now_ns() + LOOSE_RETRY_NS;
		return 0;
	}
	a->step = UNKNOWN;
	tell(a, why->text,
	     row_of(l)
		     ? "the ledger is bound to its counter: no volume is released until the TPM answers; to do without it for good: --tpm none"
		     : "--tpm required: no volume is released until the TPM answers");
	return -EINPROGRESS;
}

static int ask_failed(struct anchor *a, const struct ledger *l, int r)
{
	struct bwl_err e = { 0 };

	bwl_err_fill(&e, EIO,
		     r == -EBUSY ? "the TPM at %s does not answer"
				 : "the TPM at %s cannot be asked: cannot start a thread",
		     a->tcti);
	return unanswered(a, l, &e);
}

static int start_raise(struct anchor *a, struct ledger *l, struct bwl_err *e)
{
	int r = a->unsaved ? ledger_commit(l, e) : 0;

	if (r)
		return r;
	a->unsaved = false;
	r = tpm_raise(a->tpm, a->tag, a->epoch);
	if (r)
		return ask_failed(a, l, r);
	a->step = RAISING;
	a->asked_ns = bwl_now_ns();
	return meanwhile(a);
}

/* On disk first, then in the counter. */
static int raise_epoch(struct anchor *a, struct ledger *l, const char *era, struct bwl_err *e)
{
	int r;

	a->epoch = a->count + 1;
	r = write_row(a, l, era, e);
	return r ? r : start_raise(a, l, e);
}

static int held(struct anchor *a, uint64_t raised_ns)
{
	a->step = HELD;
	a->raised_ns = raised_ns;
	if (!a->proven || *a->told)
		agent_log(LOG_NOTICE, "tpm",
			  "the ledger is bound to the counter of the TPM at %s, at %llu", a->tcti,
			  (unsigned long long)a->count);
	*a->told = '\0';
	a->proven = true;
	a->loose = false;
	return 0;
}

/* This ledger has nothing that could be old: it adopts the counter as it is, or makes one. */
static int bind_new(struct anchor *a, struct ledger *l, const struct tpm_state *s, const char *era,
		    struct bwl_err *e)
{
	a->is_new = true; /* until the row is on disk */
	a->binding = !s->has_index;
	a->took_over = s->has_index;
	a->count = s->count;
	if (s->has_index)
		memcpy(a->tag, s->tag, TPM_TAG);
	else if (getrandom(a->tag, TPM_TAG, 0) != TPM_TAG)
		return bwl_fail(e, EIO, "no random numbers");
	if (s->has_index && !strcmp(a->era, era)) {
		/*
		 * The ledger was set aside while we run: ledgers from before this boot are already
		 * refused.
		 */
		int r;

		a->epoch = s->count;
		r = write_row(a, l, era, e);
		return r ? r : held(a, a->wrote_ns);
	}
	return raise_epoch(a, l, era, e);
}

static int not_believed(struct bwl_err *e, const struct ledger_row *row, const struct tpm_state *s)
{
	unsigned long long epoch = row ? row->spent : 0, count = s->count;

	if (!row)
		return bwl_fail(
			e, EUCLEAN,
			"the TPM has a counter for a ledger, but this ledger does not know it: an earlier copy, or another machine's");
	if (!s->has_index)
		return bwl_fail(
			e, EUCLEAN,
			"the TPM has no counter for this ledger: the TPM was cleared, or it is another TPM");
	if (memcmp(row->slice, s->tag, TPM_TAG))
		return bwl_fail(
			e, EUCLEAN,
			"the TPM's counter belongs to another ledger: another TPM, or a copy from before the ledger was bound again");
	if (epoch < count)
		return bwl_fail(
			e, EUCLEAN,
			"the ledger is at epoch %llu but the TPM counts %llu: the ledger is an old copy",
			epoch, count);
	return bwl_fail(
		e, EUCLEAN,
		"the ledger is at epoch %llu but the TPM counts only %llu: it is another TPM",
		epoch, count);
}

static bool is_known(const struct ledger_row *row, const struct tpm_state *s)
{
	if (!row)
		return false;
	if (!s->has_index) /* killed before the counter was made: it will begin at our epoch */
		return row->pending;
	return !memcmp(row->slice, s->tag, TPM_TAG) &&
	       (row->spent == s->count || row->spent == s->count + 1);
}

static int decide(struct anchor *a, struct ledger *l, const struct tpm_state *s, const char *era,
		  struct bwl_err *e)
{
	const struct ledger_row *row = row_of(l);

	if (!is_known(row, s)) {
		bool fresh = a->is_new || is_empty(l) || (!row && !s->has_index);

		return fresh ? bind_new(a, l, s, era, e) : not_believed(e, row, s);
	}
	memcpy(a->tag, row->slice, TPM_TAG);
	a->epoch = row->spent;
	a->count = s->count;
	a->binding = !s->has_index;
	a->wrote_ns = row->at_ns;
	if (a->binding || a->epoch != a->count)
		return start_raise(a, l, e);
	return strcmp(row->era, era) ? raise_epoch(a, l, era, e) : held(a, row->at_ns);
}

/* If the count is what we wanted, it is ours: nobody else raised the counter. */
static int on_raised(struct anchor *a, struct ledger *l, const struct tpm_state *s, const char *era,
		     struct bwl_err *e)
{
	bool other = s->count != a->epoch;
	int r = 0;

	a->raises++;
	a->is_new = false;
	a->count = s->count;
	snprintf(a->era, sizeof(a->era), "%s", era);
	if (other && !a->binding)
		agent_log(LOG_WARNING, "tpm",
			  "another program raised the ledger's counter: %llu, not %llu",
			  (unsigned long long)s->count, (unsigned long long)a->epoch);
	if (other || a->binding) {
		a->epoch = s->count;
		a->binding = false;
		r = write_row(a, l, era, e);
	}
	if (r)
		return r;
	/*
	 * The raise may have completed one that an earlier era began: then this era still needs its
	 * own.
	 */
	return strcmp(row_of(l)->era, era) ? raise_epoch(a, l, era, e) : held(a, a->wrote_ns);
}

static int await(struct anchor *a, struct ledger *l, const char *era, struct bwl_err *e)
{
	struct bwl_err why = { 0 };
	struct tpm_state s;
	int r = tpm_answer(a->tpm, &s, &why);

	if (r == -EINPROGRESS) {
		if (bwl_now_ns() - a->asked_ns < HANGS_NS)
			return meanwhile(a);
		return ask_failed(a, l, -EBUSY);
	}
	if (r)
		return unanswered(a, l, &why);
	r = a->step == LOOKING ? decide(a, l, &s, era, e) : on_raised(a, l, &s, era, e);
	if (r && r != -EINPROGRESS) /* an error of the ledger: begin again */
		a->step = UNKNOWN;
	return r;
}

/* On average two raises per every_ns: one by the clock, one for fast spending. */
static bool is_due(struct anchor *a, const struct ledger *l, bool much, uint64_t now)
{
	a->credit_ns += 2 * (now - a->credit_at_ns);
	a->credit_at_ns = now;
	if (a->credit_ns > CREDIT * a->every_ns)
		a->credit_ns = CREDIT * a->every_ns;
	if (ledger_seq(l) == a->seq || a->credit_ns < a->every_ns)
		return false;
	return much || now - a->raised_ns >= a->every_ns;
}

static int look_after(struct anchor *a, struct ledger *l, const char *era, bool much,
		      struct bwl_err *e)
{
	uint64_t now = bwl_now_ns();
	bool due = is_due(a, l, much, now);
	int r = 0; /* only ledger errors: releases_run() will meet them too */

	if (now >= a->again_ns && a->epoch != a->count) {
		r = start_raise(a, l, e);
	} else if (now >= a->again_ns && due) {
		a->credit_ns -= a->every_ns;
		r = raise_epoch(a, l, era, e);
		if (r)
			a->step = UNKNOWN;
	}
	/* An old copy must never give back what was spent during a longer time than this. */
	if (!r && a->epoch != a->count && bwl_now_ns() - a->wrote_ns > 2 * a->every_ns) {
		tell(a, "the ledger's counter could not be raised for too long",
		     "no more volume is released until the TPM answers");
		return -EINPROGRESS;
	}
	return r;
}

static int go_without(struct anchor *a, struct ledger *l, struct bwl_err *e)
{
	if (a->step == LOOSE)
		return 0;
	if (row_of(l)) {
		memset(a->tag, 0, TPM_TAG);
		a->epoch = 0;
		a->binding = false;
		if (write_row(a, l, "none", e))
			return -EAGAIN;
		agent_log(
			LOG_ALERT, "tpm",
			"the ledger is no longer bound to a TPM's counter (--tpm none): an old copy of it would not be detected");
	}
	a->step = LOOSE;
	return 0;
}

int anchor_run(struct anchor *a, struct ledger *l, const char *era, bool much, struct bwl_err *e)
{
	uint64_t now = bwl_now_ns();
	int r;

	if (a->mode == ANCHOR_NONE)
		return go_without(a, l, e);
	switch (a->step) {
	case UNKNOWN:
	case LOOSE:
		if (now < a->again_ns)
			return meanwhile(a);
		r = tpm_look(a->tpm);
		if (r)
			return ask_failed(a, l, r);
		a->asked_ns = now;
		a->step = LOOKING;
		return meanwhile(a);
	case LOOKING:
	case RAISING:
		return await(a, l, era, e);
	case HELD:
		break;
	}
	return look_after(a, l, era, much, e);
}
