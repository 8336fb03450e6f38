// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A rollout's health, for people: beside its state in the store, so that it can be read whoever
 * leads. At most one write a second, however many rollouts are running.
 */
#include <stdlib.h>
#include <string.h>
#include "lead_rollout.h"

#define CHANGED_NS (5 * CTRL_S) /* changes are reported at most this often */
#define AGAIN_NS (30 * CTRL_S)  /* otherwise this often: its age shows that somebody judges */
#define EACH_NS CTRL_S

/* Two readings of two clocks may differ by a second without any change. */
static int64_t steady(int64_t was_s, int64_t is_s)
{
	return is_s - was_s > 1 || was_s - is_s > 1 ? is_s : was_s;
}

static struct rollout_health health_of(const struct lead *l, const struct lead_rollout *lr,
				       const struct rollout_verdict *v, uint64_t now_ns,
				       int64_t now_s)
{
	const struct rollout_rules *rules = &l->c->o->rules;
	uint64_t end_ns = lr->since_ns + rules->soak_ns;
	struct rollout_health h = {
		.version = lr->r.version,
		.soak_until_s = end_ns > now_ns ? now_s + (int64_t)((end_ns - now_ns) / CTRL_S)
						: now_s - (int64_t)((now_ns - end_ns) / CTRL_S),
		.nstages = rules->nstages,
		.judged = v->judged,
		.unwell = v->unwell,
		.bad = v->bad,
		.nwaits = v->nwaits,
	};

	if (lr->health.version == h.version)
		h.soak_until_s = steady(lr->health.soak_until_s, h.soak_until_s);
	memcpy(h.stage, rules->stage, sizeof(h.stage));
	memcpy(h.why, v->why, sizeof(h.why));
	memcpy(h.waits, v->waits, sizeof(h.waits));
	return h;
}

int lead_health(struct lead *l, struct lead_rollout *lr, const struct rollout_verdict *v,
		uint64_t now_ns, int64_t now_s, struct bwl_err *e)
{
	struct rollout_health h = health_of(l, lr, v, now_ns, now_s);
	BWL_AUTO_FREE char *is = rollout_health_text(&h);
	char key[BWL_ETCD_KEY_MAX];
	struct bwl_etcd_put put = { .key = key, .was = BWL_ETCD_ANY };
	uint64_t due_ns = lr->health_ns;
	int r;

	/* said_s is 0 in both, so equal health has equal text. A new stage is reported at once. */
	if (lr->health.version != h.version)
		due_ns = 0;
	else
		due_ns += lr->health_text && !strcmp(lr->health_text, is) ? AGAIN_NS : CHANGED_NS;
	if (now_ns < due_ns || now_ns < l->health_ns ||
	    lead_key(l, "health", lr->tray, lr->r.name, key))
		return 0;
	free(lr->health_text);
	lr->health_text = bwl_take_ptr(&is);
	lr->health = h;
	h.said_s = now_s;
	is = rollout_health_text(&h);
	put.value = is;
	put.len = strlen(is);
	r = lead_put(l, &put, 1, e);
	lr->health_ns = now_ns;
	l->health_ns = now_ns + EACH_NS;
	return r;
}
