/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the status of a tray says of a document. Pure. */
#ifndef BWL_CTL_FLEET_SAYS_H
#define BWL_CTL_FLEET_SAYS_H

#include <jansson.h>
#include "signed/document.h"

enum fleet_word { FLEET_SILENT, FLEET_REFUSED, FLEET_ACKNOWLEDGED };
/*
 * What the status of a tray says of a document. *ret_refusal: of FLEET_REFUSED, borrowed from the
 * status.
 */
enum fleet_word fleet_says(const json_t *status, const struct bwl_signed *d,
			   const json_t **ret_refusal);

/* Does it say that something that it took is not in force? */
bool fleet_not_in_force(const json_t *status);

#endif
