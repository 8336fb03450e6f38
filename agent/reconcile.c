// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Compares the desired policy with the one in force, level-triggered: at start, when the source
 * changes, and every minute. A policy holds until the desired one changes: later grants,
 * revocations and policies applied by hand stay, as after `attach --policy`. A policy that was put
 * in force is stored as accepted (accept.h), and continues if the source has no valid one. Maps
 * that were changed by something other than our tools are restored.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <syslog.h>
#include <bwl/encode.h>
#include <bwl/map_io.h>
#include <bwl/past.h>
#include <bwl/publish.h>
#include "journal/journal.h"
#include "accept.h"
#include "parts.h"
#include "bwl/plural.h"

#define EVERY_US 60000000ULL
#define PAUSE_NS 1000000000ULL
#define PAUSE_MAX_NS 60000000000ULL
#define MEMORY "desired" /* the era, and the id of what was last put in force in it */

struct reconcile {
	struct agent *a;
	struct accept accept;
	sd_event_source *timer, *news; /* NULL: --once; news: or a source without notifications */
	char told[1400];
	uint64_t waits_ns; /* end of the trial of which it was said that the desired policy waits */
	uint64_t busy_ns;  /* since when a look waits for another writer; 0: none waits */
	/* After an error of the kernel that passes: when to look again, and after how long. */
	uint64_t again_ns, pause_ns;
	/* The policy as it was last read back, and the numbers that every edit changes. */
	struct bwl_policy *seen;
	uint8_t seen_digest[32];
	uint32_t slot, generation, edits;
	/* During a trial: the policy before, in the same way; the trial's generation. */
	struct bwl_policy *before;
	uint8_t before_digest[32];
	uint32_t trial;
	bool before_told;
};

static void forget(struct reconcile *r)
{
	bwl_policy_free(r->seen);
	r->seen = NULL;
	*r->told = '\0';
}

static void forget_before(struct reconcile *r)
{
	bwl_policy_free(r->before);
	r->before = NULL;
	r->before_told = false;
}

static void end(struct reconcile *r)
{
	sd_event_source_disable_unref(r->timer);
	sd_event_source_disable_unref(r->news);
	forget_before(r);
	bwl_policy_free(r->seen);
	free(r);
}
BWL_AUTO_DEFINE(end, struct reconcile *)

/* Level-triggered, but without repeating the same line every minute. */
static void tell(struct reconcile *r, int priority, const char *event, const char *text)
{
	if (!strcmp(r->told, text))
		return;
	snprintf(r->told, sizeof(r->told), "%s", text);
	agent_log(priority, event, "%s", text);
}

static int tell_err(struct reconcile *r, int priority, const struct bwl_err *e)
{
	char text[sizeof(r->told)];
	char at[300] = "";

	if (*e->file && e->line && e->column)
		snprintf(at, sizeof(at), "%s:%u:%u: ", e->file, e->line, e->column);
	else if (*e->file)
		snprintf(at, sizeof(at), e->line ? "%s:%u: " : "%s: ", e->file, e->line);
	snprintf(text, sizeof(text), "%s%s%s%s", at, e->text, *e->hint ? "; " : "", e->hint);
	tell(r, priority, "policy", text);
	return -e->code;
}

/* Was this put in force, in these maps, according to memory? *known: memory covers these maps. */
static bool is_remembered(const struct reconcile *r, const uint8_t id[32], bool *known)
{
	char line[256], era[AGENT_ERA], hex[65], want[170];

	agent_era(r->a->pins, era);
	*known = !agent_state_read(r->a->state_dir, MEMORY, line, sizeof(line)) &&
		 !strncmp(line, era, strlen(era)) && line[strlen(era)] == ' ';
	bwl_hex_encode(id, 32, hex);
	snprintf(want, sizeof(want), "%s %s", era, hex);
	return *known && !strcmp(line, want);
}

static void remember(const struct reconcile *r, const uint8_t id[32])
{
	char era[AGENT_ERA], hex[65], line[170];
	struct bwl_err e = { 0 };

	agent_era(r->a->pins, era);
	bwl_hex_encode(id, 32, hex);
	snprintf(line, sizeof(line), "%s %s", era, hex);
	if (agent_state_write(r->a->state_dir, MEMORY, line, &e))
		agent_log_err(LOG_ERR, "state", &e);
}

static int in_force_digest(const struct bwl_pins *p, uint8_t ret[32], struct bwl_err *e)
{
	struct bwl_gen g;
	int err = bwl_gen_open((struct bwl_pins *)p, bwl_active_slot(p), &g, e);

	if (err)
		return err;
	memcpy(ret, g.base->digest, 32);
	bwl_gen_close(&g);
	return 0;
}

/* Through a separate handle: closing it releases the lock before anything is reported. */
static int publish(const struct reconcile *r, struct bwl_policy *pol,
		   const struct bwl_publish_opts *o, struct bwl_publish_report *rep,
		   struct bwl_err *e)
{
	BWL_AUTO(bwl_pins_close) struct bwl_pins *p = NULL;
	int err = bwl_pins_open(r->a->pin_dir, true, &p, e);

	if (err)
		return err;
	bwl_journal_policy(p, pol, true, false);
	return bwl_publish(p, pol, o, rep, e);
}

static int put_in_force(struct reconcile *r, struct bwl_policy *pol, const char *why,
			const struct bwl_publish_opts *o, struct bwl_err *e)
{
	struct bwl_publish_report rep = { 0 };
	uint8_t digest[32] = { 0 };
	char hex[65];
	int err;

	err = r->a->source->time_is_known ? 0 : bwl_policy_wall_ok(pol, e);
	if (err)
		return err;
	bwl_policy_digest(pol, digest);
	bwl_hex_encode(digest, 32, hex);
	err = bwl_audit_intent(e, "policy %s: digest %s", r->a->source->name, hex);
	if (!err)
		err = publish(r, pol, o, &rep, e);
	if (err)
		return err;
	*r->told = '\0';
	agent_log(LOG_NOTICE, "policy",
		  "%s: %s put in force: %u peer%s, %u added, %u retired, %u stay revoked", why,
		  r->a->source->name, rep.peers, BWL_S(rep.peers), rep.added, rep.retired,
		  rep.kept_revoked);
	if (rep.exhausted)
		agent_log(
			LOG_WARNING, "policy",
			"volumes that start spent, because their past use is unknown: %u; bwlimit-ctl grant NAME volume +V once gives each V more",
			rep.exhausted);
	return 0;
}

static void keep(struct reconcile *r, const struct desired *d)
{
	struct bwl_err e = { 0 };

	if (accept_keep(&r->accept, d, &e))
		tell_err(r, LOG_ERR, &e);
}

/* After a kill in between, the next look does it again. */
static int take(struct reconcile *r, const struct desired *d, const char *why, struct bwl_err *e)
{
	const struct bwl_publish_opts o = { .fresh_volume = r->a->source->fresh_volume,
					    .allowed = r->a->source->judged };
	int err = put_in_force(r, d->pol, why, &o, e);

	if (err)
		return err;
	keep(r, d);
	remember(r, d->id);
	return 0;
}

/* Is it different from what was accepted last, in whatever maps? */
static bool is_news(struct reconcile *r, const struct desired *d)
{
	struct desired was = { 0 };
	bool news = accept_has(&r->accept) && !accept_kept(&r->accept, &was, NULL) &&
		    memcmp(was.id, d->id, sizeof(was.id));

	desired_free(&was);
	return news;
}

/* The desired policy and the one in force differ, or may differ. */
static int settle(struct reconcile *r, const struct desired *d, struct bwl_err *e)
{
	uint8_t want[32], have[32];
	bool known, remembered = is_remembered(r, d->id, &known), same;
	int err;

	if (bwl_active_slot(r->a->pins) == BWL_NO_SLOT)
		return take(r, d, "no policy was in force", e);
	if (!remembered && !known) /* limits lowered by hand stay lowered, as after attach */
		bwl_journal_policy(r->a->pins, d->pol, true, false);
	if (bwl_policy_digest(d->pol, want))
		return bwl_fail(e, EIO, "cannot compute the policy's digest");
	err = in_force_digest(r->a->pins, have, e);
	if (err)
		return err;
	same = !memcmp(want, have, sizeof(want));
	if (remembered) {
		if (!same)
			tell(r, LOG_INFO, "policy",
			     "the policy in force was edited after the file was applied: it stays (bwlimit-ctl policy diff)");
		if (same || accept_has(&r->accept))
			keep(r, d);
		return 0;
	}
	if (known || is_news(r, d))
		return take(r, d, "the desired policy changed", e);
	if (same)
		keep(r, d);
	else /* nobody has put the desired one in force, so it is not accepted */
		tell(r, LOG_WARNING, "policy",
		     "the policy in force is not the desired one and was applied before bwlimitd started: it stays (bwlimit-ctl policy diff, policy apply)");
	remember(r, d->id);
	return 0;
}

static bool is_unmoved(const struct reconcile *r)
{
	const volatile struct bwl_ctl *c = r->a->pins->ctl;

	return r->slot == bwl_active_slot(r->a->pins) && r->generation == c->generation &&
	       r->edits == c->edits;
}

static void note_numbers(struct reconcile *r)
{
	const volatile struct bwl_ctl *c = r->a->pins->ctl;

	r->slot = bwl_active_slot(r->a->pins);
	r->generation = c->generation;
	r->edits = c->edits;
}

static void tell_changed(const struct reconcile *r)
{
	agent_tamper(
		r->a->pins,
		&(struct agent_sign){
			.input = BWL_TAMPER_program,
			.what = "the policy's maps were changed by something other than bwlimit's tools" },
		false);
	agent_log(LOG_ALERT, "maps-changed",
		  "the policy's maps were changed by something other than bwlimit's tools");
}

static int read_digest(const struct reconcile *r, uint32_t slot, struct bwl_policy **ret,
		       uint8_t digest[32], struct bwl_err *e)
{
	int err = bwl_policy_read_slot(r->a->pins, slot, ret, e);

	if (!err && bwl_policy_digest(*ret, digest))
		err = bwl_fail(e, EIO, "cannot compute the digest of a policy in the maps");
	return err;
}

/* What was in force until now is the policy before a trial: it was seen as our tools left it. */
static void keep_before(struct reconcile *r)
{
	const volatile struct bwl_ctl *c = r->a->pins->ctl;

	if (bwl_slot_before(r->a->pins) != r->slot || r->slot == BWL_NO_SLOT ||
	    c->generation != r->generation + 2 || c->edits != r->edits)
		return;
	forget_before(r);
	r->trial = c->generation;
	r->before = bwl_take_ptr(&r->seen);
	memcpy(r->before_digest, r->seen_digest, sizeof(r->before_digest));
}

static bool is_another_trial(const struct reconcile *r)
{
	const volatile struct bwl_ctl *c = r->a->pins->ctl;

	return r->trial != c->generation;
}

static void notice_edits(struct reconcile *r)
{
	if (!r->seen || is_unmoved(r))
		return;
	keep_before(r);
	forget(r);
}

/*
 * Nobody edits it during the trial. What it was is put in force when it has returned (go_back()).
 * Not if that trial was confirmed meanwhile, and this is another one.
 */
static int check_before(struct reconcile *r, struct bwl_err *e)
{
	BWL_AUTO(bwl_policy_free) struct bwl_policy *now = NULL;
	uint32_t slot = bwl_slot_before(r->a->pins);
	uint8_t digest[32];
	int err;

	if (is_another_trial(r))
		forget_before(r);
	if (!r->before || r->before_told || slot == BWL_NO_SLOT)
		return 0;
	err = read_digest(r, slot, &now, digest, e);
	if (err || slot != bwl_slot_before(r->a->pins) || is_another_trial(r) ||
	    !memcmp(digest, r->before_digest, sizeof(digest)))
		return err;
	r->before_told = true;
	tell_changed(r);
	return 0;
}

/*
 * Another digest under the same numbers: none of our tools wrote that. During a trial it is only
 * told, because nothing else comes into force before the trial ends.
 */
static int repair(struct reconcile *r, struct bwl_err *e)
{
	/* What was in force is not a widening, whatever the maps now say. */
	static const struct bwl_publish_opts as_it_was = { .allowed = true };

	BWL_AUTO(bwl_policy_free) struct bwl_policy *now = NULL;
	uint8_t digest[32];
	int err;

	notice_edits(r);
	if (!r->seen)
		note_numbers(r);
	if (r->slot == BWL_NO_SLOT)
		return 0;
	err = read_digest(r, r->slot, &now, digest, e);
	if (err)
		return err;
	if (!is_unmoved(r))
		return 0;
	if (r->seen && memcmp(digest, r->seen_digest, sizeof(digest))) {
		tell_changed(r);
		if (!bwl_trial_ns(r->a->pins)) {
			err = put_in_force(r, r->seen, "the maps were repaired", &as_it_was, e);
			if (!err)
				forget(r);
			return err;
		}
		bwl_policy_free(bwl_take_ptr(&r->seen));
	}
	if (!r->seen) {
		r->seen = bwl_take_ptr(&now);
		memcpy(r->seen_digest, digest, sizeof(digest));
	}
	return 0;
}

/* If the source has no valid policy, the one that was accepted last applies. */
static void hold_on(struct reconcile *r)
{
	struct desired d = { 0 };
	struct bwl_err e = { 0 };
	int err = accept_kept(&r->accept, &d, &e);

	if (!err)
		agent_tamper_policy(d.pol);
	if (!err && bwl_active_slot(r->a->pins) == BWL_NO_SLOT) {
		err = put_in_force(r, d.pol, "none was in force; this one was accepted last", NULL,
				   &e);
		if (!err)
			remember(r, d.id);
	}
	if (err && err != -ENOENT)
		agent_log_err(LOG_ERR, "policy", &e);
	desired_free(&d);
}

/* The place of the error goes to the log, the audit log and `status`, once. */
static void refuse(struct reconcile *r, const struct bwl_err *e)
{
	char told[sizeof(r->told)];

	memcpy(told, r->told, sizeof(told));
	tell_err(r, LOG_ERR, e);
	if (strcmp(told, r->told))
		accept_refuse(&r->accept, e);
}

/*
 * A policy on trial was not confirmed in time: its grants have ended, and the policy before is
 * applied again.
 */
static void go_back(struct reconcile *r)
{
	BWL_AUTO(bwl_pins_close) struct bwl_pins *p = NULL; /* closing it gives the lock back */
	enum bwl_way_back way = BWL_BACK_TO_NONE;
	struct bwl_err e = { 0 };
	int err;

	notice_edits(r);
	if (check_before(r, &e)) /* that it returns is more important */
		agent_log_err(LOG_ERR, "policy", &e);
	err = bwl_pins_open(r->a->pin_dir, true, &p, &e);
	if (!err)
		err = bwl_pins_lock(p, &e);
	if (!err && !bwl_is_trial_over(p, bwl_now_ns()))
		return; /* somebody was faster, and may have begun another */
	if (!err) {
		if (is_another_trial(r))
			forget_before(r);
		way = bwl_way_back(p);
		err = bwl_rollback(p, &e);
	}
	if (err) {
		tell_err(r, LOG_ERR, &e);
		return;
	}
	bwl_journal_follow(p);
	*r->told = '\0';
	agent_log(way == BWL_BACK_IS_LOST ? LOG_ERR : LOG_NOTICE, "policy",
		  "the policy on trial was not confirmed in time: %s", bwl_way_back_words(way));
	if (!r->before_told)
		return;
	/* repair() finds that it is not what it was, as often as it takes */
	forget(r);
	r->seen = bwl_take_ptr(&r->before);
	memcpy(r->seen_digest, r->before_digest, sizeof(r->seen_digest));
	note_numbers(r);
}

/* A trial is left to the user who began it. What waits for its end is said once. */
static void say_what_waits(struct reconcile *r)
{
	uint64_t at = bwl_trial_ns(r->a->pins);
	struct desired d = { 0 };
	struct bwl_err e = { 0 }, not_now = { 0 };
	bool known = false;

	if (at == r->waits_ns)
		return;
	if (!accept_ask(&r->accept, &d, &not_now) && !is_remembered(r, d.id, &known) && known &&
	    bwl_trial_refuses(r->a->pins, &e)) {
		r->waits_ns = at;
		agent_log(LOG_NOTICE, "policy", "the desired policy changed and waits: %s", e.text);
	}
	desired_free(&d);
}

/* An error that passes is not waited for until the next minute: after 1 s, 2 s, 4 s … */
static void note_passing(struct reconcile *r, const struct bwl_err *e)
{
	if (!e->id || strcmp(e->id, BWL_MAP_REFUSED) != 0) {
		r->again_ns = r->pause_ns = 0;
		return;
	}
	r->pause_ns = r->pause_ns ? 2 * r->pause_ns : PAUSE_NS;
	if (r->pause_ns > PAUSE_MAX_NS)
		r->pause_ns = PAUSE_MAX_NS;
	r->again_ns = bwl_now_ns() + r->pause_ns;
}

/* 0, or the error that kept the desired policy from being in force (it was logged). */
static int look(struct reconcile *r)
{
	struct desired d = { 0 };
	struct bwl_err e = { 0 };
	int err;

	if (bwl_is_trial_over(r->a->pins, bwl_now_ns()))
		go_back(r);
	if (bwl_trial_ns(r->a->pins)) {
		if (repair(r, &e) || check_before(r, &e))
			tell_err(r, LOG_ERR, &e);
		say_what_waits(r);
		return 0;
	}
	forget_before(r);
	err = accept_ask(&r->accept, &d, &e);
	if (!err)
		agent_tamper_policy(d.pol);
	if (!err)
		err = settle(r, &d, &e);
	note_passing(r, &e);
	if (r->a->source->ops->settled)
		r->a->source->ops->settled(r->a->source, err ? &e : NULL);
	if (err) {
		refuse(r, &e);
		hold_on(r);
	} else {
		accept_forgive(&r->accept);
	}
	desired_free(&d);
	e = (struct bwl_err){ 0 };
	if (repair(r, &e))
		agent_log_err(LOG_ERR, "policy", &e);
	return err;
}

/*
 * While another tool changes the policy, a look is put off to the next tick: the main loop, which
 * also renews the heartbeat, does not wait. After this long it says so.
 */
#define PATIENCE_NS 10000000000ULL
static void look_soon(struct reconcile *r)
{
	uint64_t now = bwl_now_ns();

	if (bwl_pins_are_busy(r->a->pins)) {
		if (!r->busy_ns)
			r->busy_ns = now;
		else if (r->busy_ns + PATIENCE_NS <= now)
			tell(r, LOG_WARNING, "policy",
			     "another bwlimit tool has been changing the policy for 10 s: nothing else comes into force before it ends");
		return;
	}
	r->busy_ns = 0;
	look(r);
}

static int on_minute(sd_event_source *s, uint64_t us, void *arg)
{
	struct reconcile *r = arg;

	(void)us;
	look_soon(r);
	bwl_past_mark(r->a->pins);
	return agent_again(s, EVERY_US);
}

static int on_source(sd_event_source *s, int fd, uint32_t revents, void *arg)
{
	struct reconcile *r = arg;

	(void)s, (void)fd, (void)revents;
	if (!r->a->source->ops->drain(r->a->source))
		return 0;
	look_soon(r);
	agent_beat_now();
	return 0;
}

int agent_reconcile_once(struct agent *a)
{
	BWL_AUTO(end) struct reconcile *r = calloc(1, sizeof(*r));

	if (!r)
		return -ENOMEM;
	r->a = a;
	r->accept = (struct accept){ .dir = a->state_dir, .source = a->source };
	return look(r);
}

int agent_reconcile_start(struct agent *a, void **ret_part, struct bwl_err *e)
{
	BWL_AUTO(end) struct reconcile *r = calloc(1, sizeof(*r));
	int fd = a->source->ops->fd(a->source), err;

	if (!r)
		return bwl_fail(e, ENOMEM, "out of memory");
	r->a = a;
	r->accept = (struct accept){ .dir = a->state_dir, .source = a->source };
	err = agent_timer(a, EVERY_US, on_minute, r, &r->timer, e);
	if (err)
		return err;
	err = fd >= 0 ? sd_event_add_io(a->loop, &r->news, fd, EPOLLIN, on_source, r) : 0;
	if (err < 0)
		return bwl_fail(e, -err, "cannot watch the source of the policy: %s",
				strerror(-err));
	look(r);
	*ret_part = bwl_take_ptr(&r);
	return 0;
}

void agent_reconcile_tick(struct agent *a, void *part)
{
	struct reconcile *r = part;
	struct bwl_err e = { 0 };

	if (r->busy_ns || bwl_is_trial_over(a->pins, bwl_now_ns()) ||
	    (r->again_ns && r->again_ns <= bwl_now_ns()))
		look_soon(r);
	/* What a killed writer left, spent volumes and old names; one that is alive does it itself.
	 */
	if (bwl_is_unsettled(a->pins) && !bwl_pins_are_busy(a->pins) &&
	    bwl_settle_held(a->pin_dir, &e))
		tell_err(r, LOG_ERR, &e);
}

void agent_reconcile_stop(struct agent *a, void *part)
{
	(void)a;
	end(part);
}
