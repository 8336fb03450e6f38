/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Puts a signed document into the store, for its audience; refuses what trays would refuse. */
#ifndef BWL_CTL_FLEET_PUT_H
#define BWL_CTL_FLEET_PUT_H

#include "fleet.h"

struct fleet_put {
	const char *file; /* for errors */
	const char *bytes;
	size_t len;
	bool pending;          /* where colleagues find it, but no tray */
	const json_t *unknown; /* whom it does not name, for the report: zone.h; NULL: nobody */
	/* the result */
	struct bwl_signed d;
	bool judged; /* verified by the pinned root; otherwise people and enough are meaningless */
	size_t ntrays;
	int64_t revision;
	/* Of an expelled tray, its user of the store; NULL: not requested */
	const char *store_user; /* "deleted"; "none"; "kept": we may not delete it */
};
/* Lists trays, and selects those that it is for. */
int fleet_put(struct fleet *f, struct fleet_put *p);
void fleet_put_done(struct fleet_put *p);
/*
 * Deletes the user of the store for an expelled tray, by its name: without it its certificate opens
 * nothing there, except an open watch. On failure what was published stays.
 */
void fleet_user_delete(struct fleet *f, struct fleet_put *p);
/* Where documents wait for signatures: laid out like the store. */
void fleet_pending_prefix(const struct fleet *f, char prefix[static BWL_ETCD_KEY_MAX]);
/* Removes the waiting document of that name, if it is this one. */
int fleet_pending_drop(struct fleet *f, const struct bwl_signed *d);

#endif
