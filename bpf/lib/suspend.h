/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A suspend: the ticks stand still in it, CLOCK_BOOTTIME goes on, and what has ended meanwhile must
 * not pass by the ticks (clock.h).
 *
 * The kernel tells of it by the tracepoint suspend_resume, at each of its steps. The one that
 * matters comes right after timekeeping_resume(), which moves CLOCK_BOOTTIME: at the end of
 * syscore_resume() (suspend to RAM, hibernation), of which the other CPUs are off, and in
 * tick_unfreeze() (suspend to idle), for which they wait. Interrupts are off in both, so no packet
 * is judged in between. Every step counts: each CPU then reads the clock once.
 */
#ifndef BWL_SUSPEND_H
#define BWL_SUSPEND_H

#include "../../maps/maps.bpf.h"
#include "compiler.h"

/* Two steps at once may count as one: it changes all the same. */
static __always_inline void bwl_resumed(void)
{
	__u32 zero = 0;
	struct bwl_ctl *ctl = bpf_map_lookup_elem(&bwl_ctl_v1, &zero);

	if (ctl)
		bwl_write(ctl->resumes, ctl->resumes + 1);
}

#endif
