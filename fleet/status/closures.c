// SPDX-License-Identifier: GPL-2.0-or-later
/* See status.h: what is closed on a tray, and what it lacks. */
#include <jansson.h>
#include <string.h>
#include "bwl/text.h"
#include "status.h"

static const char *const words[_STATUS_ALARMS] = {
	[STATUS_STOPPED] = "stopped",   [STATUS_CLAMPED] = "clamped",
	[STATUS_FLOOR] = "floor",       [STATUS_NOT_IN_FORCE] = "not-in-force",
	[STATUS_WITHHELD] = "withheld", [STATUS_MEMORY_DAMAGED] = "memory-damaged",
};

const char *status_alarm_word(enum status_alarm a)
{
	return words[a];
}

/* Up to the end of year 9999; 0 for anything else. */
static int64_t moment(const json_t *v)
{
	json_int_t s = json_integer_value(v);

	return s > 0 && s < 253402300800 ? s : 0;
}

static bool keep(char *to, size_t size, const json_t *v)
{
	size_t len = json_string_length(v);

	if (!json_is_string(v) || !len || len >= size)
		return false;
	bwl_text_ascii(to, size, json_string_value(v));
	return true;
}

void status_closures(const void *at, size_t len, struct status_closures *ret)
{
	json_t *o = len <= STATUS_BYTES_MAX ? json_loadb(at, len, JSON_REJECT_DUPLICATES, NULL)
					    : NULL,
	       *v;
	const json_t *since = json_object_get(o, "closed_since"),
		     *moments = json_object_get(since, "closed");
	size_t i;

	*ret = (struct status_closures){ 0 };
	json_array_foreach(json_object_get(o, "closed"), i, v)
	{
		if (ret->nclosed == STATUS_CLOSED_MAX)
			break;
		if (keep(ret->closed[ret->nclosed].peer, BWL_NAME_LEN, v))
			ret->closed[ret->nclosed++].since_s = moment(json_array_get(moments, i));
	}
	json_array_foreach(json_object_get(o, "missing"), i, v)
	{
		if (ret->nmissing < STATUS_MISSING_MAX &&
		    keep(ret->missing[ret->nmissing], STATUS_WHAT, v))
			ret->nmissing++;
	}
	json_array_foreach(json_object_get(o, "alarms"), i,
			   v) for (unsigned k = 0; k < _STATUS_ALARMS;
				   k++) if (json_is_string(v) &&
					    !strcmp(json_string_value(v), words[k]))
		ret->alarms |= 1U << k;
	ret->stopped_s = moment(json_object_get(since, "stopped"));
	ret->clamped_s = moment(json_object_get(since, "clamped"));
	json_decref(o);
}
