// SPDX-License-Identifier: GPL-2.0-or-later
/* See says.h. */
#include <stdio.h>
#include <string.h>
#include "bwl/encode.h"
#include "says.h"

enum fleet_word fleet_says(const json_t *status, const struct bwl_signed *d,
			   const json_t **ret_refusal)
{
	char what[BWL_NAME_LEN + 20], hex[65];
	const json_t *taken, *refused;
	const char *sha;

	snprintf(what, sizeof(what), "%s/%s", bwl_signed_word(d->type), d->terms.name);
	taken = json_object_get(json_object_get(status, "taken"), what);
	sha = json_string_value(json_object_get(taken, "sha256"));
	if (sha && !strcmp(sha, bwl_hex_encode(d->digest, 32, hex)))
		return FLEET_ACKNOWLEDGED;
	refused = json_object_get(json_object_get(status, "refused"), what);
	if (!refused ||
	    (uint64_t)json_integer_value(json_object_get(refused, "version")) != d->terms.version)
		return FLEET_SILENT;
	*ret_refusal = refused;
	return FLEET_REFUSED;
}

bool fleet_not_in_force(const json_t *status)
{
	const json_t *v;
	size_t i;

	json_array_foreach(json_object_get(status, "alarms"), i, v)
	{
		if (json_is_string(v) && !strcmp(json_string_value(v), "not-in-force"))
			return true;
	}
	return false;
}
