/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A suspend: ticks stand still, CLOCK_BOOTTIME continues, and what has ended meanwhile must not
 * pass by ticks (clock.h).
 *
 * The kernel reports each step of a suspend by the tracepoint suspend_resume. The step that matters
 * comes right after timekeeping_resume(), which moves CLOCK_BOOTTIME: at the end of
 * syscore_resume() (suspend to RAM, hibernation), while the other CPUs are off, and in
 * tick_unfreeze() (suspend to idle), for which they wait. Interrupts are off in both, so no packet
 * is judged in between. Every step counts: each CPU then reads the clock once.
 */
#ifndef BWL_SUSPEND_H
#define BWL_SUSPEND_H

#include "../../maps/maps.bpf.h"
#include "compiler.h"

/* Two concurrent steps may count as one: the value changes nevertheless. */
static __always_inline void bwl_resumed(void)
{
	__u32 zero = 0;
	struct bwl_ctl *ctl = bpf_map_lookup_elem(&bwl_ctl_v1, &zero);

	if (ctl)
		bwl_write(ctl->resumes, ctl->resumes + 1);
}

#endif
