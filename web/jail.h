/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What this process may still do once it serves: talk to those who have connected, and wait. No
 * socket, no connection, no file, no process, no map, no executable page; and nobody with it, since
 * the kernel keeps it from getting that back. What is not allowed fails with EPERM.
 */
#ifndef BWL_WEB_JAIL_H
#define BWL_WEB_JAIL_H

#include "bwl/err.h"

int jail_seal(struct bwl_err *e);

#endif
