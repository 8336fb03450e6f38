/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Where the desired policy comes from, the interface of its sources: a file (source_file.c), or
 * signed documents once a root is enrolled (documents/desired.c). A source gives
 *
 *	bytes	the whole document, exactly as it was written. They are checked, put in force and
 *		kept by reconcile.c and accept.c; a source judges nothing and keeps nothing;
 *	a name	of the document, for people: errors begin with it, the accepted copy and `status`
 *		tell it. A path; of a store, where it is and which version it gave last;
 *	a wake-up when there may be other bytes. It may come too often, and where it does not come
 *		at all the source is asked every minute.
 *
 * That it has nothing to say, or cannot be asked, is an error of load: then what was accepted last
 * holds on. Who may write the document, and how it is signed, is the source's to check before load
 * gives it.
 */
#ifndef BWL_AGENT_SOURCE_H
#define BWL_AGENT_SOURCE_H

#include <stdbool.h>
#include <stddef.h>
#include "bwl/err.h"

struct agent_source;
struct agent_source_ops {
	/* What is desired now; the caller frees the bytes. Called by the main thread alone. */
	int (*load)(struct agent_source *s, char **ret, size_t *ret_len, struct bwl_err *e);
	/* Becomes readable when it may have changed; -1: nothing tells, look every minute. */
	int (*fd)(const struct agent_source *s);
	void (*drain)(struct agent_source *s);
	void (*free)(struct agent_source *s);
	/* What became of what load gave last; e NULL: it holds. NULL: nobody asks. */
	void (*settled)(struct agent_source *s, const struct bwl_err *e);
};
struct agent_source {
	const struct agent_source_ops *ops;
	const char *name; /* of what load gave last; never NULL */
	/*
	 * Of that: its volumes begin unspent; its times hold whatever becomes of the wall clock;
	 * what widens in it was signed by as many people as that needs.
	 */
	bool fresh_volume, time_is_known, judged;
};

int agent_source_file(const char *path, struct agent_source **ret, struct bwl_err *e);

#endif
