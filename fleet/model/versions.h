/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Which version of which policy is in force where, by the trays' own reports: a lying tray makes
 * others look late, and hides none that is worse (page.c).
 */
#ifndef BWL_FLEET_MODEL_VERSIONS_H
#define BWL_FLEET_MODEL_VERSIONS_H

#include "answer.h"

struct model_version {
	const char *policy;
	uint64_t version;
	size_t trays; /* number of selected trays; 0: only others have it */
};
/* By policy, the newest version first, *ret_n of them; the caller frees the list. */
struct model_version *model_versions(const struct model_asked *a, size_t *ret_n);
/* Has it an older version of its policy than some tray of the fleet? */
bool model_is_late(const struct model_version *list, size_t n, const struct model_tray *t);

#endif
