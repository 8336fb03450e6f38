/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * accept.c: what the source gives, checked, and the copy that is kept of what was accepted
 * (bwl/desired.h). Whether it is put in force is reconcile.c's.
 */
#ifndef BWL_AGENT_ACCEPT_H
#define BWL_AGENT_ACCEPT_H

#include <sys/stat.h>
#include "agent.h"
#include "bwl/desired.h"

/* A policy, its bytes, and what it means. */
struct desired {
	struct bwl_policy *pol;
	char *bytes; /* NULL: of the copy */
	size_t len;
	/* Equal exactly when what is meant is equal, expiries included. */
	uint8_t id[32];
};
void desired_free(struct desired *d);

struct accept {
	const char *dir;
	struct agent_source *source;
	struct stat copy; /* of the copy as it was seen last */
	char digest[65];  /* of its document; empty: none that is whole */
	bool seen;
};

/* From the source. */
int accept_ask(struct accept *a, struct desired *ret, struct bwl_err *e);
/* From the copy; -ENOENT: there is none. */
int accept_kept(const struct accept *a, struct desired *ret, struct bwl_err *e);
/* Is there a whole copy? */
bool accept_has(struct accept *a);
/* It was put in force, or is: its bytes are the copy from now on. Cheap where they are already. */
int accept_keep(struct accept *a, const struct desired *d, struct bwl_err *e);
/* It was refused: for `status`. */
void accept_refuse(const struct accept *a, const struct bwl_err *why);
/* It was not, after all: the source says again what the copy has. */
void accept_forgive(const struct accept *a);

#endif
