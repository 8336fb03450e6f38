/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The time. Reading the clock exactly (CLOCK_BOOTTIME) costs as much as finding the peer. So a
 * packet whose CPU holds enough of every limit is judged by the number of ticks (jiffies), which is
 * in memory, times their length, plus an offset that makes it no earlier than now. So deadlines
 * come early, never late; when one has come by that time, the exact clock is read (bwl_exact()).
 *
 * Ticks follow the monotonic clock (tick_do_update_jiffies64(); a kernel with a purely periodic
 * tick may lose some), which stands still in suspend; CLOCK_BOOTTIME does not. Each CPU notes the
 * difference whenever it reads both: with every share that it fills, after BWL_UNCLOCKED_NS, and
 * after every BWL_UNCLOCKED_MAX bytes beside shares. Every deadline is then checked again
 * (bwl_exactly() in charge.h). So if the tick has stopped for longer than bwl_late_most_ns, a CPU
 * passes at most what it still held plus that many bytes.
 *
 * After a suspend it passes none of that: bwl_tp_suspend() changes bwl_ctl.resumes before any other
 * program can run (suspend.h), and the clock is read.
 */
#ifndef BWL_CLOCK_H
#define BWL_CLOCK_H

#include "../../maps/maps.bpf.h"
#include "compiler.h"

/*
 * Two ticks, in ns: the maximum age of the ticks' time. User space sets it before loading; 0: the
 * clock is always read exactly.
 */
const volatile __u64 bwl_late_most_ns = 0;

#define BWL_UNCLOCKED_MAX (1U << 17) /* bytes, the maximum of a share */
#define BWL_UNCLOCKED_NS 100000000   /* by ticks; the effect of a lost tick lasts no longer */

#ifdef BWL_TEST_CLOCK
/* The test object's clocks; the shipped object has none of this. */
__u64 bwl_test_now_ns, bwl_test_behind_ns; /* how far the ticks are behind */
static __always_inline __u64 bwl_now(void)
{
	return bwl_read(bwl_test_now_ns);
}
#define bwl_now_mono() bwl_now()
#define bwl_now_ticks() (bwl_now() - bwl_read(bwl_test_behind_ns))
#else
static __always_inline __u64 bwl_now(void)
{
	return bpf_ktime_get_boot_ns();
}
#define bwl_now_mono() bpf_ktime_get_ns() /* stands still in suspend, as fq's clock does */
/* Kernel 5.6, where the JIT inlines it. */
#define bwl_now_ticks() (bpf_jiffies64() * (bwl_late_most_ns / 2))
#endif

static __always_inline struct bwl_cpu *bwl_cpu_own(void)
{
	__u32 zero = 0;

	return bpf_map_lookup_elem(&bwl_cpu_v1, &zero);
}

/* The exact time; afterwards the ticks' time is known to lag by no more than allowed. */
static __always_inline __u64 bwl_now_noted(void)
{
	struct bwl_cpu *cpu = bwl_late_most_ns ? bwl_cpu_own() : 0;
	__u64 ticks, now;

	if (!cpu)
		return bwl_now();
	ticks = bwl_now_ticks(); /* first: in the other order it could be too small */
	now = bwl_now();
	bwl_write(cpu->late_ns, now - ticks + bwl_late_most_ns);
	bwl_write(cpu->exact_ns, now);
	bwl_write(cpu->unclocked, 0);
	return now;
}

/* A time not before now, or, if *ret_exact, now. resumes: bwl_ctl's, read before. */
static __always_inline __u64 bwl_now_late(__u32 resumes, __u8 *ret_exact)
{
	struct bwl_cpu *cpu = bwl_late_most_ns ? bwl_cpu_own() : 0;
	__u64 now, late;

	*ret_exact = 1;
	if (!cpu)
		return bwl_now_noted();
	late = bwl_read(cpu->late_ns);
	now = bwl_now_ticks() + late;
	if (bwl_likely(late && cpu->resumes == resumes &&
		       now - cpu->exact_ns <= BWL_UNCLOCKED_NS)) {
		*ret_exact = 0;
		return now;
	}
	bwl_write(cpu->resumes, resumes);
	return bwl_now_noted();
}

#endif
