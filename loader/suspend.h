/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The program that notes a suspend (bpf/lib/suspend.h), at the tracepoint power:suspend_resume. Its
 * link is pinned as links/suspend: it outlives the tools, as the programs of ports do.
 */
#ifndef BWL_LOADER_SUSPEND_H
#define BWL_LOADER_SUSPEND_H

#include "load.h"
#include "check.h"

/*
 * After the programs were pinned (bwl_attach_pin_progs()). A link that is there is replaced: both
 * stand until the rename. A kernel without the tracepoint is no error, if it cannot suspend.
 */
int bwl_suspend_attach(const struct bwl_load *l, struct bwl_err *e);

/* Of these maps, for verify; built: the programs of this binary, NULL: not known. */
void bwl_suspend_check(struct bwl_report *r, const struct bwl_pins *p, struct bwlimit *built);

#endif
