// SPDX-License-Identifier: GPL-2.0-or-later
/* The journal in the words of documents: see docs/json.md. */
#include <bwl/doc.h>
#include "journal.h"

const char *bwl_journal_state_name(enum bwl_journal_state s)
{
	static const char *const names[] = {
		[BWL_JOURNAL_OFF] = "off",
		[BWL_JOURNAL_OK] = "ok",
		[BWL_JOURNAL_MISSING] = "missing",
		[BWL_JOURNAL_CUT] = "cut",
	};

	return names[s];
}

json_t *bwl_journal_json(const struct bwl_journal *j)
{
	json_t *o = json_object();

	json_object_set_new(o, "state", json_string(bwl_journal_state_name(j->state)));
	json_object_set_new(o, "why", bwl_json_text(*j->why ? j->why : NULL));
	json_object_set_new(o, "record_count", bwl_json_u64(j->seq));
	json_object_set_new(o, "stopped", json_boolean(j->closed.stop));
	json_object_set_new(o, "clamped", json_boolean(j->closed.clamp));
	json_object_set_new(o, "revoked_count", bwl_json_u64(j->closed.nnames));
	json_object_set_new(o, "prefix_count", bwl_json_u64(j->closed.live.n));
	json_object_set_new(o, "limit_count", bwl_json_u64(j->closed.nlimits));
	return o;
}
