/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * How much key exchange the DPU takes in the name of one peer's DPU, whose address anybody on the
 * wire can write. A flood ends here, before charon, and at that peer's limit alone: the others'
 * stay whole. Pure, but for the map: a GCRA in packets (gcra.h has the one in bytes).
 */
#ifndef BWL_IKE_H
#define BWL_IKE_H

#include "compiler.h"
#include "../../maps/abi.h"

/* Packets a second and at once. An exchange with ML-KEM and certificates takes about 20. */
#define BWL_IKE_RATE 64
#define BWL_IKE_BURST 64
#define BWL_IKE_NS (1000000000ULL / BWL_IKE_RATE)
/* Peers whose ids are so far apart share a limit. */
#define BWL_IKE_WORDS 65536

/* word: when everything taken so far would have come at the rate, ns. A lost race refuses. */
static __always_inline _Bool bwl_ike_take(__u64 *word, __u64 now_ns)
{
	__u64 was = bwl_read(*word), due = was;

	if ((__s64)(due - now_ns) < 0)
		due = now_ns; /* idle: the burst is whole, and no more */
	if (due + BWL_IKE_NS - now_ns > BWL_IKE_BURST * BWL_IKE_NS)
		return 0;
	return bwl_cas(word, was, due + BWL_IKE_NS) == was;
}

#ifdef __bpf__
/* Not pinned: a limit that programs of another attach begin anew. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, BWL_IKE_WORDS);
	__type(key, __u32);
	__type(value, __u64);
} bwl_ike_word SEC(".maps");
#endif

#endif
