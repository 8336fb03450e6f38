/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * desired.c: what is desired (source.h), from signed documents once one is a policy, before that
 * from the file. reconcile.c puts it in force, as it does a file's; the thread of part.c says when
 * there is something new, and is told what became of it.
 */
#ifndef BWL_AGENT_DOCS_DESIRED_H
#define BWL_AGENT_DOCS_DESIRED_H

#include <stdint.h>
#include "source.h"

/* file is its own from here on. state_dir outlives it. */
int docs_source_new(struct agent_source *file, const char *state_dir, struct agent_source **ret,
		    struct bwl_err *e);
/* From any thread: there is something new. */
void docs_source_wake(struct agent_source *s);
/*
 * After the policy is remembered: its volumes begin unspent when it is put in force first, and only
 * then. 0: those of none do, and what was said before still holds.
 */
void docs_source_fresh(struct agent_source *s, const uint8_t policy[32]);
/* Readable when it was settled again. */
int docs_source_fd(const struct agent_source *s);
/* What became of it. seq: the memory's, as it was read. false: nothing since the last call. */
struct docs_settled {
	uint64_t seq;
	int code; /* 0: it holds */
	char why[400];
};
bool docs_source_settled(struct agent_source *s, struct docs_settled *ret);

#endif
