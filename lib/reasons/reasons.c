// SPDX-License-Identifier: GPL-2.0-or-later
/* The words of reasons and events, for people. */
#include "bwl/reasons.h"
#include "maps/event.h"
#include "maps/reason.h"

static const struct {
	const char *name, *text, *todo;
} reasons[] = {
#define X(e, name, pass, text, todo) [BWL_R_##e] = { name, text, todo },
	BWL_REASONS(X)
#undef X
};

static const char *const event_names[] = {
#define X(e, name, text) [BWL_E_##e] = name,
	BWL_EVENTS(X)
#undef X
};

const char *bwl_reason_name(unsigned reason)
{
	return reason < _BWL_REASON_MAX ? reasons[reason].name : "unknown";
}

const char *bwl_reason_text(unsigned reason)
{
	return reason < _BWL_REASON_MAX ? reasons[reason].text
					: "unknown to this tool: the programs are newer";
}

const char *bwl_reason_todo(unsigned reason)
{
	return reason < _BWL_REASON_MAX ? reasons[reason].todo : "";
}

const char *bwl_event_name(unsigned kind)
{
	return kind < _BWL_EVENT_MAX ? event_names[kind] : "unknown";
}
