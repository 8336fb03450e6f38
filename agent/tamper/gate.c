// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Frames that the last gate stopped: BWL_R_GATE of every uplink, and at the accept limit of each
 * peer that they were addressed to (bwl_state.stopped). The programs count the peer first, and this
 * reads the reasons first: so frames that are counted for no peer belong to none.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <bpf/libbpf.h>
#include "agent.h"
#include "gate.h"
#include "bwl/plural.h"

#define SECOND_NS 1000000000ULL
#define NAMED 4 /* peers named in the text */

struct tamper_gate {
	struct bwl_pins *pins;
	struct bwl_reason_count *count; /* one per CPU */
	uint32_t *was, *peer;           /* [max_peers]: stopped, low 32 bits; whose count rose */
	uint64_t frames, named;         /* of all uplinks; of all peers */
	uint64_t unnamed;               /* frames without a peer that were acted on */
	uint64_t said, said_ns;         /* frames at the last report */
};

static uint64_t frames_of(struct tamper_gate *g, unsigned port)
{
	uint32_t key = (BWL_MAX_PORTS + port) * BWL_REASON_COLUMNS + BWL_R_GATE;
	struct bwl_reason_count sum;

	bwl_reason_at(g->pins, key, g->count, &sum); /* 0 where it cannot be read */
	return sum.frames;
}

static uint64_t frames_now(struct tamper_gate *g, char *where, size_t size)
{
	uint64_t sum = 0;
	size_t n = 0;

	for (unsigned i = 0; i < BWL_MAX_PORTS; i++) {
		const struct bwl_dev *d = &g->pins->dev[i];

		if (!d->ifindex || d->kind != BWL_PORT_UPLINK)
			continue;
		sum += frames_of(g, i);
		if (n < size)
			n += (size_t)snprintf(where + n, size - n, "%s%.15s", n ? ", " : "",
					      d->name);
	}
	return sum;
}

/* Puts the peers whose count rose into g->peer. Returns by how much all of them rose. */
static uint64_t look_at_peers(struct tamper_gate *g, unsigned *n)
{
	uint64_t sum = 0;

	*n = 0;
	for (uint32_t id = 1; id < g->pins->schema.max_peers; id++) {
		uint32_t now = (uint32_t)__atomic_load_n(
			&g->pins->state[bwl_accept_state(id)].stopped, __ATOMIC_ACQUIRE);

		if (now == g->was[id])
			continue;
		sum += now - g->was[id];
		g->was[id] = now;
		g->peer[(*n)++] = id;
	}
	return sum;
}

/* Reported at most once a second; acted on every time. */
static void sign(struct tamper_gate *g, unsigned npeers, const char *where)
{
	uint64_t now = bwl_now_ns();
	char text[300];
	int n;

	n = snprintf(text, sizeof(text), "%llu frame%s stopped by the last gate of %s",
		     (unsigned long long)(g->frames - g->said), BWL_S(g->frames - g->said), where);
	for (unsigned i = 0; i < npeers && i < NAMED; i++)
		n += snprintf(text + n, sizeof(text) - (size_t)n, "%s%.31s", i ? ", " : ", to ",
			      g->pins->name[g->peer[i]].name);
	if (npeers > NAMED)
		snprintf(text + n, sizeof(text) - (size_t)n, " and %u more", npeers - NAMED);
	if (!agent_tamper(g->pins,
			  &(struct agent_sign){ .input = BWL_TAMPER_cleartext,
						.what = text,
						.peer = g->peer,
						.npeers = npeers },
			  now - g->said_ns < SECOND_NS))
		return;
	g->said = g->frames;
	g->said_ns = now;
}

void tamper_gate_look(struct tamper_gate *g)
{
	char where[80] = "";
	uint64_t frames = frames_now(g, where, sizeof(where)), unnamed;
	unsigned n;

	if (frames == g->frames)
		return;
	g->named += look_at_peers(g, &n);
	if (frames < g->frames) { /* the uplinks have changed: count from here */
		g->frames = g->said = frames;
		g->unnamed = frames - g->named;
		return;
	}
	g->frames = frames;
	unnamed = frames - g->named;
	if (n)
		sign(g, n, where);
	if ((int64_t)(unnamed - g->unnamed) <= 0)
		return;
	g->unnamed = unnamed;
	sign(g, 0, where);
}

int tamper_gate_new(struct bwl_pins *p, struct tamper_gate **ret, struct bwl_err *e)
{
	struct tamper_gate *g = calloc(1, sizeof(*g));
	char where[80];
	unsigned n;
	int cpus;

	if (!g)
		return bwl_fail(e, ENOMEM, "out of memory");
	*ret = g;
	g->pins = p;
	cpus = libbpf_num_possible_cpus();
	g->count = calloc(cpus > 0 ? (size_t)cpus : 1, sizeof(*g->count));
	g->was = calloc(p->schema.max_peers, sizeof(*g->was));
	g->peer = calloc(p->schema.max_peers, sizeof(*g->peer));
	if (!g->count || !g->was || !g->peer)
		return bwl_fail(e, ENOMEM, "out of memory");
	g->frames = g->said = frames_now(g, where, sizeof(where));
	g->named = look_at_peers(g, &n);
	g->unnamed = g->frames - g->named;
	return 0;
}

void tamper_gate_free(struct tamper_gate *g)
{
	if (!g)
		return;
	free(g->count);
	free(g->was);
	free(g->peer);
	free(g);
}
