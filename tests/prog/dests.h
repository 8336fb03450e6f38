/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Peers 10.1.0.N of a policy without a heartbeat, packets to them, and how many of them pass. */
#ifndef BWL_TEST_DESTS_H
#define BWL_TEST_DESTS_H

#include <bpf/bpf.h>
#include "prog.h"

#define DEST(name, n)                                                                              \
	"  - { name: " name ", addresses: [10.1.0." #n "], path: clear, via: 192.0.2.1, "
#define TO(n) "eth ip4 src=10.0.7.2 dst=10.1.0." #n " "
#define HEAD PORTS "heartbeat: none\n"

static inline unsigned drain(const char *spec)
{
	unsigned n = 0;

	while (!strncmp(host(spec), "pass", 4))
		n++;
	return n;
}

/* What all CPUs hold of a grant, a floor or a class, by its entry in bwl_state_v1. */
static inline uint64_t held_of(uint32_t state)
{
	struct bwl_share_entry *x = calloc((size_t)rig->cpus, sizeof(*x));
	uint32_t index = bwl_share_index(state);
	uint64_t sum = 0;
	int i;

	assert_non_null(x);
	assert_int_equal(bpf_map_lookup_elem(rig->pins->fd[BWL_PIN_share], &index, x), 0);
	for (i = 0; i < rig->cpus; i++)
		sum += x[i].share.owner ==
				       bwl_share_owner(state, rig->pins->ctl->active % BWL_SCHEDS)
			       ? x[i].share.bytes
			       : 0;
	free(x);
	return sum;
}

static inline uint64_t held_of_peer(const char *name)
{
	return held_of(bwl_grant_state(id_of(name)));
}

#endif
