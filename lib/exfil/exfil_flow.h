/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Maximum flow in a small network with real capacities (Dinic). Library only. */
#ifndef BWL_EXFIL_FLOW_H
#define BWL_EXFIL_FLOW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct bwl_edge {
	uint32_t from, to;
	double cap; /* INFINITY: no limit */
	double flow;
	uint32_t next; /* of the same `from`; BWL_NO_EDGE ends */
};
#define BWL_NO_EDGE 0xffffffffU

/* Edge 2 i is the one added, 2 i + 1 its way back. Node 0 is the source, node 1 the sink. */
struct bwl_flow {
	struct bwl_edge *edges;
	size_t nedges, room;
	uint32_t *first; /* by node */
	uint32_t *level, *at;
	size_t nnodes;
};

int bwl_flow_init(struct bwl_flow *f, size_t nnodes);
void bwl_flow_done(struct bwl_flow *f);
/* Index of the edge, or -ENOMEM. */
long bwl_flow_edge(struct bwl_flow *f, uint32_t from, uint32_t to, double cap);
/* The maximum; INFINITY when a path has no limit at all. Starts over with the caps as they are. */
double bwl_flow_max(struct bwl_flow *f);
/* After bwl_flow_max(): is this edge in the smallest cut next to the source? */
bool bwl_flow_binds(const struct bwl_flow *f, long edge);

#endif
