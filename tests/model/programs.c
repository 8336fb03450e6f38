// SPDX-License-Identifier: GPL-2.0-or-later
/* The programs of bpf/, compiled for this process, and where plain.c finds their maps. */
#include <stdint.h>
/* lib/tables has functions of these names. */
#define bwl_cpu_bits programs_cpu_bits
#define bwl_late_most_ns programs_late_most_ns
#include "bpf/bwlimit.bpf.c"
#include "plain.h"

#define X(name, ...) { .at = &bwl_##name##_v1 },
#define OWN(map)                                                                                   \
	{ &(map), sizeof(*(map).type) / sizeof(int), sizeof(*(map).key), sizeof(*(map).value),     \
	  sizeof(*(map).max_entries) / sizeof(int) }, /* as the object's BTF says it */

/* clang-format off */
const struct plain_bound plain_bound[] = {
	BWL_MAPS(X)
#undef X
#define X(name, ...) OWN(bwl_##name)
	BWL_OWN_MAPS(X)
#undef X
	{ 0 }
};
/* clang-format on */

/* What the loader writes before loading. */
const struct plain_rodata plain_rodata = { &bwl_late_most_ns, &bwl_cpu_bits };
uint64_t *const plain_clock = (uint64_t *)&bwl_test_now_ns;

long plain_load(const struct __sk_buff *skb, __u32 off, void *to, __u32 len)
{
	if (off > skb->len || len > skb->len - off)
		return -1;
	__builtin_memcpy(to, (const char *)(long)skb->data + off, len);
	return 0;
}

struct plain_sent plain_sent;

long plain_redirect(__u32 ifindex, const struct bpf_redir_neigh *to)
{
	plain_sent = (struct plain_sent){ .ifindex = ifindex };
	if (to) {
		plain_sent.family = (uint8_t)to->nh_family;
		__builtin_memcpy(plain_sent.via, to->ipv6_nh, sizeof(plain_sent.via));
	}
	return TC_ACT_REDIRECT;
}
