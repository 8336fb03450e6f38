// SPDX-License-Identifier: GPL-2.0-or-later
/* Starting, asking and stopping what parts.c lists. */
#include <stdio.h>
#include <string.h>
#include <syslog.h>
#include "parts.h"

#define REPEAT_NS (600 * 1000000000ULL) /* a lasting condition is reported again */

static struct state {
	bool runs;
	void *part;
	char told[sizeof(((struct bwl_err *)0)->text)];
	uint64_t told_ns;
} state[AGENT_PARTS_MAX];

static void tell(const struct agent_part *p, struct state *s, struct bwl_err *e)
{
	uint64_t now = bwl_now_ns();

	if (!strcmp(s->told, e->text) && now - s->told_ns < REPEAT_NS)
		return;
	snprintf(s->told, sizeof(s->told), "%s", e->text);
	s->told_ns = now;
	if (p->without && !*e->hint)
		bwl_err_hint(e, "%s", p->without);
	agent_log_err(p->priority, p->event, e);
}

static void start(struct agent *a, const struct agent_part *p, struct state *s)
{
	struct bwl_err e = { 0 };

	s->runs = !p->start || !p->start(a, &s->part, &e);
	if (!s->runs)
		tell(p, s, &e);
	else if (*s->told)
		agent_log(LOG_NOTICE, p->event, "%s: started", p->name);
	if (s->runs)
		*s->told = '\0';
}

static void stop(struct agent *a, const struct agent_part *p, struct state *s)
{
	if (s->runs && p->stop)
		p->stop(a, s->part);
	s->runs = false;
	s->part = NULL;
}

void agent_parts_run(struct agent *a)
{
	for (unsigned i = 0; i < agent_nparts; i++) {
		const struct agent_part *p = &agent_parts[i];
		struct state *s = &state[i];

		if (p->wanted && !p->wanted(a))
			stop(a, p, s);
		else if (!s->runs)
			start(a, p, s);
		if (s->runs && p->tick)
			p->tick(a, s->part);
	}
}

void agent_parts_stop(struct agent *a, bool replaced)
{
	for (unsigned i = agent_nparts; i > 0 && replaced; i--)
		if (agent_parts[i - 1].by_maps)
			stop(a, &agent_parts[i - 1], &state[i - 1]);
	for (unsigned i = agent_nparts; i > 0; i--)
		stop(a, &agent_parts[i - 1], &state[i - 1]);
}
