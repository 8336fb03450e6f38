// SPDX-License-Identifier: GPL-2.0-or-later
/* See says.h. */
#include <stdio.h>
#include <string.h>
#include "says.h"

enum fleet_word fleet_says(const struct fleet_status *status, const struct bwl_signed *d,
			   const struct status_refused **ret_refusal)
{
	char what[BWL_NAME_LEN + 20];

	*ret_refusal = NULL;
	if (!status)
		return FLEET_SILENT;
	snprintf(what, sizeof(what), "%s/%s", bwl_signed_word(d->type), d->terms.name);
	for (unsigned i = 0; i < status->taken.n; i++)
		if (!strcmp(status->taken.doc[i].what, what) &&
		    !memcmp(status->taken.doc[i].digest, d->digest, sizeof(d->digest)))
			return FLEET_ACKNOWLEDGED;
	*ret_refusal = status_refuses(&status->s, what, d->terms.version);
	return *ret_refusal ? FLEET_REFUSED : FLEET_SILENT;
}

bool fleet_not_in_force(const struct fleet_status *status)
{
	return status && status->s.not_in_force;
}
