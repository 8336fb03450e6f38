/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Is every promise in force right now. */
#ifndef BWL_LOADER_VERIFY_H
#define BWL_LOADER_VERIFY_H

#include "attach.h"

/* Only what attach must know before it opens a host port: every program where it belongs. */
int bwl_verify_ports(struct bwl_load *l, struct bwl_err *e);

/* Everything, one line a check. Returns the number of failed checks, or negative. */
int bwl_verify(const struct bwl_attach *a, struct bwl_err *e);
int bwl_status(const struct bwl_attach *a, struct bwl_err *e);

#endif
