/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the status of a tray says about a document. Pure. */
#ifndef BWL_CTL_FLEET_SAYS_H
#define BWL_CTL_FLEET_SAYS_H

#include "fleet/status/status.h"
#include "signed/document.h"

/* The status of a tray. */
struct fleet_status {
	struct tray_status s;
	struct status_taken taken;
};

enum fleet_word { FLEET_SILENT, FLEET_REFUSED, FLEET_ACKNOWLEDGED };
/* status NULL: none, or unreadable. *ret_refusal: for FLEET_REFUSED, borrowed from the status. */
enum fleet_word fleet_says(const struct fleet_status *status, const struct bwl_signed *d,
			   const struct status_refused **ret_refusal);

/* Does it report that something that it took is not in force? */
bool fleet_not_in_force(const struct fleet_status *status);

#endif
