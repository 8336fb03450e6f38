/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef BWL_TEST_LISTEN_H
#define BWL_TEST_LISTEN_H

#include <signal.h>
#include "marker.h"

/* Listens until *stop is set, then prints what was received. */
int listen_on(int nports, char **ports, const struct marker *m, const volatile sig_atomic_t *stop);

#endif
