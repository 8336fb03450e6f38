/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Restricts this process, while it serves, to talking to connected clients, and waiting. It cannot
 * open sockets, connections or files, start processes, use BPF maps, or make pages executable. Nor
 * can an attacker in it, because the kernel makes this irrevocable. Anything else fails with EPERM.
 */
#ifndef BWL_WEB_JAIL_H
#define BWL_WEB_JAIL_H

#include "bwl/err.h"

int jail_seal(struct bwl_err *e);

#endif
