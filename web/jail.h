/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What this process may still do while it serves: talk to connected clients, and wait. No socket,
 * no connection, no file, no process, no map, no executable page; and so for an attacker in it,
 * since the kernel makes this irrevocable. Anything else fails with EPERM.
 */
#ifndef BWL_WEB_JAIL_H
#define BWL_WEB_JAIL_H

#include "bwl/err.h"

int jail_seal(struct bwl_err *e);

#endif
