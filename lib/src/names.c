// SPDX-License-Identifier: GPL-2.0-or-later
/* The words of the contract's enumerations, for people and back. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include "bwl/pins.h"
#include "bwl/policy.h"
#include "bwl/tables.h"

static const char *const mode_names[] = {
	[BWL_POLICE] = "police", [BWL_SHAPE] = "shape",
	[BWL_MARK] = "mark", [BWL_MONITOR] = "monitor",
};
_Static_assert(sizeof(mode_names) / sizeof(*mode_names) == _BWL_MODE_MAX, "a mode has no name");

static const char *const path_names[] = {
	[BWL_PATH_CLEAR] = "clear", [BWL_PATH_XFRM] = "xfrm", [BWL_PATH_OFFLOAD] = "offload",
};
_Static_assert(sizeof(path_names) / sizeof(*path_names) == _BWL_PATH_MAX, "a path has no name");

static const char *const class_names[] = {
#define X(e, name) [BWL_C_##e] = name,
	BWL_CLASSES(X)
#undef X
};

static const struct {
	const char *name, *text, *todo;
	bool passes;
} reasons[] = {
#define X(e, name, pass, text, todo) [BWL_R_##e] = { name, text, todo, pass },
	BWL_REASONS(X)
#undef X
};

static const char *const event_names[] = {
#define X(e, name, text) [BWL_E_##e] = name,
	BWL_EVENTS(X)
#undef X
};

const char *bwl_mode_name(unsigned mode)
{
	return mode < _BWL_MODE_MAX ? mode_names[mode] : "unknown";
}

const char *bwl_path_name(unsigned path)
{
	return path < _BWL_PATH_MAX ? path_names[path] : "unknown";
}

const char *bwl_class_name(unsigned class_)
{
	return class_ < _BWL_CLASS_MAX ? class_names[class_] : "unknown";
}

int bwl_mode_parse(const char *s, uint8_t *ret, struct bwl_err *e)
{
	for (unsigned i = 0; i < _BWL_MODE_MAX; i++) {
		if (!strcmp(s, mode_names[i])) {
			*ret = i;
			return 0;
		}
	}
	return bwl_fail(e, EINVAL, "'%.64s' is not a mode: police, shape, mark or monitor", s);
}

int bwl_class_parse(const char *s, uint8_t *ret, struct bwl_err *e)
{
	char all[256] = "";

	for (unsigned i = 0; i < _BWL_CLASS_MAX; i++) {
		if (!strcmp(s, class_names[i])) {
			*ret = i;
			return 0;
		}
		if (i)
			strcat(all, i + 1 < _BWL_CLASS_MAX ? ", " : " or ");
		strcat(all, class_names[i]);
	}
	return bwl_fail(e, EINVAL, "'%.64s' is not a traffic class: %s", s, all);
}

const char *bwl_reason_name(unsigned reason)
{
	return reason < _BWL_REASON_MAX ? reasons[reason].name : "unknown";
}

const char *bwl_reason_text(unsigned reason)
{
	return reason < _BWL_REASON_MAX ? reasons[reason].text :
					  "a reason of newer programs than this tool knows";
}

const char *bwl_reason_todo(unsigned reason)
{
	return reason < _BWL_REASON_MAX ? reasons[reason].todo : "";
}

bool bwl_reason_passes(unsigned reason)
{
	return reason < _BWL_REASON_MAX && reasons[reason].passes;
}

const char *bwl_event_name(unsigned kind)
{
	return kind < _BWL_EVENT_MAX ? event_names[kind] : "unknown";
}

char *bwl_limit_key(const struct bwl_pins *p, uint32_t state, char buf[static BWL_LIMIT_KEY])
{
	const uint32_t n = p->schema.max_peers;
	const struct bwl_extra *x;
	uint32_t peer;

	*buf = '\0';
	if (state < 2 * n) {
		snprintf(buf, BWL_LIMIT_KEY, "peer %.*s", BWL_NAME_LEN - 1, p->name[state / 2].name);
		return buf;
	}
	if ((state - 2 * n) / 2 >= p->schema.max_extras)
		return buf;
	x = &p->extra[(state - 2 * n) / 2];
	peer = x->peer < n ? x->peer : 0;
	switch (x->kind) {
	case BWL_X_NODE:
		snprintf(buf, BWL_LIMIT_KEY, "node");
		break;
	case BWL_X_PORT:
	case BWL_X_NEIGHBOUR:
	case BWL_X_ZONE:
		snprintf(buf, BWL_LIMIT_KEY, "%s %.*s", x->kind == BWL_X_ZONE ? "zone"
			 : x->kind == BWL_X_PORT ? "port" : "neighbour", BWL_NAME_LEN - 1, x->name);
		break;
	case BWL_X_CLASS:
		snprintf(buf, BWL_LIMIT_KEY, "class %.*s/%s", BWL_NAME_LEN - 1, p->name[peer].name,
			 bwl_class_name(x->class));
		break;
	case BWL_X_FLOOR:
		snprintf(buf, BWL_LIMIT_KEY, "floor %.*s", BWL_NAME_LEN - 1, p->name[peer].name);
		break;
	default:
		break;
	}
	return buf;
}
