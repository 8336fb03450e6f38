/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The time. To read the clock exactly (CLOCK_BOOTTIME) costs as much as finding the peer. So a
 * packet whose CPU holds enough of every limit is judged by the number of ticks (jiffies), which is
 * in memory, times their length, plus what makes it a time that is not before now: deadlines come
 * early, never late, and where one has come by that the exact clock is asked (bwl_exact()).
 *
 * The ticks follow the monotonic clock (tick_do_update_jiffies64(); a kernel whose tick is purely
 * periodic may lose some), which stands still in suspend; CLOCK_BOOTTIME does not. What is between
 * them each CPU notes whenever it reads both, which is with every share that it fills, after
 * BWL_UNCLOCKED_NS, and for every BWL_UNCLOCKED_MOST bytes beside shares, and every deadline is
 * asked again then (bwl_exactly() in charge.h). So where the tick has stopped for longer than
 * bwl_late_most_ns, a CPU passes at most what it still held and so many bytes.
 *
 * After a suspend it passes none of that: bwl_tp_suspend() changes bwl_ctl.resumes before any
 * other program can run (suspend.h), and the clock is read.
 */
#ifndef BWL_CLOCK_H
#define BWL_CLOCK_H

#include "../../maps/maps.bpf.h"
#include "compiler.h"

/*
 * Two ticks, in ns: how old the ticks' time may be. User space says so before it loads; 0: the
 * clock is always read exactly.
 */
const volatile __u64 bwl_late_most_ns = 0;

#define BWL_UNCLOCKED_MOST (1U << 17) /* bytes, as a share has at most */
#define BWL_UNCLOCKED_NS 100000000    /* by the ticks; a tick that is lost is lost for no longer */

#ifdef BWL_TEST_CLOCK
/* The test object's clocks; the shipped object has none of this. */
__u64 bwl_test_now_ns, bwl_test_behind_ns; /* the ticks are behind by so much */
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
/* Kernel 5.6, where the JIT puts it in line. */
#define bwl_now_ticks() (bpf_jiffies64() * (bwl_late_most_ns / 2))
#endif

static __always_inline struct bwl_cpu *bwl_cpu_own(void)
{
	__u32 zero = 0;

	return bpf_map_lookup_elem(&bwl_cpu_v1, &zero);
}

/* The exact time, after which the ticks' time is known to lag by no more than it may. */
static __always_inline __u64 bwl_now_noted(void)
{
	struct bwl_cpu *cpu = bwl_late_most_ns ? bwl_cpu_own() : 0;
	__u64 ticks, now;

	if (!cpu)
		return bwl_now();
	ticks = bwl_now_ticks(); /* first: the other way round it could come out too small */
	now = bwl_now();
	bwl_write(cpu->late_ns, now - ticks + bwl_late_most_ns);
	bwl_write(cpu->exact_ns, now);
	bwl_write(cpu->unclocked, 0);
	return now;
}

/* A time that is not before now, or, *ret_exact, now. resumes: bwl_ctl's, read before. */
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
