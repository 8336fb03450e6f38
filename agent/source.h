/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Where the desired policy comes from: a file (source_file.c); a controller's store fits behind the
 * same four calls. A source only says what is desired; whether it holds is reconcile.c's.
 */
#ifndef BWL_AGENT_SOURCE_H
#define BWL_AGENT_SOURCE_H

#include <stdint.h>
#include "bwl/policy.h"

struct agent_source;
struct agent_source_ops {
	/* What is desired now. id: equal exactly when what is meant is equal, expiries included. */
	int (*load)(struct agent_source *s, struct bwl_policy **ret, uint8_t id[32],
		    struct bwl_err *e);
	/* Becomes readable when it may have changed; -1: nothing tells, look every minute. */
	int (*fd)(const struct agent_source *s);
	void (*drain)(struct agent_source *s);
	void (*free)(struct agent_source *s);
};
struct agent_source {
	const struct agent_source_ops *ops;
	const char *name; /* for people */
};

int agent_source_file(const char *path, struct agent_source **ret, struct bwl_err *e);

#endif
