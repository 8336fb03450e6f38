/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Reads trays from the store into the set: their presence, addresses and labels. */
#ifndef BWL_FLEET_MODEL_LIST_H
#define BWL_FLEET_MODEL_LIST_H

#include <pthread.h>
#include "fleet/store/grpc.h"
#include "set.h"

/*
 * Reads the names, and changed values. lock is held only while the set is written, and one thread
 * writes it.
 */
int model_list(struct bwl_grpc *g, const char *prefix, struct status_signers *signers,
	       struct model_set *s, pthread_mutex_t *lock, struct bwl_err *e);

#endif
