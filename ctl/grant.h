/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Shared by `grant` and `grant --all`. */
#ifndef BWL_CTL_GRANT_H
#define BWL_CTL_GRANT_H

#include "ctl.h"

/* -ENOENT, with the next step. */
int ctl_grant_no_policy(struct ctl *c);
/* grant_all.c; argv has --all */
int ctl_grant_all(struct ctl *c, int argc, char **argv);

#endif
