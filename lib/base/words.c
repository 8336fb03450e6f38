// SPDX-License-Identifier: GPL-2.0-or-later
/* The words of a policy that stand for the contract's enumerations, and back. */
#include <errno.h>
#include <string.h>
#include "bwl/words.h"

static const char *const mode_names[] = {
	[BWL_MODE_POLICE] = "police",
	[BWL_MODE_SHAPE] = "shape",
	[BWL_MODE_MARK] = "mark",
	[BWL_MODE_MONITOR] = "monitor",
};
_Static_assert(sizeof(mode_names) / sizeof(*mode_names) == _BWL_MODE_MAX, "a mode has no name");

static const char *const path_names[] = {
	[BWL_PATH_CLEAR] = "clear",
	[BWL_PATH_XFRM] = "xfrm",
	[BWL_PATH_OFFLOAD] = "offload",
};
_Static_assert(sizeof(path_names) / sizeof(*path_names) == _BWL_PATH_MAX, "a path has no name");

static const char *const class_names[] = {
#define X(e, name) [BWL_C_##e] = name,
	BWL_CLASSES(X)
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
