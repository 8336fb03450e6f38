/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * In place of libbpf's: with it the programs are compiled for this process. Helpers are functions
 * of plain.c, as far as a packet in the clear from a host port needs them; the others refuse.
 */
#ifndef BWL_TEST_BPF_HELPERS_H
#define BWL_TEST_BPF_HELPERS_H

#include <linux/pkt_cls.h>
#include <linux/types.h>

#define SEC(name)
#define __uint(name, val) int(*name)[val]
#define __type(name, val) typeof(val) *name
#define __array(name, val) typeof(val) *name[]
#define __ksym
#define __kconfig
#ifndef __weak
#define __weak __attribute__((weak))
#endif
#ifndef __always_inline
#define __always_inline inline __attribute__((always_inline))
#endif

void *plain_find(void *map, const void *key);
#define bpf_map_lookup_elem(map, key) plain_find(map, key)
long plain_load(const struct __sk_buff *skb, __u32 off, void *to, __u32 len);
#define bpf_skb_load_bytes(skb, off, to, len) plain_load(skb, off, to, len)
#define bpf_get_smp_processor_id() 0U
#define bpf_redirect(ifindex, flags) ((void)(ifindex), (long)TC_ACT_REDIRECT)
long plain_redirect(__u32 ifindex, const struct bpf_redir_neigh *to);
#define bpf_redirect_neigh(ifindex, params, len, flags) plain_redirect(ifindex, params)
#define bpf_skb_ecn_set_ce(skb) ((void)(skb), 0L)
#define bpf_xdp_get_buff_len(xdp) ((__u64)((xdp)->data_end - (xdp)->data))
/* Nobody reads the ring, and it is full. */
#define bpf_ringbuf_query(ring, what) (~0ULL)
#define bpf_ringbuf_reserve(ring, size, flags) ((void *)0)
#define bpf_ringbuf_submit(data, flags) ((void)(data))

#define BWL_REFUSES(...) ((void)(__VA_ARGS__), -1L)
#define bpf_xdp_adjust_meta(...) BWL_REFUSES(__VA_ARGS__)
#define bpf_skb_pull_data(...) BWL_REFUSES(__VA_ARGS__)
#define bpf_skb_store_bytes(...) BWL_REFUSES(__VA_ARGS__)
#define bpf_skb_set_tstamp(...) BWL_REFUSES(__VA_ARGS__)
#define bpf_skb_vlan_pop(...) BWL_REFUSES(__VA_ARGS__)
#define bpf_skb_change_type(...) BWL_REFUSES(__VA_ARGS__)
#define bpf_skb_change_tail(...) BWL_REFUSES(__VA_ARGS__)
#define bpf_skb_adjust_room(...) BWL_REFUSES(__VA_ARGS__)
#define bpf_l4_csum_replace(...) BWL_REFUSES(__VA_ARGS__)
#define bpf_csum_diff(...) BWL_REFUSES(__VA_ARGS__)
#define bpf_skb_get_xfrm_state(...) BWL_REFUSES(__VA_ARGS__)
#define bpf_probe_read_kernel(...) BWL_REFUSES(__VA_ARGS__)

#endif
