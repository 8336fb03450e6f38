/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * desired.c: the desired policy as a source (source.h): from signed documents once there is a
 * policy, before that from the file. reconcile.c puts it in force, like a file's; the thread of
 * part.c signals changes, and learns the result.
 */
#ifndef BWL_AGENT_DOCS_DESIRED_H
#define BWL_AGENT_DOCS_DESIRED_H

#include <stdint.h>
#include "source.h"

/* Takes ownership of file. state_dir must outlive it. */
int docs_source_new(struct agent_source *file, const char *state_dir, struct agent_source **ret,
		    struct bwl_err *e);
/* From any thread: there is something new. */
void docs_source_wake(struct agent_source *s);
/*
 * Called after the policy is remembered: its volumes start unspent when it is first put in force,
 * and only then. 0: no policy's do, and earlier calls still hold.
 */
void docs_source_fresh(struct agent_source *s, const uint8_t policy[32]);
/* Readable after a new result. */
int docs_source_fd(const struct agent_source *s);
/* The result. seq: the memory's, as it was read. false: nothing since the last call. */
struct docs_settled {
	uint64_t seq;
	int code; /* 0: it is in force */
	char why[400];
};
bool docs_source_settled(struct agent_source *s, struct docs_settled *ret);

#endif
