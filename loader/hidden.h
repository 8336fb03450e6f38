/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * There are no pins: is nothing attached, or are the pins out of sight? The ports themselves tell
 * whether our programs run, and /proc/self/mountinfo whether something is mounted over the BPF file
 * system. Enforcement continues meanwhile; the risk is a second attach beside the first.
 */
#ifndef BWL_LOADER_HIDDEN_H
#define BWL_LOADER_HIDDEN_H

#include <bwl/err.h>

/* -ENOENT, and e says which it is, also by its id. 0: there are pins. */
int bwl_hidden_look(const char *pin_dir, struct bwl_err *e);
/* Before an attach creates anything: refused, unless it is a first one or a repair. */
int bwl_hidden_attach(const char *pin_dir, struct bwl_err *e);

#endif
