/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A signed document into the store, for those whom it is for; refused here as trays would. */
#ifndef BWL_CTL_FLEET_PUT_H
#define BWL_CTL_FLEET_PUT_H

#include "fleet.h"

struct fleet_put {
	const char *file; /* for errors */
	const char *bytes;
	size_t len;
	bool pending; /* where colleagues find it, and no tray */
	/* what becomes of it */
	struct bwl_signed d;
	bool judged; /* by the root that is pinned here; else people and enough say nothing */
	size_t ntrays;
	int64_t revision;
	/* Of a tray that was expelled, its user of the store; NULL: it was not asked for */
	const char *store_user; /* "deleted"; "none"; "kept": we may not delete it */
};
/* Trays are listed, and those that it is for are chosen. */
int fleet_put(struct fleet *f, struct fleet_put *p);
void fleet_put_done(struct fleet_put *p);
/*
 * The user of the store that an expelled tray is, by its name: without it its certificate opens
 * nothing there, but for a watch that is open. What is published stays so where this fails.
 */
void fleet_user_delete(struct fleet *f, struct fleet_put *p);
/* Where documents wait for signatures: laid out as the store is. */
void fleet_pending_prefix(const struct fleet *f, char prefix[static BWL_ETCD_KEY_MOST]);
/* What waits there under that name goes, if it is that one. */
int fleet_pending_drop(struct fleet *f, const struct bwl_signed *d);

#endif
