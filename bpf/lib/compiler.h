/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Definitions with which the pure parts (limiter, window, parser) compile unchanged for the BPF
 * target and for the host (unit tests, fuzzers).
 */
#ifndef BWL_COMPILER_H
#define BWL_COMPILER_H

#include <linux/types.h>

#ifndef __always_inline
#define __always_inline inline __attribute__((always_inline))
#endif
#define bwl_likely(x) __builtin_expect(!!(x), 1)
#define bwl_unlikely(x) __builtin_expect(!!(x), 0)
#define bwl_read(x) (*(const volatile __typeof__(x) *)&(x))
#define bwl_write(x, v) (*(volatile __typeof__(x) *)&(x) = (v))
/*
 * Full barriers on both targets; BPF needs -mcpu=v3 (kernel 5.12). Without it clang would turn the
 * returned value into a truth value, and then test that.
 */
#ifdef __bpf__
#define bwl_cas(p, old, new)                                                                       \
	({                                                                                         \
		__u64 bwl_seen = __sync_val_compare_and_swap(p, old, new);                         \
		asm volatile("" : "+r"(bwl_seen));                                                 \
		bwl_seen;                                                                          \
	})
#else
#define bwl_cas(p, old, new) __sync_val_compare_and_swap(p, old, new)
#endif
#define bwl_swap(p, v) __sync_lock_test_and_set(p, v)
#define bwl_add(p, v) ((void)__sync_fetch_and_add(p, v))

#ifdef __bpf__
/* Static, but a separate function: verified in place, compiled once. */
#define BWL_FUNC static __attribute__((noinline))
/*
 * A global function: verified once, by itself, whatever its callers know (kernel 5.12 for pointer
 * arguments, which the verifier assumes may be NULL). Loops are in these.
 */
#define BWL_GLOBAL __attribute__((noinline))
#define BWL_UNROLL _Pragma("unroll")
#else
#define BWL_FUNC static inline __attribute__((unused))
#define BWL_GLOBAL static inline __attribute__((unused))
#define BWL_UNROLL
#endif

/*
 * x & mask, computed here: the verifier must see the bound in the register that indexes. clang
 * would move it before a spill to the stack, where the bound is lost.
 */
static __always_inline __u32 bwl_mask(__u32 x, __u32 mask)
{
#ifdef __bpf__
	asm volatile("" : "+r"(x));
#endif
	return x & mask;
}

/* x if below n, otherwise 0; like bwl_mask() for an n that is no power of two. */
static __always_inline __u32 bwl_bound(__u32 x, __u32 n)
{
#ifdef __bpf__
	asm volatile("" : "+r"(x));
#endif
	return x < n ? x : 0;
}

/* Returns p, and makes clang forget its origin and its target, which must have been written. */
static __always_inline const void *bwl_opaque(const void *p)
{
#ifdef __bpf__
	asm volatile("" : "+r"(p) : : "memory");
#endif
	return p;
}

/*
 * x - y, or 0 if negative. The barrier keeps clang from computing both and selecting, which takes
 * twice as long.
 */
static __always_inline __u32 bwl_above(__u32 x, __u32 y)
{
	if (x <= y)
		return 0;
#ifdef __bpf__
	asm volatile("" : "+r"(x));
#endif
	return x - y;
}

/*
 * x == 0, for x below 2^31. No branch, because the verifier would walk everything after it twice.
 */
static __always_inline __u8 bwl_is_zero(__u32 x)
{
	x -= 1;
#ifdef __bpf__
	asm volatile("" : "+r"(x));
#endif
	return x >> 31;
}

static __always_inline _Bool bwl_mac_differs(const __u8 *a, const __u8 *b)
{
	return (a[0] ^ b[0]) | (a[1] ^ b[1]) | (a[2] ^ b[2]) | (a[3] ^ b[3]) | (a[4] ^ b[4]) |
	       (a[5] ^ b[5]);
}

#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
#define bwl_ntohs(x) ((__u16)__builtin_bswap16(x))
#define bwl_ntohl(x) ((__u32)__builtin_bswap32(x))
#else
#define bwl_ntohs(x) ((__u16)(x))
#define bwl_ntohl(x) ((__u32)(x))
#endif
#define bwl_htons(x) bwl_ntohs(x)
#define bwl_htonl(x) bwl_ntohl(x)

#endif
