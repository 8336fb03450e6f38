// SPDX-License-Identifier: GPL-2.0-or-later
/* See pull.h. */
#include <stdio.h>
#include <string.h>
#include "pull.h"

static const char *const paths[] = { "/v1/top?most=16", "/v1/usage?most=32", "/v1/reasons",
				     "/v1/exfil?size=1tb" };
enum { TOP, USAGE, REASONS, EXFIL, DOCUMENTS };

static bool wants_exfil(const struct model_tray *t)
{
	return t->rounds % PULL_EXFIL_ROUNDS == 0;
}

static uint64_t about(struct pull *p, uint64_t ns)
{
	return ns * 9 / 10 + ns / 5 / 1024 * (p->chance() % 1024);
}

static void rest(struct pull *p, struct model_tray *t, uint64_t now_ns)
{
	uint64_t ns = PULL_ROUND_NS;

	for (unsigned i = 0; i < t->failures && ns < PULL_FAILED_MAX_NS; i++)
		ns *= 2;
	t->step = 0;
	t->next_ns = now_ns + about(p, ns < PULL_FAILED_MAX_NS ? ns : PULL_FAILED_MAX_NS);
}

static void failed(struct pull *p, struct model_tray *t, const char *why, uint64_t now_ns)
{
	snprintf(t->why, sizeof(t->why), "%.95s", why);
	t->failures++;
	rest(p, t, now_ns);
}

static int take(struct pull *p, struct model_tray *t, const json_t *o, int64_t wall_s)
{
	switch (t->step) {
	case TOP:
		return model_take_top(p->set, t, o, wall_s);
	case USAGE:
		return model_take_usage(p->set, t, o);
	case REASONS:
		return model_take_reasons(t, o);
	default:
		return model_take_exfil(p->set, t, o);
	}
}

static void arrived(struct pull *p, const struct pull_got *got, uint64_t now_ns, int64_t wall_s)
{
	struct model_tray *t = model_tray(p->set, got->tray, strlen(got->tray));
	json_t *o;
	int r;

	p->running--;
	if (!t || !t->busy)
		return;
	t->busy = false;
	if (!got->text) {
		failed(p, t, got->why->text, now_ns);
		return;
	}
	o = json_loadb(got->text, got->len, JSON_REJECT_DUPLICATES, NULL);
	r = take(p, t, o, wall_s);
	json_decref(o);
	if (r) {
		failed(p, t, "its answer is not a document of that kind", now_ns);
		return;
	}
	t->heard_ns = now_ns;
	t->cert_end_s = got->cert_end_s ? got->cert_end_s : t->cert_end_s;
	t->step++;
	if (t->step < EXFIL || (t->step == EXFIL && wants_exfil(t)))
		return;
	*t->why = '\0';
	t->failures = 0;
	t->rounds++;
	rest(p, t, now_ns);
}

static void ask(struct pull *p, struct model_tray *t, uint64_t now_ns)
{
	struct bwl_err e = { 0 };

	if (p->transport->begin(p->arg, t->name, t->at, paths[t->step], &e)) {
		failed(p, t, e.text, now_ns);
		return;
	}
	t->busy = true;
	p->running++;
}

uint64_t pull_step(struct pull *p, uint64_t now_ns, int64_t wall_s)
{
	uint64_t next_ns = now_ns + PULL_S;
	struct pull_got got;

	while (p->transport->next(p->arg, &got))
		arrived(p, &got, now_ns, wall_s);
	for (size_t i = 0; i < p->set->n; i++) {
		struct model_tray *t = p->set->tray[i];

		if (t->busy || !*t->at)
			continue;
		/* A fleet's first round is spread, too. */
		if (!t->next_ns)
			t->next_ns = now_ns + PULL_ROUND_NS / 8 / 1024 * (p->chance() % 1024);
		if (t->next_ns <= now_ns && p->running < PULL_AT_ONCE)
			ask(p, t, now_ns);
		else if (t->next_ns > now_ns && t->next_ns < next_ns)
			next_ns = t->next_ns;
	}
	return next_ns;
}
