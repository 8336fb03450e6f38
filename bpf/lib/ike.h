/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Limits the key exchange that the DPU accepts from one peer's DPU, whose address anybody on the
 * wire can forge. A flood ends here, before charon, and at that peer's limit alone: other peers'
 * limits stay untouched. An IKE SA that charon has authenticated has an additional limit, so that
 * an attacker who does not see its SPIs cannot keep it from rekeying. Pure, except for the map: a
 * GCRA in packets (gcra.h has the one in bytes).
 */
#ifndef BWL_IKE_H
#define BWL_IKE_H

#include "compiler.h"
#include "../../maps/abi.h"

/* Packets a second and at once. An exchange with ML-KEM and certificates takes about 20. */
#define BWL_IKE_RATE 64
#define BWL_IKE_BURST 64
#define BWL_IKE_NS (1000000000ULL / BWL_IKE_RATE)
/* Peers whose ids differ by a multiple of this share a limit. */
#define BWL_IKE_WORDS 65536

/* word: when everything accepted so far would have come at the rate, ns. A lost race refuses. */
static __always_inline _Bool bwl_ike_take(__u64 *word, __u64 now_ns)
{
	__u64 was = bwl_read(*word), due = was;

	if ((__s64)(due - now_ns) < 0)
		due = now_ns; /* idle: the full burst, and no more */
	if (due + BWL_IKE_NS - now_ns > BWL_IKE_BURST * BWL_IKE_NS)
		return 0;
	return bwl_cas(word, was, due + BWL_IKE_NS) == was;
}

/* RFC 7296, 3.1, as far as it is used. */
struct bwl_ike_hdr {
	__u64 spi[2]; /* initiator's, responder's */
	__u8 next, version, exchange, flags;
} __attribute__((packed));

/*
 * Does charon send this by an authenticated IKE SA, as far as a packet shows it? CREATE_CHILD_SA or
 * INFORMATIONAL (36, 37), encrypted as a whole or as a fragment (payloads 46, 53; RFC 7383). Not
 * IKE_AUTH, whose refusal is sent to anybody, nor cleartext about a message from anybody.
 */
static __always_inline _Bool bwl_ike_proves(const struct bwl_ike_hdr *h)
{
	return h->version >> 4 == 2 && (h->exchange == 36 || h->exchange == 37) &&
	       (h->next == 46 || h->next == 53);
}

/* A peer's key exchange. */
struct bwl_ike {
	__u64 any_ns;   /* bwl_ike_take() */
	__u64 known_ns; /* the same, for `spi` only */
	/* the one charon last sent by; 0: none. Two words: a torn one matches nothing */
	__u64 spi[2];
};
BWL_ASSERT_SIZE(struct bwl_ike, 32);

/* The limit that applies to an arriving packet. */
static __always_inline __u64 *bwl_ike_word(struct bwl_ike *x, const struct bwl_ike_hdr *h)
{
	return h->spi[1] && h->spi[0] == bwl_read(x->spi[0]) && h->spi[1] == bwl_read(x->spi[1])
		       ? &x->known_ns
		       : &x->any_ns;
}

#ifdef __bpf__
/* Not pinned: another attach starts these limits anew. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, BWL_IKE_WORDS);
	__type(key, __u32);
	__type(value, struct bwl_ike);
} bwl_ike_peer SEC(".maps");

static __always_inline struct bwl_ike *bwl_ike_of(__u32 id)
{
	__u32 index = id & (BWL_IKE_WORDS - 1);

	return bpf_map_lookup_elem(&bwl_ike_peer, &index);
}

/* at: behind UDP's header, and the four zero bytes if present (RFC 3948, 2.2). */
static __always_inline _Bool bwl_ike_read(struct __sk_buff *skb, __u32 at, struct bwl_ike_hdr *h)
{
	return !bpf_skb_load_bytes(skb, at, h, sizeof(*h));
}
#endif

#endif
