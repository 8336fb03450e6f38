/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The sources of the desired policy, and their interface: a file (source_file.c), or signed
 * documents once a root is enrolled (documents/desired.c). A source gives
 *
 *	bytes	the whole document, exactly as it was written. reconcile.c and accept.c check it,
 *		put it in force and keep it; a source judges nothing and keeps nothing;
 *	a name	of the document, for people: errors begin with it, and the accepted copy and
 *		`status` show it. For a file the path; for signed documents name and version;
 *	a wake-up when the bytes may have changed. It may come too often; if it never comes the
 *		source is loaded every minute.
 *
 * If there is no document, or the source cannot be read, load returns an error: then what was
 * accepted last stays in force. The source checks who may write the document, and its signatures,
 * before load returns it.
 */
#ifndef BWL_AGENT_SOURCE_H
#define BWL_AGENT_SOURCE_H

#include <stdbool.h>
#include <stddef.h>
#include "bwl/err.h"

struct agent_source;
struct agent_source_ops {
	/* The desired policy; the caller frees the bytes. Called only by the main thread. */
	int (*load)(struct agent_source *s, char **ret, size_t *ret_len, struct bwl_err *e);
	/*
	 * Becomes readable when it may have changed; -1: there is no notification, load every
	 * minute.
	 */
	int (*fd)(const struct agent_source *s);
	/* False: it became readable, and nothing of the document has changed. */
	bool (*drain)(struct agent_source *s);
	void (*free)(struct agent_source *s);
	/*
	 * The result of what load last gave; e NULL: it is in force. settled NULL: not interested.
	 */
	void (*settled)(struct agent_source *s, const struct bwl_err *e);
};
struct agent_source {
	const struct agent_source_ops *ops;
	const char *name; /* of what load last gave; never NULL */
	/*
	 * About the same: its volumes begin unspent; its times hold whatever happens to the wall
	 * clock; as many people signed its widenings as that needs.
	 */
	bool fresh_volume, time_is_known, judged;
};

int agent_source_file(const char *path, struct agent_source **ret, struct bwl_err *e);

#endif
