/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The controller's connection to its store: one member of etcd at a time, the election, a watch and
 * a full read each minute into the view (view.h), and the leader's work (lead.h) while this one
 * leads.
 */
#ifndef BWL_CONTROLLER_STORE_MODULE_H
#define BWL_CONTROLLER_STORE_MODULE_H

#include "module.h"
#include "view.h"

extern const struct ctrl_module store_module;
/* Waits for the store, for these descriptors, or for that long. */
void store_wait(void *self, unsigned timeout_ms, struct curl_waitfd *fds, unsigned n);

#endif
