/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * No pins: is nothing attached, or are they out of sight? The ports themselves say whether programs
 * of ours run, and /proc/self/mountinfo whether something lies over the BPF file system.
 * Enforcement goes on meanwhile; what could go wrong is a second attach beside the first.
 */
#ifndef BWL_LOADER_HIDDEN_H
#define BWL_LOADER_HIDDEN_H

#include <bwl/err.h>

/* -ENOENT, and e says which it is, by its id too. 0: there are pins. */
int bwl_hidden_look(const char *pin_dir, struct bwl_err *e);
/* Before an attach makes anything: refused, unless it is a first one or repairs. */
int bwl_hidden_attach(const char *pin_dir, struct bwl_err *e);

#endif
