// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Any bytes as a filter of events: refused with a reason, or formatted as text and parsed again as
 * the same.
 */
#include "bwl/events.h"
#include "fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct bwl_event_filter f, again;
	struct bwl_err e = { 0 };
	json_t *o;
	char *text;

	if (bwl_filter_parse((const char *)data, size, &f, &e)) {
		must(e.code && *e.text, "refused, and said why");
		o = json_string(e.text);
		must(!!o, "and can be told");
		json_decref(o);
		return 0;
	}
	must(f.npeers <= BWL_FILTER_NAMES && f.nports <= BWL_FILTER_NAMES, "bounded");
	must(!(f.kinds >> _BWL_EVENT_MAX), "kinds that there are");
	o = bwl_filter_json(&f);
	text = json_dumps(o, 0);
	must(text && !bwl_filter_parse(text, strlen(text), &again, &e), "understood again");
	must(!memcmp(&f, &again, sizeof(f)), "the same");
	free(text);
	json_decref(o);
	return 0;
}
