/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * accept.c: checks what the source gives, and keeps the copy of what was accepted (bwl/desired.h).
 * reconcile.c decides whether it is put in force.
 */
#ifndef BWL_AGENT_ACCEPT_H
#define BWL_AGENT_ACCEPT_H

#include <sys/stat.h>
#include "agent.h"
#include "bwl/desired.h"

/* A policy, its bytes, and its meaning. */
struct desired {
	struct bwl_policy *pol;
	char *bytes; /* NULL: from the copy */
	size_t len;
	/* Equal exactly if the meaning is equal, including expiries. */
	uint8_t id[32];
};
void desired_free(struct desired *d);

struct accept {
	const char *dir;
	struct agent_source *source;
	struct stat copy; /* the copy, as last seen */
	char digest[65];  /* of its document; empty: there is no whole one */
	bool seen;
};

/* Reads the source. */
int accept_ask(struct accept *a, struct desired *ret, struct bwl_err *e);
/* Reads the copy; -ENOENT: there is none. */
int accept_kept(const struct accept *a, struct desired *ret, struct bwl_err *e);
/* Is there a whole copy? */
bool accept_has(struct accept *a);
/* The policy was put in force, or is: its bytes become the copy. Cheap if they already are. */
int accept_keep(struct accept *a, const struct desired *d, struct bwl_err *e);
/* The policy was refused: recorded for `status`. */
void accept_refuse(const struct accept *a, const struct bwl_err *why);
/* The refusal is over: the source has the copy's content again. */
void accept_forgive(const struct accept *a);

#endif
