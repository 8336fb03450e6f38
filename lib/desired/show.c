// SPDX-License-Identifier: GPL-2.0-or-later
/* The desired policy as `status` shows it. */
#include <bwl/desired.h>

json_t *bwl_desired_json(const char *dir)
{
	static const char *const word[] = {
		[BWL_ACCEPTED_NONE] = "none",
		[BWL_ACCEPTED_OK] = "ok",
		[BWL_ACCEPTED_DAMAGED] = "damaged",
	};
	struct bwl_accepted a;
	json_t *o = json_object();
	bool ok;

	bwl_accepted_look(dir, &a);
	ok = a.state == BWL_ACCEPTED_OK;
	json_object_set_new(o, "state", json_string(word[a.state]));
	json_object_set_new(o, "why", bwl_json_text(*a.why ? a.why : NULL));
	json_object_set_new(o, "source_name", bwl_json_text(ok ? a.source : NULL));
	json_object_set_new(o, "accepted_at", bwl_json_text(ok ? a.at : NULL));
	json_object_set_new(o, "sha256", bwl_json_text(ok ? a.digest : NULL));
	json_object_set_new(o, "refused", bwl_refused_json(dir));
	bwl_accepted_free(&a);
	return o;
}
