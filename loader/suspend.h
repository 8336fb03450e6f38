/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The program that notes a suspend (bpf/lib/suspend.h), at the tracepoint power:suspend_resume. Its
 * link is pinned as links/suspend: it outlives the tools, as ports' programs do.
 */
#ifndef BWL_LOADER_SUSPEND_H
#define BWL_LOADER_SUSPEND_H

#include "load.h"
#include "check.h"

/*
 * Call after the programs were pinned (bwl_attach_pin_progs()). An existing link is replaced: both
 * stay attached until the rename. If the kernel cannot suspend, a missing tracepoint is no error.
 */
int bwl_suspend_attach(const struct bwl_load *l, struct bwl_err *e);

/* verify's check for these maps. built: this binary's programs; NULL: unknown. */
void bwl_suspend_check(struct bwl_report *r, const struct bwl_pins *p, struct bwlimit *built);

#endif
