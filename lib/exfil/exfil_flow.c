// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Dinic's algorithm. Every augmentation empties at least one edge exactly (a double minus
 * itself is zero), so it ends without a tolerance. Paths have four edges: recursion is shallow.
 */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "exfil_flow.h"

#define UNSEEN 0xffffffffU

int bwl_flow_init(struct bwl_flow *f, size_t nnodes)
{
	*f = (struct bwl_flow){ .nnodes = nnodes };
	f->first = malloc(nnodes * sizeof(*f->first));
	f->level = malloc(nnodes * sizeof(*f->level));
	f->at = malloc(nnodes * sizeof(*f->at));
	if (!f->first || !f->level || !f->at)
		return -ENOMEM;
	for (size_t i = 0; i < nnodes; i++)
		f->first[i] = BWL_NO_EDGE;
	return 0;
}

void bwl_flow_done(struct bwl_flow *f)
{
	free(f->edges);
	free(f->first);
	free(f->level);
	free(f->at);
	*f = (struct bwl_flow){ 0 };
}

static void put(struct bwl_flow *f, uint32_t from, uint32_t to, double cap)
{
	f->edges[f->nedges] = (struct bwl_edge){
		.from = from,
		.to = to,
		.cap = cap,
		.next = f->first[from],
	};
	f->first[from] = f->nedges++;
}

long bwl_flow_edge(struct bwl_flow *f, uint32_t from, uint32_t to, double cap)
{
	if (f->nedges + 2 > f->room) {
		size_t room = f->room ? 2 * f->room : 64;
		struct bwl_edge *e = reallocarray(f->edges, room, sizeof(*e));

		if (!e)
			return -ENOMEM;
		f->edges = e;
		f->room = room;
	}
	put(f, from, to, cap);
	put(f, to, from, 0);
	return (long)f->nedges - 2;
}

static double left(const struct bwl_edge *e)
{
	return isinf(e->cap) ? INFINITY : e->cap - e->flow;
}

/* Distances from the source along edges with some capacity left. true: the sink has one. */
static bool find_levels(struct bwl_flow *f)
{
	uint32_t *queue = f->at, head = 0, tail = 0;

	for (size_t i = 0; i < f->nnodes; i++)
		f->level[i] = UNSEEN;
	f->level[0] = 0;
	queue[tail++] = 0;
	while (head < tail) {
		uint32_t n = queue[head++];

		for (uint32_t i = f->first[n]; i != BWL_NO_EDGE; i = f->edges[i].next) {
			const struct bwl_edge *e = &f->edges[i];

			if (f->level[e->to] != UNSEEN || left(e) <= 0)
				continue;
			f->level[e->to] = f->level[n] + 1;
			queue[tail++] = e->to;
		}
	}
	return f->level[1] != UNSEEN;
}

static double push(struct bwl_flow *f, uint32_t n, double most)
{
	if (n == 1)
		return most;
	for (uint32_t *i = &f->at[n]; *i != BWL_NO_EDGE; *i = f->edges[*i].next) {
		struct bwl_edge *e = &f->edges[*i], *back = &f->edges[*i ^ 1];
		double room = left(e), got;

		if (room <= 0 || f->level[e->to] != f->level[n] + 1)
			continue;
		got = push(f, e->to, room < most ? room : most);
		if (got <= 0)
			continue;
		if (isinf(got))
			return got;
		/* a full edge has nothing left, whatever rounding results in */
		e->flow = got == room ? e->cap : e->flow + got;
		back->flow -= got;
		return got;
	}
	return 0;
}

double bwl_flow_max(struct bwl_flow *f)
{
	double sum = 0, got;

	for (size_t i = 0; i < f->nedges; i++)
		f->edges[i].flow = 0;
	while (find_levels(f)) {
		memcpy(f->at, f->first, f->nnodes * sizeof(*f->at));
		while ((got = push(f, 0, INFINITY)) > 0) {
			if (isinf(got))
				return INFINITY;
			sum += got;
		}
	}
	return sum;
}

bool bwl_flow_binds(const struct bwl_flow *f, long edge)
{
	const struct bwl_edge *e = &f->edges[edge];

	return f->level[e->from] != UNSEEN && f->level[e->to] == UNSEEN;
}
