/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Writes documents to the store and reads them: layout.h. */
#ifndef BWL_FLEET_PUBLISH_H
#define BWL_FLEET_PUBLISH_H

#include "layout.h"

struct bwl_doc {
	const char *prefix, *tray; /* tray NULL: for all */
	enum bwl_doc_kind kind;
	const char *name;
	const void *at;
	size_t len;
	/*
	 * Further writes or conditions in the same step: the key of a leader, so that a former
	 * leader publishes nothing (election.h).
	 */
	const struct bwl_etcd_put *with;
	unsigned nwith; /* at most BWL_DOC_WITH_MAX */
};
#define BWL_DOC_WITH_MAX 4
/*
 * Writes its parts first, then the head that names them, in one step: a reader finds the old
 * content, or the whole new one. Repeat a call that was killed. was: the revision of what it
 * replaces, 0: nothing, BWL_ETCD_ANY. -EEXIST: the content has another revision.
 */
int bwl_doc_publish(struct bwl_grpc *g, const struct bwl_doc *d, int64_t was, int64_t *ret_revision,
		    struct bwl_err *e);
/*
 * The bytes at a key, put together if they are in parts. The caller frees *ret. -ENOENT; -EMSGSIZE:
 * too large; -EUCLEAN: its parts do not match.
 */
int bwl_doc_fetch(struct bwl_grpc *g, const char *prefix, const char *key, bool big, uint8_t **ret,
		  size_t *ret_len, int64_t *ret_mod, struct bwl_err *e);

#endif
